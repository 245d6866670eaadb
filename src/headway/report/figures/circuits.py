"""A circuit as a figure for papers: no wider than a column, where that is possible.

Two forms: between the roles of one chain, as on the page; and a table of relations with
their heads by layer.
"""

from collections import Counter
from collections.abc import Mapping
from itertools import accumulate

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from headway.judge import Discovery
from headway.judge.roles import Cast, places
from headway.relations.roles import Place
from headway.replace import Circuit
from headway.report.figures.shapes import (
    arrow,
    arrow_name,
    canvas,
    write,
    write_row,
)
from headway.report.figures.style import COLUMN_WIDTH, INKS, styled
from headway.report.figures.tables import CHARACTER, ByRelation, lines_of
from headway.report.figures.ways import (
    Upright,
    Way,
    ends_of,
    lanes_of,
    uprights_of,
    ways_of,
)
from headway.report.labels import shortened, typeset
from headway.report.looks import BASELINE, symbol_colours
from headway.tasks import Task

LEFT, RIGHT, BELOW, ABOVE = 0.72, 0.3, 0.27, 0.26
"""Margins, in inches."""

BESIDE = 0.24
"""Inches of a band beside the outer places."""

SYMBOLS, HEADS_BESIDE = 0.16, 0.42
"""Inches that symbols take below, and heads that join no roles at the left."""

WIDEST, NARROWEST = 1.0, 0.36
"""Inches between places."""

ROW, GAP = 0.62, 0.04
"""Inches of a layer, and of it those between its band and the next."""

LANE = 0.055
"""Inches between lines of a place."""

BAND, PLACE = "#f3f4f6", "#dfe2e5"
"""The colours of a layer and of a place."""

MOST_LETTERS = 10
"""Of the name of a role, symbol or hop."""

MOST_BESIDE = 2
"""Heads of a layer that may be named beside the drawing."""


@styled
def draw_circuit(shown: Discovery | Circuit, task: Task | Cast) -> Figure:
    """The paths of a circuit between the roles of one chain, or else a table.

    One column per role, in the order of the sequence, the query last. Layers with
    useful heads, upwards. An arrow goes from the role attended to, before the layer, to
    the role that attends, after it; heads of a layer that do the same share one, which
    in the SVG is named `arrow-LAYER-HEAD-RELATION` after the first of them. It has a
    stripe for every symbol carried; upright lines are what a place keeps. Heads are
    named where a layer has several; one or two that join no roles stand below the name
    of their layer. There is no title, which is for the caption.

    Args:
        shown: a circuit, perhaps with its evidence.
        task: the task it was found on, or its cast.
    """
    circuit = shown if isinstance(shown, Circuit) else shown.circuit
    drawing = BetweenPlaces(circuit, task)
    if drawing.is_possible:
        return drawing.draw()
    return ByRelation(lines_of(circuit)).draw()


class BetweenPlaces:
    """A circuit between the roles of one chain.

    Attributes:
        hops: what is asked for.
        places: of the roles.
        layers: that have useful heads.
        n_heads: of every layer; where there are several, they need names.
        colours: the number of every symbol's colour, if it is known what is carried.
        ways: the arrows.
        uprights: what places keep.
        lanes: how far lines stand beside the middle of their column.
        beside: heads that join no roles, in words, by layer.
        left: the margin with the names of layers, in inches.
        gap: inches between two places.
        letters: of the name of a place, at most.
        heights: of the stream before the first layer and after each, in inches.
    """

    def __init__(self, circuit: Circuit, task: Task | Cast):
        self.hops = task.hops
        self.places = places(task)
        self.layers = circuit.useful_layers
        self.n_heads = Counter(head[0] for head in circuit.mechanisms)
        columns = {place.role: i for i, place in enumerate(self.places)}
        colours = symbol_colours(task)
        self.ways = ways_of(task, circuit.paths, columns, colours)
        self.colours = {"": 0}
        if any(way.stripes.keys() - {""} for way in self.ways):
            self.colours |= colours
        layers = range(1 + max(self.n_heads, default=-1))
        self.uprights = uprights_of(self.ways, len(self.places) - 1, len(layers))
        self.lanes = lanes_of(self.ways, [*self.colours])
        self.beside = _beside(circuit, columns)
        rows = [ROW * (layer in self.layers) for layer in layers]
        self.heights = [*accumulate(rows, initial=0.0)]
        self.left = LEFT + HEADS_BESIDE * any(self.beside.values())
        gaps = max(1, len(self.places) - 1)
        fitting = (COLUMN_WIDTH - self.left - RIGHT) / gaps
        self.gap = min(WIDEST, max(NARROWEST, fitting))
        self.letters = min(MOST_LETTERS, int(self.gap / CHARACTER))

    @property
    def is_possible(self) -> bool:
        """True if there are places, and few heads join none."""
        most = max(map(len, self.beside.values()), default=0)
        joins = self.ways or not self.layers
        return bool(self.places and joins and most <= MOST_BESIDE)

    def draw(self) -> Figure:
        """The figure."""
        across = self.gap * (len(self.places) - 1)
        below = BELOW + SYMBOLS * any(place.symbol for place in self.places)
        figure, axes = canvas(
            self.left, across + RIGHT, below, self.heights[-1] + ABOVE
        )
        for layer in self.layers:
            self._draw_layer(axes, layer, across)
        for column, place in enumerate(self.places):
            self._draw_place(axes, column, place)
        for upright in self.uprights:
            self._draw_upright(axes, upright)
        for way in self.ways:
            self._draw_way(axes, way)
            self._write_words(axes, way)
        self._write_answers(axes, across)
        return figure

    def _draw_layer(self, axes: Axes, layer: int, across: float) -> None:
        """A band, the layer's name, and its heads that join no roles."""
        bottom, top = self.heights[layer : layer + 2]
        corner = -BESIDE, bottom + GAP / 2
        wide = across + 2 * BESIDE
        band = Rectangle(corner, wide, ROW - GAP, color=BAND, lw=0, zorder=0)
        axes.add_patch(band)
        beside = self.beside[layer]
        y = (bottom + top) / 2 + 0.06 * len(beside)
        write(axes, (-RIGHT - 0.02, y), f"layer {layer}", side="right")
        for words in beside:
            y -= 0.12
            write(axes, (-RIGHT - 0.02, y), words, 6.5, INKS[BASELINE], "right")

    def _draw_place(self, axes: Axes, column: int, place: Place) -> None:
        """A line upwards, and below it the symbol and the role."""
        x = column * self.gap
        axes.plot([x, x], [0, self.heights[-1]], color=PLACE, lw=0.6, zorder=1)
        role = typeset(shortened(place.role, self.letters))
        if not place.symbol:
            write(axes, (x, -0.14), role)
            return
        symbol = typeset(shortened(place.symbol, self.letters))
        colour = INKS[self.colours.get(place.symbol, 0)]
        write(axes, (x, -0.12), symbol, 9, colour)
        write(axes, (x, -0.3), role, 7, INKS[BASELINE])

    def _draw_upright(self, axes: Axes, upright: Upright) -> None:
        """Draws a symbol that a place keeps, as a line."""
        x = self._across(upright.column, upright.symbol)
        heights = self._tip(upright.first), self._tip(upright.last)
        colour = INKS[self.colours[upright.symbol]]
        look = {"color": colour, "lw": 1.2, "alpha": 0.45, "zorder": 2}
        axes.plot([x, x], heights, solid_capstyle="butt", **look)

    def _draw_way(self, axes: Axes, way: Way) -> None:
        """An arrow, a stripe for every symbol."""
        low, high = self._tip(way.layer), self._tip(way.layer + 1)
        gid = arrow_name(way.paths[0])
        for symbol, colour in way.stripes.items():
            start = self._across(way.key, symbol), low
            end = self._across(way.query, symbol), high
            aside = LANE * self.lanes[way.query, symbol]
            patch = arrow(axes, start, end, colour, aside)
            patch.set_gid(gid)
            gid = None  # of the first stripe alone

    def _write_words(self, axes: Axes, way: Way) -> None:
        """The heads of an arrow and its symbols: above its middle, or below if it leads
        to the left.
        """
        words = list[tuple[str, int]]()
        if self.n_heads[way.layer] > 1:
            names = ", ".join(f"H{path.head}" for path in way.paths)
            words.append((shortened(names, 20), 0))
        for symbol, colour in way.stripes.items():
            words.append((typeset(symbol), colour))
        across = self.gap * (way.query - way.key)
        # A little beyond the middle, where an arrow is not steep.
        x = self.gap * way.key + across / 2 + 0.12 * abs(across) - 0.03
        y = (self._tip(way.layer) + self._tip(way.layer + 1)) / 2
        is_below = across < 0
        y += -0.11 if is_below else 0.06
        write_row(axes, (x, y), words, 7.5, is_below=is_below)

    def _across(self, column: int, symbol: str) -> float:
        """Inches from the first place to a line of a place."""
        return self.gap * column + LANE * self.lanes[column, symbol]

    def _tip(self, layer: int) -> float:
        """Inches up to where arrows of the layer below one end and its own begin."""
        height = self.heights[layer]
        return height - GAP / 2 if height else 0.0

    def _write_answers(self, axes: Axes, across: float) -> None:
        """Writes the hops that are asked for above the query, in their colours."""
        words = list[tuple[str, int]]()
        for hop in self.hops:
            name = typeset(shortened(hop, MOST_LETTERS))
            words.append((name, self.colours.get(hop, 0)))
        y = self.heights[-1] + 0.05
        if len(words) == 1:
            write_row(axes, (across, y), words, 8, align=0.5)
            return
        words.insert(0, ("answers", 0))
        write_row(axes, (across + 0.15, y), words, 8)


def _beside(circuit: Circuit, columns: Mapping[str, int]) -> dict[int, list[str]]:
    """The heads that join no roles, in words, by layer."""
    beside: dict[int, list[str]] = {layer: [] for layer in circuit.useful_layers}
    for line in lines_of(circuit):
        if ends_of(line.path, columns) is None:
            words = typeset(shortened(line.words, 14))
            beside[line.layer].append(f"H{line.head}: {words}")
    return beside
