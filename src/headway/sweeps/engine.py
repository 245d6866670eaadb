"""What runs of a sweep are computed on."""

import os
from abc import ABC, abstractmethod
from concurrent.futures import Future
from typing import Self

from headway.errors import require
from headway.sweeps.work import Work


class Engine(ABC):
    """Lets processes carry out work.

    It keeps what it computes on until it is left as often as it was entered, so `with engine:`
    around several sweeps takes that once.

    Args:
        workers: the most processes side by side; by default as many as there are cores for.
    """

    def __init__(self, workers: int | None = None):
        require(workers is None or workers >= 1, "workers", workers, "a whole number of at least 1")
        self.workers = workers
        self._entered = 0

    def __enter__(self) -> Self:
        self._entered += 1
        return self

    def __exit__(self, *error: object) -> None:
        self._entered -= 1
        self.end(self._entered == 0)

    @abstractmethod
    def end(self, close: bool) -> None:
        """Ends what is being computed, at whatever step it is, and may give all else back."""

    @abstractmethod
    def places(self, work: Work) -> int:
        """How many such works may be carried out side by side.

        Raises:
            HeadwayError: if none ever can.
        """

    @abstractmethod
    def submit(self, work: Work) -> Future[dict[str, str]]:
        """Lets a process carry out work (see `carry_out`).

        The result is a `BrokenExecutor` if the process ended before.

        Raises:
            HeadwayError: if there can be no process.
        """


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
