"""What the program prints: no text commands the terminal, and a full disk ends no work."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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
        self.stream, self.lost = stream, None
        self._drawing = drawing

    def write(self, text: str) -> int:
        """Writes a text, unless the stream takes nothing any more."""
        self._tried(self.stream.write, text if self._drawing else plain(text))
        return len(text)

    def flush(self) -> None:
        """Hands over what was written."""
        self._tried(self.stream.flush)

    def for_drawing(self) -> "Screen":
        """The same stream, for displays that are drawn."""
        return Screen(self.stream, drawing=True)

    def _tried(self, action: Any, *given: str) -> None:
        if self.lost is not None:
            return
        try:
            action(*given)
        except BrokenPipeError:  # who reads has seen enough
            raise
        except OSError as error:
            self.lost = error

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


@contextmanager
def guarded() -> Iterator[Screen]:
    """Puts screens in the place of both standard streams; letters that they lack are escaped."""
    before = sys.stdout, sys.stderr
    for stream in before:
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")
    screen = Screen(before[0])
    sys.stdout, sys.stderr = screen, Screen(before[1])  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield screen
    finally:
        sys.stdout, sys.stderr = before


def give_up_stdout() -> None:
    """Lets go of what standard output did not take, so that the interpreter does not try again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
