"""What stands between a plan and whatever carries it out: stacks of jobs in, events out."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Protocol, Self

from headway.sweeps.jobs import Event, Stack, failed, halves

TRIES = 4
"""How often a run is begun before it is given up, if its process is ended from outside each time:
once, and resumed three times."""


class Engine(Protocol):
    """Carries out jobs. Entering it takes what it computes on; leaving it stops all runs."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...

    def events(self, stacks: Sequence[Stack]) -> Iterator[Event | None]:
        """Carries out all jobs, and tells of every event; None if nothing is new for now.

        Every job ends with `done` or `failed`; by then its folder says so too.
        """
        ...

    @property
    def options(self) -> str:
        """What the command line must say to use this engine again."""
        ...


def lost(stack: Stack, how: str, losses: Counter[str]) -> tuple[list[Event], list[Stack]]:
    """What becomes of runs whose process has ended.

    A stack is resumed in halves: it may have been too large, or one of its runs is to blame. A run
    that was alone is resumed, or given up.

    Args:
        stack: the runs.
        how: the process ended.
        losses: how often each run was lost while alone; counted here.

    Returns:
        What to tell, and what is to be resumed.
    """
    if len(stack) == 1:
        losses[stack[0].name] += 1
        if losses[stack[0].name] >= TRIES:
            return [failed(stack[0], f"{how}, {TRIES} times")], []
    return [Event("lost", job.name, message=how) for job in stack], halves(stack)


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
