"""How many layers do trained models need? Depth against layers, beside what the theory allows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headway.bases import Base
from headway.changes import changed, whole_names
from headway.errors import require
from headway.sweeps import Plan
from headway.sweeps.plan import Cell as GridCell
from headway.sweeps.plan import cells as crossed
from headway.tasks import Retrieval, Task
from headway.theory import Flow
from headway.training import Run, RunConfig, fast
from headway.training.config import flat
from headway.training.deepening import Deepening
from headway.training.environment import describe_environment
from headway.training.files import is_there, write_json
from headway_experiments.reading import task_of

SOLVED = 0.05
"""The validation MSE below which a task counts as solved, as a circuit does (section 8)."""
AXES: dict[str, str] = {"depth": "1..5", "layers": "1..6", "seed": "0..2"}


def small(depth: int = 3, layers: int = 3, seed: int = 0) -> RunConfig:
    """`fast` at the full depth with so many layers of one head, in less time, stopped when solved.

    It has smaller batches, a shorter cool-down and the same decay for all: it measures whether
    every hop is learnt, not how well. Where `fast` deepens (in the fewest layers), it differs from
    `fast` at the end only.
    """
    base = fast(depth, seed, n_layers=layers)
    ends = {"training.stop_below": 0.9 * SOLVED, "training.checkpoint_every": 0}
    if isinstance(base.training.curriculum, Deepening):
        return changed(base, ends)
    return changed(
        base,
        {
            **ends,
            "training.steps": 600 + 800 * depth,
            "training.batch_size": 64,
            "training.weight_decay": 0.05,
            "training.cooldown_steps": 400 + 200 * depth,
        },
    )


def plan(axes: Mapping[str, str] | None = None) -> Plan:
    """The runs: `small` crossed with depths, layers, seeds, and whatever else is to vary.

    Args:
        axes: values by field, as in `headway sweep --grid`; `depth`, `layers` and `seed` have
            defaults (1..5, 1..6, 0..2).

    Raises:
        HeadwayError: if a field is unknown, or a value is not allowed.
    """
    return Plan.of_cells("depths", _crossed(axes))


def other_axes(axes: Mapping[str, str]) -> list[str]:
    """The fields that vary, or are set, beside depth, layers and seed."""
    return [name for name in axes if name not in AXES]


@dataclass(frozen=True)
class Cell:
    """The results of the runs of one depth with one number of layers.

    Attributes:
        depth: D, retrieval steps.
        layers: of the models.
        rest: what else was set, by field.
        seeds: of the runs that are done; what follows is in their order.
        runs: how many were planned.
        failed: how many of them have failed, or are not done.
        solved: how many ended with a validation MSE below `SOLVED`.
        learnt: of each that is done, the hops learnt from x_1 on without a gap. Learnt means: the
            partial loss is below two thirds of what predicting the candidates' mean costs (0.5).
        reach: the most hops that the theory allows so many layers.
        least: the least number of layers that is enough by the theory; None if there is none.
        losses: the validation MSEs at the end.
        seconds: that the runs took.
    """

    depth: int
    layers: int
    rest: dict[str, Any]
    seeds: tuple[int, ...]
    runs: int
    failed: int
    solved: int
    learnt: tuple[int, ...]
    reach: int
    least: int | None
    losses: tuple[float, ...]
    seconds: tuple[float, ...]

    @property
    def enough(self) -> bool:
        """Whether so many layers are enough by the theory."""
        return self.least is not None and self.layers >= self.least

    @property
    def contradicts(self) -> bool:
        """Whether a run has learnt what the theory rules out."""
        beyond = max(self.learnt, default=0) > self.reach
        return beyond or (self.solved > 0 and not self.enough)

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {**asdict(self), "enough": self.enough, "contradicts": self.contradicts}


def results(axes: Mapping[str, str] | None, folder: Path) -> list[Cell]:
    """The results of the runs of a plan, cell by cell, sorted by all other fields.

    Args:
        axes: as `plan` has them.
        folder: of the sweep.

    Raises:
        HeadwayError: if a run's folder cannot be read.
    """
    runs: dict[tuple[Any, ...], list[tuple[RunConfig, dict[str, Any] | None]]] = {}
    others = other_axes(_whole(axes))
    for cell in _crossed(axes):
        place, values = folder / cell.name, flat(cell.config)
        outcome = Run.open(place).outcome() if is_there(place / "config.json") else None
        rest = tuple((name, values[name]) for name in others)
        size = task_of(cell.config, Retrieval).depth, cell.config.transformer.n_layers
        runs.setdefault((rest, *size), []).append((cell.config, outcome))
    rests = list(dict.fromkeys(rest for rest, _, _ in runs))
    ranked = sorted(runs, key=lambda place: (rests.index(place[0]), *place[1:]))
    return [_cell(place[1], place[2], dict(place[0]), runs[place]) for place in ranked]


def reach(config: RunConfig) -> int:
    """The most hops that the theory allows a model: the furthest x_j that its query can hold."""
    flow = _flow(config.task)
    held = flow.holdings(config.transformer.n_layers, config.transformer.causal)[-1][flow.query]
    return max((int(piece[2:]) for piece in held if piece.startswith("x_")), default=0)


def learnt_hops(run: Run) -> int:
    """The hops that a run has learnt from x_1 on without a gap, as `Cell.learnt` has them."""
    return _learnt(run.metrics()[-1]["partial"], run.task, task_of(run.config, Retrieval).depth)


def trained(cells: Sequence[Cell]) -> dict[tuple[int, int], tuple[int, int]]:
    """By depth and layers, how many models solved the task and of how many, for a figure."""
    return {(cell.depth, cell.layers): (cell.solved, cell.runs) for cell in cells}


def write(cells: Sequence[Cell], file: Path) -> None:
    """Writes all cells as JSON.

    Raises:
        HeadwayError: if the disk does not take it.
    """
    environment = describe_environment("cpu", 1)
    write_json(file, {"written on": environment, "cells": [cell.to_json() for cell in cells]})


def _flow(task: Task) -> Flow:
    """How information must flow to an answer of the retrieval problem, where that is known."""
    flow = task.flow()
    assert flow is not None
    return flow


def _crossed(axes: Mapping[str, str] | None) -> Iterator[GridCell]:
    return crossed(Base.of(small), _whole(axes))


def _whole(axes: Mapping[str, str] | None) -> dict[str, str]:
    """All axes by the whole names of their fields."""
    whole = whole_names(Base.of(small), axes or {})
    for name, instead in (("task.depth", "depth"), ("model.n_layers", "layers")):
        require(name not in whole, "grid", name, f"written as {instead}")
    return {**AXES, **whole}


def _cell(
    depth: int,
    layers: int,
    rest: dict[str, Any],
    runs: Sequence[tuple[RunConfig, dict[str, Any] | None]],
) -> Cell:
    config = runs[0][0]
    ended = {config.seed: outcome for config, outcome in runs if outcome is not None}
    done = {seed: outcome for seed, outcome in ended.items() if outcome["status"] == "done"}
    losses = tuple(outcome["val_loss"] for outcome in done.values())
    return Cell(
        depth=depth,
        layers=layers,
        rest=rest,
        seeds=tuple(done),
        runs=len(runs),
        failed=len(runs) - len(done),
        solved=sum(loss < SOLVED for loss in losses),
        learnt=tuple(_learnt(outcome["partial"], config.task, depth) for outcome in done.values()),
        reach=reach(config),
        least=_flow(config.task).minimum_layers(config.transformer.causal),
        losses=losses,
        seconds=tuple(outcome["seconds"] for outcome in done.values()),
    )


def _learnt(partial: dict[str, float], task: Task, depth: int) -> int:
    """How many hops are learnt in a row; if only the last is asked for, that one counts for all."""
    below = task.references()["mean of the candidates"] * 2 / 3
    if len(partial) == 1:
        return depth * (next(iter(partial.values())) < below)
    hops = [loss < below for loss in partial.values()]
    return hops.index(False) if False in hops else len(hops)
