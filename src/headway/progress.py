"""Progress: on a terminal or in a notebook in its place, else a line now and then, or
none.
"""

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from threading import current_thread, main_thread

from rich.live import Live
from rich.text import Text

from headway.console import console
from headway.text import duration


class Display:
    """Shows a line unless the last is too recent.

    Args:
        live: the place on the terminal; None where there is none.
        pause: seconds between two lines there.
    """

    def __init__(self, live: Live | None, pause: float):
        self.live = live
        self._pause = pause if live is None else 0.2
        self._last = -math.inf

    def show(self, line: str, *below: str, at_once: bool = False) -> None:
        """Shows a line; on a terminal, others below it."""
        now = time.monotonic()
        if not at_once and now - self._last < self._pause:
            return
        self._last = now
        if self.live is None:
            print(line)
        else:
            lines = Text("\n".join([line, *below]), no_wrap=True, overflow="ellipsis")
            self.live.update(lines, refresh=True)


def is_watched() -> bool:
    """Tell whether somebody sees progress: on a terminal, or in a notebook that has
    what such displays need.
    """
    if current_thread() is not main_thread():
        return False
    in_notebook = console().is_jupyter and find_spec("ipywidgets") is not None
    return in_notebook or sys.stdout.isatty()


@contextmanager
def display(pause: float, transient: bool = True) -> Iterator[Display]:
    """A display; in its place it goes away at the end, unless it is not transient."""
    live = Live(console=console(), auto_refresh=False, transient=transient)
    with live if is_watched() else nullcontext() as place:
        yield Display(place, pause)


@contextmanager
def counting(doing: str) -> Iterator[Callable[[int, int], None]]:
    """Follows steps by `watch(done, total)`: how many, and the time left."""
    begun: tuple[int, float] | None = None
    with display(30.0) as shown:

        def watch(done: int, total: int) -> None:
            nonlocal begun
            now = time.perf_counter()
            # loading came before the first, so that its own time is not known
            begun = begun or (done, now)
            first, start = begun
            line = f"{doing} {done} of {total}"
            if first < done < total:
                pace = (now - start) / (done - first)
                left = pace * (total - done)
                line += f"; about {duration(left)} left"
            shown.show(line, at_once=done == total)

        yield watch


@contextmanager
def watched(
    watch: Callable[..., None] | None, line: Callable[..., str]
) -> Iterator[Callable[..., None]]:
    """Follows work by a watch; if none is given, by a line where somebody sees it.

    Args:
        watch: called with numbers that tell how far the work is.
        line: that tells the same numbers.
    """
    if watch is not None:
        yield watch
    elif is_watched():
        with display(math.inf) as shown:
            yield lambda *numbers: shown.show(line(*numbers))
    else:
        yield lambda *_: None
