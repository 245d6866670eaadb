"""The runs of a folder, each read once, and only as far as the page shows it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.circuits import THRESHOLD
from headway.circuits.emergence import hop_steps, learnt_in_order
from headway.circuits.flows import Least
from headway.errors import HeadwayError
from headway.report.examples import thinned
from headway.report.findings import judged_loss
from headway.tasks import Task
from headway.training import Run, RunConfig, find_runs
from headway.training.config import flat
from headway.training.files import clear_content_errors, is_there, read_json
from headway.training.finding import PLAN
from headway.words import natural

MOST_POINTS = 120
"""Points of a run's curve; of more, evenly many are kept."""


@dataclass(frozen=True)
class Entry:
    """A run.

    Attributes:
        folder: its folder.
        config: what decided it.
        task: as the model answers it.
        fields: those of the config, flat.
        status: `done`, `failed`, `running` or `stopped`.
        message: why it failed, if it did.
        loss: the validation loss at the end, or so far.
        judged: the same over the hops that can be predicted without error.
        step: the last that it made.
        seconds: that it took.
        heads: of its circuit, if one was found.
        curve: validation losses by step.
        hops: the step at which each hop was learnt.
        in_chain_order: whether the hops were learnt in that order; None if there is nothing to
            compare.
        least: the flow minimum of its task.
    """

    folder: Path
    config: RunConfig
    task: Task
    fields: dict[str, Any]
    status: str
    message: str | None
    loss: float | None
    judged: float | None
    step: int
    seconds: float | None
    heads: int | None
    curve: list[tuple[float, float]]
    hops: dict[str, float | None]
    in_chain_order: bool | None
    least: Least

    @property
    def name(self) -> str:
        """Its folder's."""
        return self.folder.name

    @property
    def done(self) -> bool:
        """Whether training came to its end, with a loss."""
        return self.status == "done" and self.loss is not None

    @property
    def solved(self) -> bool:
        """Whether it is done and the task counts as solved."""
        return self.done and self.judged is not None and self.judged < THRESHOLD

    @classmethod
    def of(cls, run: Run) -> "Entry":
        """Reads a run's folder.

        Raises:
            HeadwayError: if a file in it is corrupted.
        """
        outcome, metrics, config = run.outcome() or {}, run.metrics(), run.config
        last, circuit = metrics[-1] if metrics else {}, run.read("circuit.json")
        with clear_content_errors(run.folder / "circuit.json"):
            heads = None if circuit is None else int(circuit["useful_heads"])
        with clear_content_errors(run.folder / "metrics.jsonl"):
            hops = hop_steps(metrics, run.task.hops)
            order = learnt_in_order(hops, run.task.hop_order) if len(hops) > 1 else None
        ended = {name: outcome.get(name) for name in ("val_loss", "partial")}
        line = last | {name: told for name, told in ended.items() if told is not None}
        points = [(m["step"], m["val_loss"]) for m in metrics]
        return cls(
            folder=run.folder,
            config=config,
            task=run.task,
            fields=flat(config),
            status=run.status,
            message=outcome.get("message"),
            loss=outcome.get("val_loss", last.get("val_loss")),
            judged=judged_loss(run.task, line) if "val_loss" in line else None,
            step=outcome.get("step", last.get("step", 0)),
            seconds=outcome.get("seconds", last.get("seconds")),
            heads=heads,
            curve=thinned(points, MOST_POINTS),
            hops=hops,
            in_chain_order=order,
            least=Least.of(config.task, config.model.causal),
        )


@dataclass(frozen=True)
class Gathered:
    """What a folder of runs holds.

    Attributes:
        folder: the folder.
        entries: its runs, by name.
        unreadable: what could not be read, each with the reason.
        planned: how many runs the sweep's plan has; None if there is no plan.
        missing: the names of those that have not been started.
    """

    folder: Path
    entries: list[Entry]
    unreadable: list[str]
    planned: int | None
    missing: list[str]


def gather(folder: Path) -> Gathered:
    """Reads a folder of runs. Folders that are no runs are passed over.

    Raises:
        HeadwayError: if there is no run in it, it cannot be read, or its plan cannot.
    """
    return gathered(folder, find_runs(folder), planned_in(folder))


def planned_in(folder: Path) -> list[str] | None:
    """The names of all runs that the plan of a sweep's folder has; None if there is no plan.

    Raises:
        HeadwayError: if the plan cannot be read.
    """
    if not is_there(folder / PLAN):
        return None
    plan = read_json(folder / PLAN)
    with clear_content_errors(folder / PLAN):
        return list(map(str, plan["runs"].keys()))


def gathered(
    folder: Path, runs: Iterable[Run | HeadwayError], planned: Sequence[str] | None = None
) -> Gathered:
    """Reads runs of a folder.

    Args:
        folder: that holds them.
        runs: the runs, or why one cannot be read.
        planned: the names of all that the sweep's plan has; None if there is no plan.

    Raises:
        HeadwayError: if there is no run, or none can be read.
    """
    entries, unreadable = [], []
    for found in runs:
        try:
            if isinstance(found, HeadwayError):
                raise found
            entries.append(Entry.of(found))
        except HeadwayError as error:
            if not str(error).endswith("no config.json"):
                unreadable.append(str(error))
    if not entries and not unreadable:
        raise HeadwayError(f"{folder}: there is no run here, and no folder of a run in it")
    if not entries:
        raise HeadwayError(f"{folder}: no run in it can be read: {unreadable[0]}")
    started = {entry.name for entry in entries}
    missing = [name for name in planned or [] if not is_there(folder / name)]
    return Gathered(
        folder=folder,
        entries=sorted(entries, key=lambda entry: natural(entry.name)),
        unreadable=unreadable,
        planned=None if planned is None else len({*planned} | started),
        missing=sorted(missing, key=natural),
    )
