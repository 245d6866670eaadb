"""One run of a sweep: what is to be done, and doing it."""

import contextlib
import gc
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from headway.errors import HeadwayError
from headway.sweeps.sources import described
from headway.training import Run, RunBusyError, RunConfig, from_dict, resume, to_dict
from headway.training.files import is_there

EVERY = 0.25
"""Seconds between two reports of progress."""

Report = Callable[[int, int, float | None], None]
"""Told now and then of a run's step, its last step as planned now, and its last validation loss."""


@dataclass(frozen=True)
class Job:
    """A run that is to be carried out.

    Attributes:
        name: of the run in its plan.
        folder: of the run.
        config: what decides it.
        retry: whether it is tried again if it has failed.
        command: the program and its arguments, as the run's environment will name them.
    """

    name: str
    folder: Path
    config: RunConfig
    retry: bool = False
    command: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The job as plain JSON data."""
        return {
            "name": self.name,
            "folder": str(self.folder),
            "config": to_dict(self.config),
            "retry": self.retry,
            "command": list(self.command),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Job":
        """The job that `to_json` wrote."""
        config, command = from_dict(data["config"]), tuple(data["command"])
        return cls(data["name"], Path(data["folder"]), config, data["retry"], command)


@dataclass(frozen=True)
class Result:
    """What became of a job.

    Attributes:
        status: `done`, `failed`, or `busy` if another process is writing to the run.
        message: why it failed.
    """

    status: Literal["done", "failed", "busy"]
    message: str | None = None


class StopTrainingError(Exception):
    """Raised by a report to leave a run between two steps, as an interrupt does."""


def settled(job: Job) -> Result | None:
    """How the job's run has ended, as its folder says; none if it is still to be done.

    Raises:
        HeadwayError: if the folder's outcome cannot be read.
    """
    outcome = Run(job.folder, job.config).outcome()
    if outcome is None or (outcome["status"] == "failed" and job.retry):
        return None
    return Result(outcome["status"], outcome.get("message"))


def is_busy(job: Job) -> bool:
    """Whether another process is writing to the job's run."""
    return is_there(job.folder) and Run(job.folder, job.config).status == "running"


def carry_out(job: Job, report: Report) -> Result:
    """Starts a run or goes on with it, to its end; whatever goes wrong is recorded in its folder.

    A run that has ended is left as it is, also if another process ends it meanwhile.

    Raises:
        StopTrainingError: if the report does.
    """
    last, loss = 0.0, None

    def watch(_run: Run, step: int, end: int, metrics: dict[str, Any] | None) -> None:
        nonlocal last, loss
        if metrics is not None:
            loss = metrics["val_loss"]
        if time.monotonic() - last > EVERY or step == end:
            last = time.monotonic()
            report(step, end, loss)

    with named(job.command):
        try:
            run = _opened(job)
            with run.writing():
                before = settled(job)
            if before is not None:
                return before
            report(0, job.config.training.steps, None)
            resume(run.folder, watch)
        except StopTrainingError:
            raise
        except RunBusyError:
            return Result("busy")
        except Exception as error:
            result = Result("failed", reason(error))
        else:
            return Result("done")
    gc.collect()  # of a run that was too large, what the error's frames held
    record(job, result)
    return result


def record(job: Job, result: Result) -> None:
    """Writes into a run's folder that it failed, unless it says so already or cannot be written."""
    with contextlib.suppress(HeadwayError):  # the caller tells of the failure all the same
        run = _opened(job)
        outcome = run.outcome()
        told = None if outcome is None else (outcome["status"], outcome.get("message"))
        if told != ("failed", result.message):
            run.fail(result.message or "")


def reason(error: Exception) -> str:
    """Why a run failed, on one line."""
    text = str(error) if isinstance(error, HeadwayError) else described(error)
    text = " ".join(text.split("\n", 1)[0].split())
    short = text if len(text) <= 300 else f"{text[:299]}…"
    return f"out of memory: {short}" if is_memory(error) else short


def is_memory(error: Exception) -> bool:
    """Whether an error says that there was too little memory."""
    said = str(error).lower()
    words = ("not enough memory", "can't allocate memory", "out of memory", "invalid buffer size")
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError) and any(word in said for word in words)
    )


@contextlib.contextmanager
def named(command: tuple[str, ...]):
    """Within it, a run's environment names a command other than this process's own."""
    before = sys.argv
    sys.argv = list(command) or before
    try:
        yield
    finally:
        sys.argv = before


def _opened(job: Job) -> Run:
    """The job's run, its folder made if it is not there."""
    if not is_there(job.folder):
        try:
            return Run.create(job.folder, job.config)
        except HeadwayError:
            if not is_there(job.folder):  # else another process has just made it
                raise
    return Run.open(job.folder)
