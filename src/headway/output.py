"""What the program prints: no text commands the terminal, and a full disk ends no work."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TextIO

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What may move the cursor or turn text round, all but the ends of lines and tabs."""


def plain(text: str) -> str:
    """A text with escapes in the place of what would command a terminal."""
    return CONTROL.sub(_shown, text)


class Screen:
    """A standard stream. Control characters in names and messages are shown as escapes.

    When the stream takes nothing more, work goes on, and `lost` tells why.

    Args:
        stream: to write to.
        drawing: whether the cursor may be moved.
    """

    def __init__(self, stream: TextIO, drawing: bool = False):
        self.stream, self._drawing, self._losses = stream, drawing, list[OSError]()

    @property
    def lost(self) -> OSError | None:
        """Why the stream takes nothing more; None if it does."""
        return self._losses[0] if self._losses else None

    def write(self, text: str) -> int:
        """Writes a text, unless the stream takes nothing any more."""
        self._tried(self.stream.write, text if self._drawing else plain(text))
        return len(text)

    def flush(self) -> None:
        """Hands over what was written."""
        self._tried(self.stream.flush)

    def for_drawing(self) -> "Screen":
        """The same stream, for displays that are drawn; what one loses, both have lost."""
        screen = Screen(self.stream, drawing=True)
        screen._losses = self._losses
        return screen

    def _tried(self, action: Any, *given: str) -> None:
        if self.lost is not None:
            return
        try:
            action(*given)
        except BrokenPipeError:  # who reads has seen enough
            raise
        except OSError as error:
            self._losses.append(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


@cache
def _nowhere() -> TextIO:
    """Never closed: who keeps a screen may write to it until the process ends."""
    return open(os.devnull, "w")


@contextmanager
def guarded() -> Iterator[Screen]:
    """Puts screens in the place of both standard streams; letters that they lack are escaped.

    What is written to a stream that was closed before the program began goes nowhere.
    """
    before = sys.stdout, sys.stderr
    streams = [stream or _nowhere() for stream in before]
    for stream in streams:
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")
    screen, errors = map(Screen, streams)
    sys.stdout, sys.stderr = screen, errors  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield screen
    finally:
        sys.stdout, sys.stderr = before


def give_up_stdout() -> None:
    """Lets go of what standard output did not take, so that the interpreter does not try again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
