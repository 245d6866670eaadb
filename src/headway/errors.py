"""The one error a user can cause, the checks that raise it, and notes."""

import sys
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from typing import Any


class HeadwayError(Exception):
    """Something the user asked for cannot be done; the message is one clear line.

    The command line prints the message without a traceback and exits with code 2.
    """


def require(holds: bool, field: str, value: Any, allowed: str) -> None:
    """Raises a `HeadwayError` that names the field, its value and what is allowed.

    Args:
        holds: whether the value is acceptable.
        field: dotted name of the field, e.g. `task.depth`.
        value: the offending value.
        allowed: what would be accepted, e.g. "a whole number of at least 1".

    Raises:
        HeadwayError: if `holds` is false.
    """
    if not holds:
        raise HeadwayError(
            f"{field} = {shown(value)} is not allowed: it must be {allowed}"
        )


def shown(value: Any, most: int = 120) -> str:
    """A value as an error names it, on one line; of a long one the beginning."""
    try:
        text = " ".join(line.strip() for line in repr(value).splitlines())
    except (ValueError, RecursionError):  # a number of too many digits, or too deep
        return f"a {type(value).__name__} too long to show"
    return text if len(text) <= most else f"{text[: most - 1]}…"


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name nearest to one: ` (did you mean train?)`, or nothing."""
    near = get_close_matches(name, [*known], n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def note(line: str) -> None:
    """Says on standard error what is done otherwise than asked."""
    print(f"headway: {line}", file=sys.stderr)


note_once = cache(note)
"""A note for which many things may call, said once in a process."""
