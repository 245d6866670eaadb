"""What stands between a plan and whatever carries it out: jobs in, events out."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, Self

from headway.sweeps.jobs import Job

TRIES = 4
"""How often a run is begun before it is given up, if its process is ended from outside each time:
once, and resumed three times."""


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


class Engine(Protocol):
    """Carries out jobs. Entering it gets hold of what it computes on; leaving it stops all runs."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...

    def events(self, jobs: Sequence[Job]) -> Iterator[Event | None]:
        """Carries out all jobs, and tells of every event; none where nothing is new for now.

        Every job ends with `done` or `failed`; by then its folder says so too.
        """
        ...

    @property
    def options(self) -> str:
        """What the command line must say to use this engine again."""
        ...


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
