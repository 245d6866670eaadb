"""How far something is: on a terminal in place, else a line now and then."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.text import Text

from headway.circuits.exhaustive import Watch
from headway.terminal.base import redrawn
from headway.text import duration


@contextmanager
def counting(doing: str = "") -> Iterator[Callable[..., None]]:
    """Follows what is done one by one: `watch(done, total)` tells how many, and the time left.

    Args:
        doing: what is done, in words. If several things are done in turn, it is passed each time:
            `watch(done, total, doing)`.
    """
    begun: dict[str, tuple[float, int]] = {}
    with _line(30.0) as show:

        def watch(done: int, total: int, doing: str = doing) -> None:
            now, new = time.perf_counter(), doing not in begun
            # loading came before the first, so that its own time is not known
            start, first = begun.setdefault(doing, (now, done))
            line = f"{doing} {done} of {total}"
            if first < done < total:
                pace = (now - start) / (done - first)
                line += f"; about {duration(pace * (total - done))} left"
            show(line, now, new or done == total)

        yield watch


@contextmanager
def exhausting() -> Iterator[Watch]:
    """Follows a search for every circuit."""
    with _line(10.0, time.perf_counter()) as show:

        def watch(paths: int, judged: int, found: int) -> None:
            line = f"sets of {paths} paths: {judged} judged so far, {found} minimal circuits"
            show(line, time.perf_counter(), False)

        yield watch


@contextmanager
def _line(pause: float, last: float = -math.inf) -> Iterator[Callable[[str, float, bool], None]]:
    """Shows a line at a time: at once, or unless the last is too recent.

    Args:
        pause: seconds between two lines where there is no terminal.
        last: when the last one was shown.
    """
    with redrawn() as live:

        def show(line: str, now: float, at_once: bool) -> None:
            nonlocal last
            if not at_once and now - last < (0.5 if live else pause):
                return
            last = now
            if live:
                live.update(Text(line), refresh=True)
            else:
                print(line, flush=True)

        yield show
