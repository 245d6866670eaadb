"""Engines, on which runs of a sweep are computed: processes that are each given work."""

import gc
import os
import signal
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import ModuleType
from typing import Self

from headway.errors import HeadwayError, require
from headway.tasks.registry import task_to_json
from headway.training import RunBusyError, RunConfig, resume
from headway.userfile import Source, described, lend, started_safely

START = "spawn" if sys.platform == "darwin" else "forkserver"
"""The method by which processes are started; macOS' own libraries do not stand a fork."""


@dataclass(frozen=True)
class Work:
    """A run that a process trains.

    Attributes:
        folder: of the run, which is there.
        threads: that it computes with.
        device: that it computes on.
        trusted: the file of its task that the process may execute, if it is a user's own.
    """

    folder: Path
    threads: int
    device: str
    trusted: Source | None

    @classmethod
    def of(cls, folder: Path, config: RunConfig) -> "Work":
        """The work on a run."""
        defined = task_to_json(config.task).get("defined")
        trusted = None if defined is None else Source(**defined)
        return cls(folder, config.threads, config.device, trusted)


def carry_out(work: Work) -> str | None:
    """Goes on with a run, from where it is, to its end.

    A run that is done is left as it is, and one that another process writes to is left to it.

    Returns:
        Why it failed, where its folder does not tell: it cannot be read, its task has changed or
        breaks, the memory does not suffice, …
    """
    if work.trusted is not None:
        lend(work.trusted)
    gc.collect()  # of a run before that was too large, what the error's frames held
    try:
        resume(work.folder)
    except RunBusyError:
        return None
    except Exception as error:
        return described(error)
    return None


class Engine(ABC):
    """Lets processes carry out work, within `with engine:`, and ends them at its end.

    Args:
        workers: the most processes side by side; by default as many as there are cores for.
    """

    def __init__(self, workers: int | None = None):
        require(workers is None or workers >= 1, "workers", workers, "a whole number of at least 1")
        self.workers = workers

    def __enter__(self) -> Self:
        return self

    @abstractmethod
    def __exit__(self, *error: object) -> None:
        """Ends what is being computed, at whatever step it is."""

    @abstractmethod
    def places(self, work: Work) -> int:
        """The number of such works that may be carried out side by side.

        Raises:
            HeadwayError: if none ever can.
        """

    @abstractmethod
    def submit(self, work: Work) -> Future[str | None]:
        """Lets a process carry out work (see `carry_out`).

        The result is a `BrokenExecutor` if the process ended before.

        Raises:
            HeadwayError: if there can be no process.
        """


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class LocalEngine(Engine):
    """Work side by side on this machine, in processes of which each has its own pool, so that no
    other is lost with it.

    They are forked from one that has loaded PyTorch where that is safe, and take one work after
    another. Each ends when this end of its pipe is closed, by hand or as this process ends.
    """

    def __init__(self, workers: int | None = None):
        super().__init__(workers)
        self._pools: dict[ProcessPoolExecutor, tuple[Connection, Future[str | None]]] = {}

    def __exit__(self, *error: object) -> None:
        for end, _ in self._pools.values():
            end.close()
        for pool in self._pools:
            pool.shutdown()
        self._pools = {}

    def places(self, work: Work) -> int:
        """The number of such works that may be carried out side by side."""
        return self.workers or max(1, cores() // work.threads)

    def submit(self, work: Work) -> Future[str | None]:
        """Lets a process carry out work (see `Engine`)."""
        for pool, (end, last) in [*self._pools.items()]:
            if last.done():
                try:
                    self._pools[pool] = end, pool.submit(carry_out, work)
                except BrokenExecutor:
                    del self._pools[pool]
                else:
                    return self._pools[pool][1]
        (theirs, ours), context = Pipe(duplex=False), get_context(START)
        context.set_forkserver_preload([__name__])
        try:
            with _aside():
                pool = ProcessPoolExecutor(1, context, _begin, (theirs,))
                self._pools[pool] = ours, pool.submit(carry_out, work)
        except OSError as error:
            raise HeadwayError(f"no worker process can start: {error.strerror}") from None
        theirs.close()
        return self._pools[pool][1]


@contextmanager
def _aside() -> Iterator[None]:
    """Within it, processes are started that leave interrupts to this one, and do not run its
    script again."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    script, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
    try:
        with started_safely():
            yield
    finally:
        sys.modules["__main__"] = script
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _begin(end: Connection) -> None:
    """Lets a new process print to standard error alone, and end with the one that started it."""
    os.dup2(2, 1)
    threading.Thread(target=_end_with, args=(end,), daemon=True).start()


def _end_with(end: Connection) -> None:
    wait([end])
    os._exit(1)
