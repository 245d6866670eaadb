"""Standard streams: no text commands the terminal, and a full disk ends no work."""

import os
import re
from typing import Any, TextIO

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that may move the cursor or turn text, but for ends and tabs."""


def plain(text: str) -> str:
    """A text with escapes in the place of what would command a terminal."""
    return CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


class Screen:
    """A standard stream. Control characters in names and messages are shown as escapes.

    When the stream takes nothing more, work goes on, and `losses` tell why.

    Args:
        stream: to write to.
        losses: of all that write to it.
        drawing: whether the cursor may be moved.
    """

    def __init__(self, stream: TextIO, losses: list[OSError], drawing: bool = False):
        self.stream = stream
        self.losses = losses
        self._drawing = drawing

    def write(self, text: str) -> int:
        """Writes a text, unless the stream takes nothing any more."""
        self._tried(self.stream.write, text if self._drawing else plain(text))
        return len(text)

    def flush(self) -> None:
        """Hands over what was written."""
        self._tried(self.stream.flush)

    def _tried(self, action: Any, *given: str) -> None:
        if self.losses:
            return
        try:
            action(*given)
        except BrokenPipeError:  # who reads has seen enough
            raise
        except OSError as error:
            self.losses.append(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def screen_on(stream: TextIO | None) -> Any:
    """A screen on a standard stream, which shows every line at once; letters that it
    lacks are escaped.

    What is written to a stream that was closed before the program began goes nowhere.
    """
    stream = stream or open(os.devnull, "w")  # noqa: SIM115 (displays may write at the end)
    if reconfigure := getattr(stream, "reconfigure", None):
        reconfigure(errors="backslashreplace", line_buffering=True)
    return Screen(stream, [])
