"""What colour means on the page: the symbol that is carried, wherever it is shown."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from headway.circuits import Path
from headway.circuits.roles import Cast, symbol_order
from headway.circuits.routes import trace
from headway.tasks import Task

COLOURS = 7
"""Classes `c0` … `c6` of page.css; `c0`, dark grey, is for what is not asked for."""

NOTHING = "nothing"
"""The class, light grey, of paths that bring nothing new."""

DASHES = (None, "7 3", "2 3", "8 3 2 3", "12 4", "5 3 1 3 1 3")
"""Dashes that tell apart curves of one colour, and all curves in grey."""


@dataclass(frozen=True)
class Look:
    """How a path is drawn.

    Attributes:
        colour: its class, that of the symbol nearest to the answer among those it brings.
        dashes: its curve's, as `stroke-dasharray`; by default a full line.
        carries: all symbols that it brings, nearest to the query first; empty if they are not
            known, or were there before.
    """

    colour: str
    dashes: str | None
    carries: tuple[str, ...]


def symbol_colours(task: Task | Cast) -> dict[str, str]:
    """The colour class of every symbol, and of every hop, which is a symbol that is asked for."""
    order = symbol_order(task)
    asked = {hop: i for i, hop in enumerate(task.hops, start=0 if order else 1)}
    ends = [re.fullmatch(r"[a-z]_([0-9]{1,4})", symbol) for symbol in order]
    numbers = {
        symbol: i if end is None or None in ends else int(end[1])
        for i, (symbol, end) in enumerate(zip(order, ends, strict=True))
    }
    numbers |= {hop: i for hop, i in asked.items() if hop not in numbers}
    return {symbol: _colour(number) for symbol, number in numbers.items()}


def hop_sign(hop: str) -> str:
    """A hop in one or two characters: its number, or else its first letters."""
    number = re.search(r"[0-9]{1,2}$", hop)
    return number[0] if number else hop[:1]


def path_looks(task: Task | Cast, paths: Sequence[Path]) -> dict[Path, Look]:
    """The look of every path; by head where the task names no symbols."""
    routes, colours = trace(task, paths), symbol_colours(task)
    heads = {head: i for i, head in enumerate(sorted({path.at for path in paths}))}
    used: dict[str, int] = {}
    looks = {}
    for path in paths:
        carries = () if routes is None else routes.legs[path].brings
        if routes is None:
            colour = _colour(1 + heads[path.at])
        else:
            colour = colours[carries[-1]] if carries else NOTHING
        number = used.get(colour, 0)
        used[colour] = number + 1
        looks[path] = Look(colour, DASHES[number % len(DASHES)], carries)
    return looks


def _colour(number: int) -> str:
    return f"c{number if number < COLOURS else 1 + (number - 1) % (COLOURS - 1)}"
