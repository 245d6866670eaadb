"""What runs of a sweep are computed on: processes that are each given work, one after another."""

import gc
import os
import signal
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
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

STARTS = 3
"""After so many processes in a row that ended before they could be given anything, none can be."""


@dataclass(frozen=True)
class Work:
    """Runs that one process trains, at once if there are several.

    Attributes:
        folders: of the runs, which are there.
        threads: that they compute with.
        device: that they compute on.
        trusted: the file of their task that the process may execute, if it is a user's own.
    """

    folders: tuple[Path, ...]
    threads: int
    device: str
    trusted: Source | None

    @classmethod
    def of(cls, folders: Sequence[Path], config: RunConfig) -> "Work":
        """The work on runs that have task, threads and device in common."""
        defined = task_to_json(config.task).get("defined")
        trusted = None if defined is None else Source(**defined)
        return cls(tuple(folders), config.threads, config.device, trusted)


def carry_out(work: Work) -> dict[str, str]:
    """Goes on with runs, each from where it is, to their ends.

    A run that is done is left as it is, and one that another process writes to is left to it.

    Returns:
        Why runs failed, by name, where their folders do not tell: one cannot be read, its task has
        changed or breaks, the memory does not suffice, …
    """
    if work.trusted is not None:
        lend(work.trusted)
    failures = dict[str, str]()
    for folder in work.folders:
        gc.collect()  # of a run that was too large, what the error's frames held
        try:
            resume(folder)
        except RunBusyError:
            continue
        except Exception as error:
            failures[folder.name] = _reason(error)
    return failures


def _reason(error: Exception) -> str:
    """Why a run failed, on one line."""
    text = str(error) if isinstance(error, HeadwayError) else described(error)
    text = " ".join(text.partition("\n")[0].split())
    return text if len(text) <= 300 else f"{text[:299]}…"


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


class LocalEngine(Engine):
    """Work side by side on this machine, each in a process that stays for the next one."""

    def __init__(self, workers: int | None = None):
        super().__init__(workers)
        self._workers: list[Worker] = []
        self._false_starts = 0

    def end(self, close: bool) -> None:
        """Ends what is being computed; the other processes only if it is closed."""
        self._drop([worker for worker in self._workers if close or worker.is_busy])

    def places(self, work: Work) -> int:
        """How many such works may be carried out side by side."""
        return self.workers or max(1, cores() // work.threads)

    def submit(self, work: Work) -> Future[dict[str, str]]:
        """Lets a process carry out work (see `Engine`)."""
        for worker in [worker for worker in self._workers if not worker.is_busy]:
            try:
                future = worker.submit(work)
            except BrokenExecutor:
                self._false_starts = 0 if worker.has_started else self._false_starts + 1
                self._drop([worker])
            else:
                self._false_starts = 0
                return future
        if self._false_starts >= STARTS:
            raise HeadwayError(f"no worker process can start: {STARTS} in a row ended at once")
        self._workers.append(Worker())
        return self._workers[-1].submit(work)

    def _drop(self, workers: "list[Worker]") -> None:
        self._workers = [worker for worker in self._workers if worker not in workers]
        for worker in workers:
            worker.end()
        for worker in workers:
            worker.wait()


class Worker:
    """A process of its own, so that only its own runs are lost with it.

    It ends when this end of a pipe is closed, by hand or as this process ends.
    """

    def __init__(self):
        self._theirs, self._ours = Pipe(duplex=False)
        spawn = get_context("spawn")
        with started_safely():  # this starts a process that keeps account of locks
            self._pool = ProcessPoolExecutor(1, spawn, _begin, (self._theirs,))
        self._started: Future[int] | None = None
        self._future: Future[dict[str, str]] | None = None

    @property
    def has_started(self) -> bool:
        """Whether the process was ever able to do anything."""
        return bool(self._started and self._started.done() and not self._started.exception())

    @property
    def is_busy(self) -> bool:
        """Whether it is carrying out work."""
        return self._future is not None and not self._future.done()

    def submit(self, work: Work) -> Future[dict[str, str]]:
        """Gives it work.

        Raises:
            BrokenExecutor: if it has ended.
            HeadwayError: if the system starts no process.
        """
        try:
            with _aside():
                self._started = self._started or self._pool.submit(os.getpid)
                self._future = self._pool.submit(carry_out, work)
        except OSError as error:
            raise HeadwayError(f"no worker process can start: {error.strerror}") from None
        return self._future

    def end(self) -> None:
        """Tells it to end at once."""
        self._ours.close()

    def wait(self) -> None:
        """Waits until it has ended."""
        self._pool.shutdown(cancel_futures=True)


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
