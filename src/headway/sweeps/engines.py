"""Engines, on which runs of a sweep are computed: processes that are each given one."""

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from multiprocessing import Pipe, get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from headway.errors import HeadwayError, require
from headway.tasks.registry import own_source
from headway.training import RunBusyError, RunConfig, resume
from headway.userfile import Source, described, lend, started_safely

START = "spawn" if sys.platform == "darwin" else "forkserver"
"""The method by which processes are started; macOS' own libraries do not stand a fork."""
STARTING = threading.Lock()
"""Held while a process starts, as that changes what all threads see."""


def carry_out(folder: Path, trusted: Source | None) -> str | None:
    """Goes on with the run in a folder, from where it is, to its end.

    A run that is done is left as it is, and one that another process writes to is left to it.

    Args:
        folder: of the run, which is there.
        trusted: the file of its task that this process may execute, if it is a user's own.

    Returns:
        Why it failed, where its folder does not tell: it cannot be read, its task has changed or
        breaks, the memory does not suffice, …
    """
    if trusted is not None:
        lend(trusted)
    gc.collect()  # of a run before that was too large, what the error's frames held
    try:
        resume(folder)
    except RunBusyError:
        return None
    except Exception as error:
        return described(error)
    return None


def cores() -> int:
    """The number of cores that this process may use."""
    known = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1


class Engine:
    """Lets worker processes on this machine carry out runs, one after another each.

    They are forked from one that has loaded PyTorch where that is safe, within `with engine:`, and
    killed at its end.

    Args:
        workers: the most processes side by side; by default as many as there are cores for.
    """

    def __init__(self, workers: int | None = None):
        require(workers is None or workers >= 1, "workers", workers, "a whole number of at least 1")
        self.workers = workers
        self._processes, self._idle = list[BaseProcess](), list[Connection]()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Ends what is being computed, at whatever step it is."""
        ended, self._processes, self._idle = self._processes, [], []
        for process in ended:
            process.kill()
        for process in ended:
            process.join()

    def places(self, config: RunConfig) -> int:
        """The number of such runs that may go on side by side.

        Raises:
            HeadwayError: if none ever can.
        """
        return self.workers or max(1, cores() // config.threads)

    def submit(self, folder: Path, config: RunConfig) -> Future[str | None]:
        """Lets a process carry out the run in a folder (see `carry_out`).

        The result is an `EOFError` or `OSError` if the process ended before, and a `HeadwayError`
        if there can be no process.
        """
        return aside(self._answer, folder, own_source(type(config.task)))

    def _answer(self, *work: Any) -> str | None:
        """The answer of a worker, a new one if none is idle, to some work."""
        every, idle = self._processes, self._idle
        if idle:
            end = idle.pop()
        else:
            process, end = _worker()
            every.append(process)
            if every is not self._processes:  # the engine has ended meanwhile
                process.kill()
        end.send(work)
        answer = end.recv()
        idle.append(end)
        return answer


def _worker() -> tuple[BaseProcess, Connection]:
    """A new worker process, and this end of its pipe."""
    (ours, theirs), context = Pipe(), get_context(START)
    context.set_forkserver_preload([__name__])
    process = context.Process(target=_work, args=(theirs,))
    try:
        with STARTING, _alone():
            process.start()
    except OSError as error:
        raise HeadwayError(f"no worker process can start: {error.strerror}") from None
    theirs.close()
    return process, ours


def aside(function: Callable[..., Any], *given: Any) -> Future[Any]:
    """The future result of a function that is called in a thread, which no exit waits for."""
    future = Future[Any]()

    def call() -> None:
        try:
            future.set_result(function(*given))
        except BaseException as error:  # whoever asks for the result meets it
            future.set_exception(error)

    threading.Thread(target=call, daemon=True).start()
    return future


@contextmanager
def _alone() -> Iterator[None]:
    """Within it, processes start that neither run this one's script again nor heed interrupts."""
    with started_safely():
        resource_tracker.ensure_running()  # which lets interrupts through once it runs
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        script, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = script
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _work(end: Connection) -> None:
    """Carries out runs; prints to standard error alone."""
    os.dup2(2, 1)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError):
        while True:
            end.send(carry_out(*end.recv()))


def _end_with_parent() -> None:
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)
