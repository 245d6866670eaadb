"""Carrying out the runs of a stack, whatever goes wrong with one of them."""

import contextlib
import gc
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from headway.errors import HeadwayError
from headway.sweeps.jobs import Event, Job, Stack, ended, failed, halves, opened, settled
from headway.training import Run, RunBusyError, resume_stacked
from headway.userfile import described

EVERY = 0.25
"""Seconds between two reports of a run's progress."""

Tell = Callable[[Event], None]
"""Called with everything that happens to the runs."""


class StopTrainingError(Exception):
    """Raised by a `tell` to leave all runs between two steps, as an interrupt does."""


def carry_out_told(told: Sequence[dict[str, Any]], tell: Tell) -> None:
    """Carries out runs as another process wrote them down (see `carry_out`).

    A run that cannot be read, as the file of its task is gone, has an error in it or has changed,
    has failed: to try it again would not help.

    Args:
        told: the jobs of a stack, each as `Job.to_json` gives it.
        tell: called with every event.
    """
    jobs = list[Job]()
    for data in told:
        try:
            jobs.append(Job.from_json(data))
        except HeadwayError as error:
            tell(Event("failed", data["name"], message=reason(error)))
    carry_out(tuple(jobs), tell)


def carry_out(stack: Stack, tell: Tell) -> None:
    """Starts runs or goes on with them, each from where it is, to their ends.

    What goes wrong with a run is recorded in its folder. A run that has ended is left as it is,
    also if another process ends it meanwhile; one that another process writes to is left to it.
    Runs that cannot go on at once, as there is too little memory or one of them is damaged, go on
    in two halves, one after the other.

    Args:
        stack: the runs.
        tell: called at every start, now and then with the progress, and once with how each run
            ended: `done`, `failed` or `elsewhere`.

    Raises:
        StopTrainingError: if `tell` does.
    """
    going = {job.folder: job for job in stack}
    for job in stack:
        if (event := _before(job)) is not None:
            del going[job.folder]
        tell(event or Event("started", job.name, 0, job.config.training.steps))
    if not going:
        return

    def end(run: Run) -> None:
        event = ended(going.pop(run.folder))
        assert event is not None
        tell(event)

    message = None
    try:
        with named(stack[0].command):
            resume_stacked(list(going), _progress(tell), end)
    except StopTrainingError:
        raise
    except RunBusyError:
        pass
    except Exception as error:
        message = reason(error)
    else:
        for job in going.values():  # another process ended it meanwhile
            tell(Event("done", job.name))
        return
    gc.collect()  # of runs that were too large, what the error's frames held
    left = tuple(going.values())
    if len(left) > 1:
        for half in halves(left):
            carry_out(half, tell)
    for job in left if len(left) == 1 else ():
        tell(Event("elsewhere", job.name) if message is None else failed(job, message))


def _before(job: Job) -> Event | None:
    """Why there is nothing to be done for a run, if so; else it has a folder."""
    try:
        with named(job.command), opened(job).writing():
            return settled(job)
    except RunBusyError:
        return Event("elsewhere", job.name)
    except Exception as error:
        return failed(job, reason(error))


def _progress(tell: Tell) -> Callable[[Run, int, int, dict[str, Any] | None], None]:
    """Tells now and then where every run is."""
    last, losses = dict[str, float](), dict[str, float]()

    def watch(run: Run, step: int, end: int, metrics: dict[str, Any] | None) -> None:
        name = run.folder.name
        if metrics is not None:
            losses[name] = metrics["val_loss"]
        if time.monotonic() - last.get(name, 0.0) > EVERY or step == end:
            last[name] = time.monotonic()
            tell(Event("progressed", name, step, end, losses.get(name)))

    return watch


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
