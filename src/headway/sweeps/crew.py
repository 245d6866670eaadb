"""Worker processes as their parent sees them."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from headway.sweeps import worker
from headway.sweeps.jobs import Stack

PATIENCE = 3.0
"""Seconds that a worker may take to leave its run when told to stop."""


class Worker:
    """A process that carries out one stack at a time.

    Attributes:
        stack: the runs of it that have not ended; empty while it is idle.
        is_ready: whether it has loaded what it needs.
    """

    def __init__(self):
        self.stack: Stack = ()
        self.is_ready = False
        self._rest = b""
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115
        command = [sys.executable, "-P", str(Path(worker.__file__)), json.dumps(sys.path)]
        # An interrupt at the terminal reaches all processes; it is the parent's to act on.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                bufsize=0,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    @property
    def id(self) -> int:
        """The process's number."""
        return self._process.pid

    def fileno(self) -> int:
        """Where its answers come from, for a selector."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def give(self, stack: Stack) -> None:
        """Gives it runs to carry out."""
        self.stack = stack
        self._say([job.to_json() for job in stack])

    def take(self, name: str) -> Stack:
        """Takes back a run that it is done with, as a stack of its own."""
        taken = tuple(job for job in self.stack if job.name == name)
        self.stack = tuple(job for job in self.stack if job.name != name)
        return taken

    def answers(self) -> list[dict[str, Any]] | None:
        """What it has answered since the last time; None if it has ended."""
        content = os.read(self.fileno(), 65536)
        if not content:
            return None
        *lines, self._rest = (self._rest + content).split(b"\n")
        return [json.loads(line) for line in lines]

    def end(self) -> str:
        """Waits for the end of a process that no longer answers, and says in words how it ended."""
        self._process.wait()
        code = self._process.returncode
        self._complaints.seek(0)
        lines = self._complaints.read().decode(errors="replace").split("\n")
        said = [line.strip() for line in lines if line.strip()]
        self._close()
        if code < 0:
            name = signal.Signals(-code).name
            likely = " (was there enough memory?)" if -code == signal.SIGKILL else ""
            return f"ended by {name}{likely}"
        return f"ended with code {code}" + (f": {said[-1]}" if said else "")

    def ask_to_stop(self) -> None:
        """Asks it to leave its run after this step, and to end."""
        self._say(None)

    def stop(self, deadline: float) -> None:
        """Waits until a moment of the monotonic clock for it to end, and then ends it."""
        try:
            self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        finally:
            self._process.kill()  # if another interrupt came while waiting
            self._process.wait()
            self._close()

    def _say(self, message: Any) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write((json.dumps(message) + "\n").encode())
        except BrokenPipeError:
            return  # it has ended, as its answers will tell

    def _close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        for file in (self._process.stdin, self._process.stdout, self._complaints):
            file.close()


def stop_all(workers: list[Worker]) -> None:
    """Ends all workers: each after the step that it is at, or soon in any case."""
    for one in workers:
        one.ask_to_stop()
    deadline = time.monotonic() + PATIENCE
    for one in workers:
        one.stop(deadline)
