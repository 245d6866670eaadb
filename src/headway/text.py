"""Plain text for people: columns, curves, times, lines that fit the terminal."""

import shlex
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise

BLOCKS = " ▁▂▃▄▅▆▇█"


def width() -> int:
    """Columns to write in: those of the terminal, at most 120 and at least 24."""
    return max(24, min(120, shutil.get_terminal_size().columns))


UNBROKEN = "\xa0"
"""A space at which no line is broken."""


def wrapped(
    text: str, first: str = "", rest: str = "  ", whole: Iterable[str] = ()
) -> list[str]:
    """A sentence as lines, none wider than the terminal.

    Args:
        text: the sentence.
        first: in front of the first line.
        rest: in front of all others.
        whole: names in it that are not broken, if a line has room for them.
    """
    room = width() - len(rest)
    for name in sorted(whole, key=len, reverse=True):
        if len(name) < room:
            text = text.replace(name, name.replace(" ", UNBROKEN))
    lines = textwrap.wrap(
        text,
        width(),
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
    )
    return [line.replace(UNBROKEN, " ") for line in lines]


def command(*words: object) -> str:
    """A command as it can be pasted: headway train --resume 'my run'."""
    return shlex.join(["headway", *map(str, words)])


def rounded(value: float) -> str:
    """A number to three digits, with zeros at the end: 0.180, 3.20, 12.0."""
    return f"{value:#.3g}".rstrip(".")


def counted(number: int, thing: str) -> str:
    """A number of things, the thing in its plural if need be."""
    return f"{number} {thing}" + ("" if number == 1 else "s")


def enumerated(things: Iterable[object], word: str = "and") -> str:
    """At least one thing, as an enumeration."""
    *first, last = map(str, things)
    return f"{', '.join(first)} {word} {last}" if first else last


def aligned(rows: Sequence[Sequence[str]], sides: str, indent: int = 0) -> list[str]:
    """Rows of cells as lines of columns, narrower where the terminal is.

    Args:
        rows: all of as many cells.
        sides: `<` or `>` for every column.
        indent: columns that are taken before each line.
    """
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    free = width() - indent - sum(widths)
    n_gaps = len(widths) - 1
    gap = " " if n_gaps <= free < 2 * n_gaps else "  "
    line = gap.join(f"{{:{side}{w}}}" for side, w in zip(sides, widths, strict=True))
    return [line.format(*row).rstrip() for row in rows]


def sparkline(values: Sequence[float], columns: int, top: float = 1.0) -> str:
    """A curve from 0 to `top` as characters, each the mean of its values."""
    if not values:
        return ""
    columns = min(columns, len(values))
    edges = [round(i * len(values) / columns) for i in range(columns + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    return "".join(BLOCKS[min(8, max(0, round(8 * mean / top)))] for mean in means)


def ranges(numbers: Iterable[int]) -> list[str]:
    """Whole numbers in short: 1–4, 7."""
    by_offset = groupby(enumerate(sorted(numbers)), lambda pair: pair[1] - pair[0])
    parts = list[str]()
    for _, group in by_offset:
        first, *more = (number for _, number in group)
        parts.append(f"{first}–{more[-1]}" if more else str(first))
    return parts


def duration(seconds: float) -> str:
    """Seconds as people say them: `48 s`, `3 min 05 s`, `2 h 07 min`."""
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02d} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02d} min"


def at_step(step: float | None) -> str:
    """A step, if there was one."""
    return "never" if step is None else f"{step:.0f}"
