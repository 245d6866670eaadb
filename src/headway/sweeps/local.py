"""The engine that needs nothing else: worker processes on this machine."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection, wait
from types import ModuleType

from headway.errors import HeadwayError
from headway.sweeps.engine import Engine, cores
from headway.sweeps.work import Work, carry_out

STARTS = 3
"""After so many processes in a row that ended before they could be given anything, none can be."""


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
