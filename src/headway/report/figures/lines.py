"""Circuits whose paths join no roles: a line for each path, or for each relation."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headway.judge.roles import Cast
from headway.relations.paths import AttentionPath
from headway.replace import Circuit
from headway.report.figures.layers import (
    ABOVE,
    BAND,
    EDGE,
    LEFT,
    RIGHT,
    Layers,
    arrow,
    arrow_name,
    heights_of,
    n_layers,
    write,
)
from headway.report.figures.style import COLUMN_WIDTH, INKS
from headway.report.labels import shortened, typeset
from headway.tasks import Task

LINE = 0.27
"""Inches of a path or relation that has a line of its own."""


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


def _lines(circuit: Circuit) -> list[Line]:
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


class OnLines(Layers):
    """A circuit whose paths join no roles: a line for each."""

    def __init__(self, circuit: Circuit, task: Task | Cast):
        self.lines = _lines(circuit)
        rows = list[float]()
        for layer in range(n_layers(circuit)):
            count = sum(line.layer == layer for line in self.lines)
            rows.append(LINE * count + 0.08 * (count > 0))
        super().__init__(circuit, task, heights_of(rows))
        longest = max((len(self.name(line)) for line in self.lines), default=0)
        self.across = max(COLUMN_WIDTH - LEFT - RIGHT, 0.068 * longest)

    def name(self, line: Line) -> str:
        """A line in words, with its head where the layer has several."""
        words = typeset(shortened(line.words, 60))
        if self.has_several_heads(line.layer):
            return f"H{line.head} · {words}"
        return words

    def draw(self) -> Figure:
        """The figure."""
        axes = self.axes()
        numbers: dict[int, int] = {}
        for line in self.lines:
            number = numbers.get(line.layer, 0) + 1
            numbers[line.layer] = number
            y = self.heights[line.layer + 1] - LINE * number + 0.04
            write(axes, 0.02, y + 0.085, self.name(line), ha="left", fontsize=6.5)
            if line.path is not None:
                colour = self.looks[line.path].colour
                arrow(axes, (0.0, y), (self.across, y), colour, arrow_name(line.path))
        figure = axes.figure
        assert isinstance(figure, Figure)
        return figure


class ByRelation:
    """Heads by relation, a line each, and by layer, in columns.

    A head with several relations stands in several lines; one without any, in that of
    what it does.

    Attributes:
        rows: the lines of every relation, or of what a head does.
        left: the width of their names, in inches.
        columns: the middle of every layer's column.
    """

    def __init__(self, circuit: Circuit):
        self.rows: dict[str, list[Line]] = {}
        for line in _lines(circuit):
            self.rows.setdefault(line.words, []).append(line)
        names = map(self.name, self.rows)
        self.left = 2 * EDGE + 0.062 * max(map(len, names), default=0)
        layers = circuit.useful_layers
        room = COLUMN_WIDTH - self.left - 2 * EDGE
        self.gap = max(0.24, room / max(1, len(layers)))
        self.columns = {layer: (i + 0.5) * self.gap for i, layer in enumerate(layers)}

    def name(self, words: str) -> str:
        """A relation as it is printed."""
        return typeset(shortened(words, 34))

    def draw(self) -> Figure:
        """The figure."""
        axes = self.axes()
        write(axes, -0.08, ABOVE / 2, "layer", ha="right", fontsize=7)
        for layer, x in self.columns.items():
            write(axes, x, ABOVE / 2, str(layer), fontsize=7)
        top = 0.0
        for words, lines in self.rows.items():
            self._draw_row(axes, top, self.name(words), lines)
            top -= _height(lines)
        figure = axes.figure
        assert isinstance(figure, Figure)
        return figure

    def axes(self) -> Axes:
        """Axes in inches, from the first row down and from the first column on."""
        high = sum(map(_height, self.rows.values()))
        right = self.gap * len(self.columns) + 2 * EDGE
        figure = Figure(figsize=(self.left + right, high + ABOVE))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set(xlim=(-self.left, right), ylim=(-high, ABOVE))
        return axes

    def _draw_row(
        self, axes: Axes, top: float, name: str, lines: Sequence[Line]
    ) -> None:
        """A relation, and in every layer's column its heads, one below another."""
        below = top - _height(lines)
        middle = (top + below) / 2
        axes.axhspan(below + 0.02, top - 0.02, color=BAND, lw=0)
        write(axes, -0.08, middle, name, ha="right", fontsize=7)
        for layer, x in self.columns.items():
            here = [line for line in lines if line.layer == layer]
            _write_heads(axes, x, middle, here)


def _write_heads(axes: Axes, x: float, middle: float, lines: Sequence[Line]) -> None:
    """Heads one below another."""
    for i, line in enumerate(lines):
        y = middle + 0.11 * ((len(lines) - 1) / 2 - i)
        word = write(axes, x, y, f"H{line.head}", fontsize=6.5, color=INKS[1])
        word.set_gid(line.path and arrow_name(line.path))


def _height(lines: Sequence[Line]) -> float:
    """The height of a row in inches, by the most heads that one layer has in it."""
    layers = [line.layer for line in lines]
    return 0.1 + 0.11 * max(map(layers.count, layers))
