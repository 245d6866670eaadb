"""Circuits whose paths join no roles: a table of relations and heads."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headway.relations.paths import AttentionPath
from headway.replace import Circuit
from headway.report.figures.shapes import (
    arrow_name,
    canvas,
    write,
)
from headway.report.figures.style import COLUMN_WIDTH, INK
from headway.report.labels import shortened, typeset

ROW, TITLES = 0.165, 0.22
"""Inches of a row of heads, and of the row that names columns."""

HEADING = "heads by layer"

EDGE = 0.08
"""Inches between the words and the edge."""

CHARACTER = 0.053
"""Inches of a character of 8 points, in the mean."""


@dataclass(frozen=True)
class Line:
    """One relation of a useful head, or its table.

    Attributes:
        layer: of the head.
        head: its number in the layer.
        words: its relation, or else its mechanism.
        path: along that relation; None without one.
    """

    layer: int
    head: int
    words: str
    path: AttentionPath | None


def lines_of(circuit: Circuit) -> list[Line]:
    """A line for every path, and for every useful head without one."""
    lines = list[Line]()
    for layer, head in circuit.useful_heads:
        paths = [path for path in circuit.paths if path.at == (layer, head)]
        for path in paths:
            lines.append(Line(layer, head, path.relation, path))
        if not paths:
            words = str(circuit.mechanisms[layer, head])
            lines.append(Line(layer, head, words, None))
    return lines


class ByRelation:
    """A row for every relation with its heads by layer, one below another; a head of
    several relations stands in several rows, one without any in that of what it does.

    Attributes:
        relations: the lines of every relation.
        left: the width of their names, in inches.
        gap: inches between two layers.
        columns: the middle of every layer's column.
    """

    def __init__(self, lines: Sequence[Line]):
        self.relations: dict[str, list[Line]] = {}
        for line in lines:
            self.relations.setdefault(line.words, []).append(line)
        names = [HEADING, *map(_name, self.relations)]
        longest = max(map(len, names))
        self.left = 2 * EDGE + CHARACTER * longest
        layers = sorted({line.layer for line in lines})
        fitting = (COLUMN_WIDTH - self.left - EDGE) / max(1, len(layers))
        self.gap = max(0.24, fitting)
        middles = [self.left + self.gap * (i + 0.5) for i in range(len(layers))]
        self.columns = dict(zip(layers, middles, strict=True))

    def draw(self) -> Figure:
        """The figure."""
        high = ROW * sum(map(_rows, self.relations.values()))
        wide = self.left + self.gap * max(1, len(self.columns)) + EDGE
        figure, axes = canvas(0, wide, high + EDGE, TITLES + EDGE)
        for y in (TITLES, 0.0, -high):
            axes.plot([EDGE / 2, wide - EDGE / 2], [y, y], color=INK, lw=0.7)
        write(axes, (EDGE, TITLES / 2), HEADING, side="left")
        for layer, x in self.columns.items():
            write(axes, (x, TITLES / 2), str(layer))
        middle = -ROW / 2
        for name, lines in self.relations.items():
            write(axes, (EDGE, middle), _name(name), side="left")
            self._write_heads(axes, middle, lines)
            middle -= ROW * _rows(lines)
        return figure

    def _write_heads(self, axes: Axes, top: float, lines: Sequence[Line]) -> None:
        """The heads of a relation, those of a layer one below another."""
        below = Counter[int]()
        for line in lines:
            at = self.columns[line.layer], top - ROW * below[line.layer]
            word = write(axes, at, f"H{line.head}")
            word.set_gid(line.path and arrow_name(line.path))
            below[line.layer] += 1


def _name(relation: str) -> str:
    """A relation as it is printed."""
    return typeset(shortened(relation, 60))


def _rows(lines: Sequence[Line]) -> int:
    """The most heads of a relation that one layer has."""
    layers = [line.layer for line in lines]
    return max(map(layers.count, layers))
