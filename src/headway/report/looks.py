"""The meaning of colours in every drawing, the symbol carried."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from headway.judge.flows import trace
from headway.judge.roles import Cast, symbol_order
from headway.relations import AttentionPath
from headway.tasks import Task

COLOURS = ("#1d2228", "#0a60b8", "#cb4f05", "#00532e", "#b63b92", "#5b2a06", "#5440c4")
"""By number. The first, dark grey, is for symbols that are not asked for, and for a
seventh head. All tell apart in grey, too.
"""

NOTHING = -1
"""The number of the colour, light grey, of paths that bring nothing new."""

BASELINE = -2
"""The number of the colour, grey, of what paths are compared with."""

DASHES = 6
"""The number of dashes that tell apart curves of one colour."""


@dataclass(frozen=True)
class Look:
    """The look of a path.

    Attributes:
        colour: the number of its colour, that of the symbol nearest to the answer among
            those it brings.
        dashes: the number of its curve's dashes; 0 is a full line.
        carries: all symbols that it brings, nearest to the query first; empty if they
            are not known, or were there before.
    """

    colour: int
    dashes: int
    carries: tuple[str, ...]


def symbol_colours(task: Task | Cast) -> dict[str, int]:
    """The colour of every symbol, and of every hop, which is a symbol that is asked
    for.
    """
    order = symbol_order(task)
    ends = [re.fullmatch(r"[a-z]_([0-9]{1,4})", symbol) for symbol in order]
    numbers: dict[str, int] = {}
    for i, (symbol, end) in enumerate(zip(order, ends, strict=True)):
        numbers[symbol] = i if end is None or None in ends else int(end[1])
    for i, hop in enumerate(task.hops, start=0 if order else 1):
        numbers.setdefault(hop, i)
    return {symbol: _colour(number) for symbol, number in numbers.items()}


def path_looks(
    task: Task | Cast, paths: Sequence[AttentionPath]
) -> dict[AttentionPath, Look]:
    """The look of every path; by head where the task names no symbols."""
    routes = trace(task, paths)
    colours = symbol_colours(task)
    heads = sorted({path.at for path in paths})
    used: dict[int, int] = {}
    looks = {}
    for path in paths:
        carries = () if routes is None else routes.brings[path]
        if routes is None:
            colour = (1 + heads.index(path.at)) % len(COLOURS)
        else:
            colour = colours[carries[-1]] if carries else NOTHING
        number = used.get(colour, 0)
        used[colour] = number + 1
        looks[path] = Look(colour, number % DASHES, carries)
    return looks


def _colour(number: int) -> int:
    last = len(COLOURS) - 1
    return number if number <= last else 1 + (number - 1) % last
