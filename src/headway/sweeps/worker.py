"""A process that carries out one stack after another, as the process that started it says.

It reads the jobs of a stack a line from its standard input and writes an event a line to its
standard output, as JSON. When its input ends, the process that started it is gone, and it ends at
once: a run that is stopped anywhere can be resumed. It is started as a file, not as a module, so
that it listens before it has loaded PyTorch; its argument is where to import from.
"""

import json
import os
import queue
import select
import signal
import sys
import threading
from typing import Any, TypeAlias

PARENT_LOOK = 0.5
"""Seconds between two looks at whether the parent is still there."""

Stacks: TypeAlias = "queue.SimpleQueue[list[dict[str, Any]] | None]"
"""Jobs to be carried out at once, as JSON data; None to end."""


def main() -> None:
    """Works until told to stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's to act on
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    answers = os.dup(1)
    os.dup2(2, 1)  # whatever else is printed is no answer
    stacks: Stacks = queue.SimpleQueue()
    stop = threading.Event()
    threading.Thread(target=_listen, args=(stacks, stop, os.getppid()), daemon=True).start()

    sys.path[:] = json.loads(sys.argv[1])
    from headway.sweeps.jobs import Event
    from headway.sweeps.work import StopTrainingError, carry_out_told

    def answer(**what: Any) -> None:
        try:
            os.write(answers, (json.dumps(what) + "\n").encode())
        except OSError:  # nobody listens any more
            os._exit(1)

    def tell(event: Event) -> None:
        if stop.is_set() and event.kind in ("started", "progressed"):
            raise StopTrainingError
        answer(**vars(event))

    answer(kind="ready")
    while (told := stacks.get()) is not None:
        try:
            carry_out_told(told, tell)
        except StopTrainingError:
            break
    sys.stderr.flush()
    os._exit(0)  # at once, whatever threads there are


def _listen(stacks: Stacks, stop: threading.Event, parent: int) -> None:
    """Takes in stacks; ends the process when the parent is gone."""
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
            stack = json.loads(line)
            if stack is None:
                stop.set()
            stacks.put(stack)


if __name__ == "__main__":
    main()
