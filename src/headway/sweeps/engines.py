"""Engines, on which runs of a sweep are computed: processes that are each given one."""

import gc
import os
import subprocess
import sys
import threading
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from headway.errors import HeadwayError, require
from headway.tasks.registry import own_source
from headway.training import RunBusyError, RunConfig, resume
from headway.userfile import Source, described, keep


def carry_out(folder: Path, trusted: Source | None) -> str | None:
    """Goes on with the run in a folder, from where it is, to its end.

    A run that is done is left as it is, and one that another process writes to is left
    to it.

    Args:
        folder: of the run, which is there.
        trusted: the file of its task that this process may execute, if it is a user's
            own.

    Returns:
        Why it failed, where its folder does not tell: it cannot be read, its task has
        changed or breaks, the memory does not suffice, …
    """
    if trusted is not None:
        keep(trusted.line())
    gc.collect()  # of a run before that was too large, what the error's frames held
    try:
        with suppress(RunBusyError):
            resume(folder)
    except Exception as error:
        return described(error)
    return None


def cores() -> int:
    """The number of cores that this process may use."""
    known = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1


class Engine(AbstractContextManager["Engine"]):
    """Lets worker processes on this machine carry out runs, one after another each.

    They are started when they are needed, within `with engine:`, and killed at its end.

    Args:
        workers: the most processes side by side; by default as many as there are cores
            for.
    """

    def __init__(self, workers: int | None = None):
        require(
            workers is None or workers >= 1,
            "workers",
            workers,
            "a whole number of at least 1",
        )
        self.workers = workers
        self._processes, self._idle = (
            list[subprocess.Popen[bytes]](),
            list[Connection](),
        )

    def __exit__(self, *error: object) -> None:
        """Ends what is being computed, at whatever step it is."""
        ended, self._processes, self._idle = self._processes, [], []
        for process in ended:
            process.kill()
            process.wait()

    def places(self, config: RunConfig) -> int:
        """The number of such runs that may go on side by side.

        Raises:
            HeadwayError: if none ever can.
        """
        return self.workers or max(1, cores() // config.threads)

    def submit(self, folder: Path, config: RunConfig) -> Future[str | None]:
        """Lets a process carry out the run in a folder (see `carry_out`).

        The result is an `EOFError` or `OSError` if the process ended before, and a
        `HeadwayError` if there can be no process.
        """
        future = Future[str | None]()

        def call() -> None:
            try:
                future.set_result(self.answer(folder, config))
            except BaseException as error:  # whoever asks for the result meets it
                future.set_exception(error)

        threading.Thread(target=call, daemon=True).start()  # no exit waits for it
        return future

    def answer(self, folder: Path, config: RunConfig) -> str | None:
        """The answer of a process that carries a run out; a new one if none is idle."""
        every, idle = self._processes, self._idle
        if idle:
            end = idle.pop()
        else:
            process, end = _worker()
            every.append(process)
            if every is not self._processes:  # the engine has ended meanwhile
                process.kill()
                process.wait()
        end.send((folder, own_source(type(config.task))))
        answer = end.recv()
        idle.append(end)
        return answer


def _worker() -> tuple[subprocess.Popen[bytes], Connection]:
    """A new worker process, which heeds no interrupt, and this end of its pipe.

    It imports from where this one does, and nothing from the folder that it starts in.
    """
    ours, theirs = Pipe()
    deaf = "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN)"
    path = f"sys.path[:] = {[*map(os.path.abspath, filter(None, sys.path))]}"
    program = (
        f"{deaf}; {path}; from headway.sweeps.engines import work; "
        f"work({theirs.fileno()})"
    )
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", program, *sys.argv],
            stdin=subprocess.DEVNULL,
            stdout=2,  # it prints to standard error alone
            pass_fds=[theirs.fileno()],
        )
    except OSError as error:
        raise HeadwayError(f"no worker process can start: {error.strerror}") from None
    theirs.close()
    return process, ours


def work(pipe: int) -> None:
    """Carries out the runs that this process is told of, as if it were the one that
    tells of them; ends with that one, at whatever step it is."""
    end, runs = Connection(pipe), SimpleQueue[Any]()
    del sys.argv[0]

    def listen() -> None:
        try:
            while True:
                runs.put(end.recv())
        except (EOFError, OSError):
            os._exit(1)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        end.send(carry_out(*runs.get()))
