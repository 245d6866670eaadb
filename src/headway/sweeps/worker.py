"""A process that carries out one run after another, as the process that started it says.

It reads a job a line from its standard input and writes an event a line to its standard output, as
JSON. When its input ends, the process that started it is gone, and it ends at once: a run that is
stopped anywhere can be resumed. It is started as a file, not as a module, so that it listens before
it has loaded PyTorch; its argument is where to import from.
"""

import json
import os
import queue
import select
import signal
import sys
import threading
from typing import Any

PARENT_LOOK = 0.5
"""Seconds between two looks at whether the parent is still there."""


def main() -> None:
    """Works until told to stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's to act on
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    answers = os.dup(1)
    os.dup2(2, 1)  # whatever else is printed is no answer
    jobs: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    stop = threading.Event()
    threading.Thread(target=_listen, args=(jobs, stop, os.getppid()), daemon=True).start()

    sys.path[:] = json.loads(sys.argv[1])
    from headway.sweeps.jobs import Job, StopTrainingError, carry_out

    def tell(**event: Any) -> None:
        try:
            os.write(answers, (json.dumps(event) + "\n").encode())
        except OSError:  # nobody listens any more
            os._exit(1)

    def report(step: int, end: int, loss: float | None) -> None:
        if stop.is_set():
            raise StopTrainingError
        tell(event="progressed", step=step, end=end, loss=loss)

    tell(event="ready")
    while (told := jobs.get()) is not None:
        try:
            result = carry_out(Job.from_json(told), report)
        except StopTrainingError:
            break
        tell(event="ended", status=result.status, message=result.message)
    sys.stderr.flush()
    os._exit(0)  # at once, whatever threads there are


def _listen(jobs: "queue.SimpleQueue[dict[str, Any] | None]", stop: threading.Event, parent: int):
    """Takes in jobs; ends the process when the parent is gone."""
    rest = b""
    while True:
        if not select.select([0], [], [], PARENT_LOOK)[0]:
            if os.getppid() != parent:
                os._exit(1)
            continue
        content = os.read(0, 65536)
        if not content:
            os._exit(1)
        *lines, rest = (rest + content).split(b"\n")
        for line in lines:
            job = json.loads(line)
            if job is None:
                stop.set()
            jobs.put(job)


if __name__ == "__main__":
    main()
