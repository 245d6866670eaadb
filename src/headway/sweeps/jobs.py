"""Runs of a sweep that are to be carried out, alone or in stacks, and what becomes of them."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from headway.errors import HeadwayError
from headway.reading import parsed
from headway.tasks.registry import change_of
from headway.training import Run, RunConfig, from_dict, to_dict
from headway.training.files import is_there, whole_lines
from headway.training.folder import Evaluation
from headway.training.stacked import shape_of
from headway.userfile import Source, lend


@dataclass(frozen=True)
class Job:
    """A run that is to be carried out.

    Attributes:
        name: of the run in its plan.
        folder: of the run.
        config: what decides it.
        retry: whether it is tried again if it has failed.
    """

    name: str
    folder: Path
    config: RunConfig
    retry: bool = False

    def to_json(self) -> dict[str, Any]:
        """The job as plain JSON data, with the file that whoever is told of it may execute."""
        config = to_dict(self.config)
        return {
            "name": self.name,
            "folder": str(self.folder),
            "config": config,
            "trusted": config["task"].get("defined"),
            "retry": self.retry,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Job":
        """The job that `to_json` wrote.

        Raises:
            HeadwayError: if its task cannot be found, or has changed.
        """
        if data["trusted"] is not None:
            lend(Source(**data["trusted"]))
        config = from_dict(data["config"])
        if change := change_of(data["config"]["task"], config.task):
            raise HeadwayError(change)
        return cls(data["name"], Path(data["folder"]), config, data["retry"])


Stack = tuple[Job, ...]
"""Runs that one process trains at once; often only one."""


@dataclass(frozen=True)
class Event:
    """Something that happened to a run.

    Attributes:
        kind: `started` here; `progressed`; `lost` with its process, and to be resumed; `elsewhere`
            if another process is writing to it; `done` or `failed`.
        name: of the run.
        step: that it is at.
        end: the last step as planned now.
        loss: of the last evaluation.
        message: why it failed or was lost.
    """

    kind: Literal["started", "progressed", "lost", "elsewhere", "done", "failed"]
    name: str
    step: int = 0
    end: int = 0
    loss: float | None = None
    message: str | None = None


def stacked(jobs: Sequence[Job], most: int) -> list[Stack]:
    """Puts runs that can be trained at once into stacks, in their order.

    Args:
        jobs: the runs.
        most: in a stack.
    """
    stacks, last = list[list[Job]](), dict[Any, list[Job]]()
    for job in jobs:
        shape = shape_of(job.config)
        key = job.name if shape is None else tuple(shape.items())
        if key not in last or len(last[key]) >= most:
            last[key] = []
            stacks.append(last[key])
        last[key].append(job)
    return [tuple(stack) for stack in stacks]


def ended(job: Job) -> Event | None:
    """How the job's run has ended, as its folder says; None if it has not.

    Raises:
        HeadwayError: if the folder's outcome cannot be read.
    """
    outcome = Run(job.folder, job.config).outcome()
    if outcome is None:
        return None
    step, loss = outcome["step"] or 0, outcome["val_loss"]
    return Event(outcome["status"], job.name, step, step, loss, outcome["message"])


def settled(job: Job) -> Event | None:
    """How the job's run has ended; None if it is still to be done, or to be tried again.

    Raises:
        HeadwayError: if the folder's outcome cannot be read.
    """
    end = ended(job)
    return None if end is not None and end.kind == "failed" and job.retry else end


def standing(job: Job) -> Event | None:
    """Where a run is by its folder: `progressed` or `done`; None before its first evaluation."""
    path = job.folder / "metrics.jsonl"
    try:
        if (end := ended(job)) is not None:
            return end if end.kind == "done" else None
        if not (lines := whole_lines(path)):
            return None
        line = Evaluation(**parsed(lines[-1], str(path)))
    except (HeadwayError, TypeError):
        return None  # the process that carries it out tells what is wrong
    return Event("progressed", job.name, line.step, job.config.training.steps, line.val_loss)


def opened(job: Job) -> Run:
    """The job's run, its folder made if it is not there.

    Raises:
        HeadwayError: if it cannot be made or read.
    """
    if not is_there(job.folder):
        try:
            return Run.create(job.folder, job.config)
        except HeadwayError:
            if not is_there(job.folder):  # else another process has just made it
                raise
    return Run.open(job.folder)


def failed(job: Job, message: str) -> Event:
    """Writes into a run's folder that it failed, unless it says so already or cannot be written."""
    event = Event("failed", job.name, message=message)
    with contextlib.suppress(HeadwayError):  # the event tells of the failure all the same
        run = opened(job)
        end = ended(job)
        if end is None or (end.kind, end.message) != ("failed", message):
            run.fail(message)
    return event
