"""A circuit as a figure for papers: no wider than a column, where that is possible.

Three forms: between the roles of one chain, as on the page; a line for each path; and,
of many paths that join no roles, a line for each relation with its heads by layer.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headway.judge import Discovery
from headway.judge.roles import Cast, joins_roles, places
from headway.relations.paths import AttentionPath
from headway.relations.roles import Place
from headway.replace import Circuit
from headway.report.figures.layers import (
    ABOVE,
    BEHIND,
    BELOW,
    LEFT,
    RIGHT,
    Layers,
    Point,
    arrow,
    arrow_name,
    heights_of,
    n_layers,
    write,
)
from headway.report.figures.lines import ByRelation, OnLines
from headway.report.figures.style import COLUMN_WIDTH, FAINT, INKS, styled
from headway.report.labels import shortened, typeset
from headway.report.looks import Look, symbol_colours
from headway.tasks import Task

WIDEST, NARROWEST = 1.0, 0.36
"""Inches between places."""

ROW = 0.62
"""Inches of a layer."""

MOST_LINES, MOST_LAYERS = 12, 8
"""Of more paths or layers, a line is that of a relation."""

STRIPE, LANE = 0.032, 0.045
"""Inches between stripes of an arrow, and between uprights of a place."""


@styled
def draw_circuit(shown: Discovery | Circuit, task: Task | Cast) -> Figure:
    """The paths of a circuit between the roles of one chain, or along other relations.

    One column per role, in the order of the sequence, the query last. Layers upwards.
    An arrow goes from the role attended to, before the layer, to the role that attends,
    after it; its group in the SVG is named `arrow-LAYER-HEAD-RELATION`. It has a stripe
    for every symbol carried; upright lines are what a place keeps. Heads are named
    where a layer has several. There is no title, which is for the caption.

    Args:
        shown: a circuit, perhaps with its evidence.
        task: the task it was found on, or its cast.
    """
    circuit = shown if isinstance(shown, Circuit) else shown.circuit
    if joins_roles(task, circuit.paths):
        return BetweenPlaces(circuit, task).draw()
    if len(circuit.paths) > MOST_LINES or n_layers(circuit) > MOST_LAYERS:
        return ByRelation(circuit).draw()
    return OnLines(circuit, task).draw()


@dataclass(frozen=True)
class Upright:
    """The symbol that a place keeps.

    Attributes:
        column: of the place.
        colour: the number of its colour.
        first: the layer before which it begins.
        last: the layer before which it ends.
        lane: its number beside others of the place.
    """

    column: int
    colour: int
    first: int
    last: int
    lane: int


class BetweenPlaces(Layers):
    """A circuit between the roles of one chain."""

    below, above = BELOW, ABOVE

    def __init__(self, circuit: Circuit, task: Task | Cast):
        rows = [ROW * (at in circuit.useful_layers) for at in range(n_layers(circuit))]
        super().__init__(circuit, task, heights_of(rows))
        self.places = places(task)
        gaps = max(1, len(self.places) - 1)
        fitting = (COLUMN_WIDTH - LEFT - RIGHT) / gaps
        self.gap = min(WIDEST, max(NARROWEST, fitting))
        self.across = gaps * self.gap
        self.columns = {place.role: i for i, place in enumerate(self.places)}
        self.colours = symbol_colours(task)

    def draw(self) -> Figure:
        """The figure."""
        axes = self.axes()
        for i, place in enumerate(self.places):
            self._draw_place(axes, i, place)
        if self._is_symbolic:
            for upright in self._uprights():
                self._draw_upright(axes, upright)
        for path in self.circuit.paths:
            self._draw_path(axes, path, self.looks[path])
        self._draw_answers(axes)
        figure = axes.figure
        assert isinstance(figure, Figure)
        return figure

    @property
    def _is_symbolic(self) -> bool:
        """True if it is known what paths carry."""
        return any(look.carries for look in self.looks.values())

    def _draw_place(self, axes: Axes, column: int, place: Place) -> None:
        """A line upwards, and below it the symbol and the role."""
        x = column * self.gap
        axes.plot([x, x], [0, self.heights[-1]], color="#dfe2e5", lw=0.6, zorder=1)
        role = typeset(shortened(place.role, 10))
        if not place.symbol:
            write(axes, x, -0.14, role, fontsize=7.5)
            return
        colour = INKS[self.colours.get(place.symbol, 0)]
        symbol = typeset(shortened(place.symbol, 10))
        write(axes, x, -0.14, symbol, fontsize=8.5, color=colour, style="italic")
        write(axes, x, -0.32, role, fontsize=6.5, color=FAINT)

    def _uprights(self) -> Iterator[Upright]:
        """The lines of what places keep, from the layer where it arrives, or the
        first, to that where it is last read.
        """
        spans: dict[tuple[int, int], list[int]] = {}
        for path, colour in self._stripes():
            key, query = self._ends(path)
            until = self._read_until(query, path.layer)
            if until > path.layer + 1:
                spans.setdefault((query, colour), []).extend((path.layer + 1, until))
            if path.layer and not self._is_brought(path, colour):
                spans.setdefault((key, colour), []).extend((0, path.layer))
        lanes: dict[int, int] = {}
        for (column, colour), span in sorted(spans.items()):
            lane = lanes.get(column, 0)
            lanes[column] = lane + 1
            yield Upright(column, colour, min(span), max(span), lane)

    def _read_until(self, column: int, layer: int) -> int:
        """The layer that last reads what a layer brings to a place; of the query
        all."""
        if column == len(self.places) - 1:
            return len(self.heights) - 1
        later = [path for path in self.circuit.paths if path.layer > layer]
        return max((x.layer for x in later if column in self._ends(x)), default=0)

    def _stripes(self) -> Iterator[tuple[AttentionPath, int]]:
        """Every path with the colour of each symbol that it carries."""
        for path in self.circuit.paths:
            for colour in self._colours(path):
                yield path, colour

    def _colours(self, path: AttentionPath) -> list[int]:
        """The colours of an arrow, side by side."""
        look = self.looks[path]
        return [self.colours[symbol] for symbol in look.carries] or [look.colour]

    def _is_brought(self, path: AttentionPath, colour: int) -> bool:
        """True if a path below brings what this path takes from its place."""
        key = self._ends(path)[0]
        return any(
            other.layer < path.layer
            and self._ends(other)[1] == key
            and colour in self._colours(other)
            for other in self.circuit.paths
        )

    def _ends(self, path: AttentionPath) -> tuple[int, int]:
        """The columns that a path reads and writes."""
        query, key = path.relation.ends or ("", "")
        return self.columns[key], self.columns[query]

    def _draw_upright(self, axes: Axes, upright: Upright) -> None:
        x = upright.column * self.gap + LANE * upright.lane
        heights = self.heights[upright.first], self.heights[upright.last]
        look = {"color": INKS[upright.colour], "lw": 1.3, "alpha": 0.5, "zorder": 2}
        axes.plot([x, x], heights, **look)

    def _draw_path(self, axes: Axes, path: AttentionPath, look: Look) -> None:
        """The arrow of a path, a stripe for every symbol, and its head and symbols."""
        start, end = self._points(path)
        colours = self._colours(path)
        for i, colour in enumerate(colours):
            aside = STRIPE * (i - (len(colours) - 1) / 2)
            is_last = i == len(colours) - 1
            gid = arrow_name(path) if is_last else None
            arrow(axes, start, end, colour, gid, aside)
        self._write_carried(axes, path, look, end)

    def _write_carried(
        self, axes: Axes, path: AttentionPath, look: Look, tip: Point
    ) -> None:
        """The symbols that a path carries, beside its tip, and its head."""
        words: list[tuple[str, dict[str, Any]]] = []
        for symbol in reversed(look.carries):
            colour = INKS[self.colours[symbol]]
            words.append((typeset(symbol), {"color": colour, "style": "italic"}))
        if self.has_several_heads(path.layer):
            words.append((f"H{path.head}", {"color": INKS[look.colour]}))
        right = tip[0] - 0.07
        number = self._alike(path).index(path.head)
        y = tip[1] - 0.11 - 0.13 * number
        for word, style in words:
            where = {"ha": "right", "fontsize": 7, "bbox": BEHIND}
            write(axes, right, y, word, **where | style)
            right -= 0.075 * len(word) + 0.02

    def _points(self, path: AttentionPath) -> tuple[Point, Point]:
        """The ends of an arrow, beside those of other heads on the same way."""
        alike = self._alike(path)
        aside = 0.1 * (alike.index(path.head) - (len(alike) - 1) / 2)
        key, query = self._ends(path)
        start = key * self.gap + aside, self.heights[path.layer]
        end = query * self.gap + aside, self.heights[path.layer + 1]
        return start, end

    def _alike(self, path: AttentionPath) -> list[int]:
        """The heads of a layer on the same way as a path."""
        return [
            other.head
            for other in self.circuit.paths
            if (other.layer, other.relation) == (path.layer, path.relation)
        ]

    def _draw_answers(self, axes: Axes) -> None:
        """The symbol that is asked for, above the query."""
        x = self.across + 0.1
        y = self.heights[-1] + 0.12
        for hop in reversed(self.task.hops):
            colour = INKS[self.colours.get(hop, 0)]
            word = typeset(shortened(hop, 12))
            look = {"ha": "right", "fontsize": 8, "color": colour, "style": "italic"}
            write(axes, x, y, word, **look)
            x -= 0.075 * len(word) + 0.04
        if len(self.task.hops) > 1:
            write(axes, x, y, "answers", ha="right", fontsize=7.5)
