"""How many layers do trained models need? Depth against layers, beside what the theory allows."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from headway.sweeps import Plan, grid
from headway.tasks import RetrievalConfig
from headway.theory import flow_of
from headway.training import Run, RunConfig, fast
from headway.training.config import changed, flat
from headway.training.course import LEARNT
from headway.training.environment import describe_environment
from headway.training.files import write_json

SOLVED = 0.05
"""The validation MSE below which a task counts as solved, as a circuit does (section 8)."""
AXES: dict[str, str] = {"depth": "1..5", "layers": "1..6", "seed": "0..2"}


def small(depth: int = 3, layers: int = 3, seed: int = 0) -> RunConfig:
    """`fast` with so many layers of one head, given less time and stopped as soon as it has solved.

    Smaller batches, a shorter cool-down and the same decay for all: what is asked is whether every
    hop is learnt, not how well.
    """
    return changed(
        fast(depth, seed),
        {
            "model.n_layers": layers,
            "training.steps": 600 + 800 * depth,
            "training.batch_size": 64,
            "training.weight_decay": 0.05,
            "training.cooldown_steps": 400 + 200 * depth,
            "training.stop_below": 0.9 * SOLVED,
            "training.checkpoint_every": 0,
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
    return grid(small, {**AXES, **(axes or {})})


@dataclass(frozen=True)
class Cell:
    """What came of the runs of one depth with one number of layers.

    Attributes:
        depth: D, retrieval steps.
        layers: of the models.
        rest: what else was set, by field; seeds are not told apart.
        runs: how many have ended.
        solved: how many of them with a validation MSE below `SOLVED`.
        learnt: of each, the hops learnt from x_1 on without a gap (partial loss below 0.5).
        reach: the hops that the theory allows so many layers.
        loss: the mean of the validation MSEs; `spread` their standard deviation.
        spread: see `loss`; 0 if there is but one.
        seconds: that a run took, the median.
    """

    depth: int
    layers: int
    rest: dict[str, Any]
    runs: int
    solved: int
    learnt: tuple[int, ...]
    reach: int
    loss: float
    spread: float
    seconds: float

    @property
    def enough(self) -> bool:
        """Whether so many layers are enough by the theory."""
        return self.reach >= self.depth

    @property
    def contradicts(self) -> bool:
        """Whether a run has learnt what the theory rules out."""
        return max(self.learnt) > self.reach or (self.solved > 0 and not self.enough)

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {**asdict(self), "enough": self.enough, "contradicts": self.contradicts}


def results(plan: Plan, folder: Path) -> list[Cell]:
    """What came of the runs of a plan that are done, cell by cell.

    Raises:
        HeadwayError: if a run's folder cannot be read.
    """
    ended = []
    for name, config in plan.runs.items():
        run = Run.open(folder / name)
        outcome = run.outcome()
        if outcome is not None and outcome["status"] == "done":
            ended.append((config, outcome))
    return [_cell(list(group)) for _, group in groupby(sorted(ended, key=_rank), key=_rank)]


def reach(config: RunConfig) -> int:
    """The hops that the theory allows a model: the furthest x_j that its query can come to hold."""
    flow, layers = flow_of(config.task), config.model.n_layers
    held = flow.holdings(layers, config.model.causal)[-1][flow.query]
    return max((int(piece[2:]) for piece in held if piece.startswith("x_")), default=0)


def trained(cells: Sequence[Cell]) -> dict[tuple[int, int], tuple[int, int]]:
    """By depth and layers, how many models solved the task and of how many, for a figure."""
    return {(cell.depth, cell.layers): (cell.solved, cell.runs) for cell in cells}


def least_that_solved(cells: Sequence[Cell]) -> Iterator[tuple[int, int, int | None, int | None]]:
    """For every depth: the theory's least layers, the least that solved once, and every time."""
    for depth, group in groupby(cells, key=lambda cell: cell.depth):
        row = list(group)
        once = (cell.layers for cell in row if cell.solved)
        always = (cell.layers for cell in row if cell.solved == cell.runs)
        config = small(depth, 1)
        least = flow_of(config.task).minimum_layers(config.model.causal)
        assert least is not None
        yield depth, least, next(once, None), next(always, None)


def write(cells: Sequence[Cell], file: Path) -> None:
    """Writes all cells as JSON, with what they were computed on.

    Raises:
        HeadwayError: if the disk does not take it.
    """
    environment = describe_environment("cpu", 1)
    write_json(file, {"environment": environment, "cells": [cell.to_json() for cell in cells]})


def _place(config: RunConfig) -> tuple[int, int]:
    assert isinstance(config.task, RetrievalConfig)
    return config.task.depth, config.model.n_layers


def _rest(config: RunConfig) -> dict[str, Any]:
    base = flat(small(*_place(config), config.seed))
    return {name: value for name, value in flat(config).items() if base[name] != value}


def _rank(run: tuple[RunConfig, dict[str, Any]]) -> tuple[str, int, int]:
    return str(sorted(_rest(run[0]).items())), *_place(run[0])


def _cell(runs: list[tuple[RunConfig, dict[str, Any]]]) -> Cell:
    config = runs[0][0]
    losses = [outcome["val_loss"] for _, outcome in runs]
    depth, layers = _place(config)
    return Cell(
        depth=depth,
        layers=layers,
        rest=_rest(config),
        runs=len(runs),
        solved=sum(loss < SOLVED for loss in losses),
        learnt=tuple(_learnt(outcome["partial"]) for _, outcome in runs),
        reach=reach(config),
        loss=statistics.mean(losses),
        spread=statistics.stdev(losses) if len(losses) > 1 else 0.0,
        seconds=statistics.median(outcome["seconds"] for _, outcome in runs),
    )


def _learnt(partial: dict[str, float]) -> int:
    hops = [loss < LEARNT for loss in partial.values()]
    return hops.index(False) if False in hops else len(hops)
