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
from typing import Self

from headway.errors import require
from headway.sweeps.engine import cores
from headway.sweeps.jobs import Event, Stack
from headway.sweeps.work import carry_out


class LocalEngine:
    """Stacks side by side on this machine, each in a process that stays for the next one.

    The processes are kept until the engine is left as often as it was entered, so `with engine:`
    around several sweeps starts them once.

    Args:
        workers: how many stacks side by side; by default as many as there are cores for.
    """

    def __init__(self, workers: int | None = None):
        require(workers is None or workers >= 1, "workers", workers, "a whole number of at least 1")
        self.workers = workers
        self._workers: list[Worker] = []
        self._entered = 0

    def __enter__(self) -> Self:
        self._entered += 1
        return self

    def __exit__(self, *error: object) -> None:
        self._entered -= 1
        if not self._entered:
            self._close(self._workers)

    @property
    def options(self) -> str:
        """What the command line must say to use this engine again."""
        return "" if self.workers is None else f" --workers {self.workers}"

    def places(self, stack: Stack) -> int:
        """How many such stacks may be computed side by side."""
        return self.workers or max(1, cores() // stack[0].config.threads)

    def submit(self, stack: Stack) -> Future[list[Event]]:
        """Lets a process carry out a stack (see `Engine`)."""
        for worker in [worker for worker in self._workers if not worker.is_busy]:
            try:
                return worker.submit(stack)
            except BrokenExecutor:
                self._close([worker])
        self._workers.append(Worker())
        return self._workers[-1].submit(stack)

    def stop(self) -> None:
        """Ends what is being computed, at whatever step it is."""
        self._close([worker for worker in self._workers if worker.is_busy])

    def _close(self, workers: "list[Worker]") -> None:
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
        self._future: Future[list[Event]] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether it is carrying out a stack."""
        return self._future is not None and not self._future.done()

    def submit(self, stack: Stack) -> Future[list[Event]]:
        """Gives it a stack.

        Raises:
            BrokenExecutor: if it has ended.
        """
        with _aside():
            done = self._pool.submit(carry_out, [job.to_json() for job in stack])
        self._future = Future()
        done.add_done_callback(self._pass_on)
        return self._future

    def _pass_on(self, done: Future[list[Event]]) -> None:
        assert self._future is not None
        if not isinstance(done.exception(), BrokenExecutor):
            self._future.set_result(done.result())
            return
        message = "its process ended from outside or crashed (was there enough memory?)"
        self._future.set_exception(BrokenExecutor(message))

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
