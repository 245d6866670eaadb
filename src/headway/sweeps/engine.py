"""What stands between a plan and whatever computes: stacks of jobs in, events out."""

import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from typing import Protocol, Self

from headway.sweeps.jobs import Event, Job, Stack, failed, standing

TRIES = 4
"""How often a run is begun before it is given up, if its process is ended from outside each time:
once, and resumed three times."""
TICK = 0.2
"""The most seconds until the next event, which is None if nothing happened."""
LATER = 1.0
"""Seconds until a run that another process writes to is tried again."""


class Engine(Protocol):
    """Carries out jobs. Entering it takes what it computes on; leaving it gives that back."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...

    def places(self, stack: Stack) -> int:
        """How many such stacks may be computed side by side.

        Raises:
            HeadwayError: if none ever can.
        """
        ...

    def submit(self, stack: Stack) -> Future[list[Event]]:
        """Lets a process carry out a stack (see `carry_out`), and gives what becomes of its runs.

        The result is a `BrokenExecutor` if the process ended before.
        """
        ...

    def stop(self) -> None:
        """Ends what is being computed, at whatever step it is."""
        ...

    @property
    def options(self) -> str:
        """What the command line must say to use this engine again."""
        ...


def events(engine: Engine, stacks: Sequence[Stack]) -> Iterator[Event | None]:
    """Carries out all jobs, and tells of every event; None if nothing is new for now.

    Every job ends with `done` or `failed`; by then its folder says so too. A stack whose process
    has ended goes on as single runs. A run that was alone is resumed, or given up.

    Raises:
        HeadwayError: if the engine can compute nothing.
    """
    waiting = [(0.0, stack) for stack in stacks]
    running = dict[Future[list[Event]], Stack]()
    losses, told, begun = Counter[str](), set[str](), set[str]()
    while waiting or running:
        for since, stack in list(waiting):
            if since > time.monotonic():
                continue
            if len(running) >= engine.places(stack):
                break
            waiting.remove((since, stack))
            running[engine.submit(stack)] = stack
            yield from (started(job) for job in stack if job.name not in begun)
            begun |= {job.name for job in stack}
        if not running:
            time.sleep(TICK)
        for future in wait(running, TICK, FIRST_COMPLETED).done:
            jobs = {job.name: job for job in running.pop(future)}
            try:
                ends = future.result()
            except BrokenExecutor as error:
                losses.update([*jobs] if len(jobs) == 1 else [])
                ends = [lost(job, error, losses[job.name]) for job in jobs.values()]
            waiting[:0] = [(0.0, (jobs[end.name],)) for end in ends if end.kind == "lost"]
            for end in ends:
                if end.name in told:
                    continue
                if end.kind == "failed":
                    end = failed(jobs[end.name], end.message or "")
                elif end.kind == "elsewhere":
                    waiting.append((time.monotonic() + LATER, (jobs[end.name],)))
                yield end
        for job in [job for stack in running.values() for job in stack if job.name not in told]:
            event = standing(job)
            if event is not None and event.kind == "done":
                told.add(job.name)
            if event is not None:
                yield event
        yield None


def started(job: Job) -> Event:
    """The event of a run that is begun or resumed."""
    return Event("started", job.name, 0, job.config.training.steps)


def lost(job: Job, error: Exception, losses: int) -> Event:
    """The event of a run whose process has ended, so often while it was alone."""
    if losses < TRIES:
        return Event("lost", job.name, message=str(error))
    return Event("failed", job.name, message=f"{error}, {TRIES} times")


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
