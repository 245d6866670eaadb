"""The terminal as rich draws on it, with no text that commands it."""

import sys
from collections.abc import Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from headway.screen import Screen, plain
from headway.text import width


def console() -> Console:
    """The terminal, at most 120 columns wide."""
    out: Any = sys.stdout
    if isinstance(out, Screen):
        out = Screen(out.stream, out.losses, drawing=True)
    return PlainConsole(
        file=out, width=width(), highlight=False, markup=False, emoji=False
    )


class PlainConsole(Console):
    """A terminal in which no text moves the cursor; displays do.

    Who has seen enough ends the program as with any other text, not as rich would.
    """

    def on_broken_pipe(self) -> None:
        """Passes on that nobody reads any more."""
        raise BrokenPipeError

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """The pieces that are shown."""
        for segment in super().render(renderable, options):
            yield (
                segment
                if segment.control
                else Segment(plain(segment.text), segment.style)
            )
