"""A circuit as a figure for papers: no wider than a column, where that is possible.

Three forms: between the roles of one chain, as on the page; a line for each path; and,
of many paths that join no roles, a line for each relation with its heads by layer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path as Course
from matplotlib.text import Text

from headway.judge import Discovery
from headway.judge.roles import Cast, joins_roles, places
from headway.relations.paths import AttentionPath
from headway.relations.roles import Place
from headway.replace import Circuit
from headway.report.figures.style import COLUMN_WIDTH, FAINT, INK, INKS, PAPER, styled
from headway.report.labels import shortened, typeset
from headway.report.looks import NOTHING, Look, path_looks, symbol_colours
from headway.tasks import Task

LEFT, RIGHT, BELOW, ABOVE, EDGE = 0.66, 0.22, 0.46, 0.26, 0.05
"""Margins, in inches."""

WIDEST, NARROWEST = 0.72, 0.36
"""Inches between places."""

ROW, LINE, EMPTY = 0.62, 0.27, 0.24
"""Inches: of a layer between places, of a path or relation that has a line of its own,
and of a layer without a useful head."""

MOST_LINES, MOST_LAYERS = 12, 8
"""Of more paths or layers, a line is that of a relation."""

STRIPE, LANE, UNDER_TIP = 0.032, 0.045, 0.07
"""Inches between stripes of an arrow, between uprights of a place, and from the end of
a stripe to the tip that covers it."""

ARROW = "-|>,head_length=4,head_width=2.2"
BEHIND = {"facecolor": PAPER, "edgecolor": "none", "alpha": 0.8, "pad": 0.6}
BAND = "#f1f3f5"

Point = tuple[float, float]


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
    if len(circuit.paths) > MOST_LINES or _n_layers(circuit) > MOST_LAYERS:
        return ByRelation(circuit).draw()
    return OnLines(circuit, task).draw()


class Layers:
    """A circuit on axes in inches, layers upwards.

    Attributes:
        circuit: that is drawn.
        task: the task it was found on, or its cast.
        heights: of the stream before the first layer and after each.
        across: from the first column to the last.
        below: the margin below the first layer, in inches.
        above: the margin above the last.
    """

    across: float
    below, above = EDGE, EDGE

    def __init__(self, circuit: Circuit, task: Task | Cast, heights: list[float]):
        self.circuit = circuit
        self.task = task
        self.heights = heights
        self.looks = path_looks(task, circuit.paths)

    def axes(self) -> Axes:
        """Axes in inches, with a band and a name for every layer."""
        wide = LEFT + self.across + RIGHT
        high = self.heights[-1]
        figure = Figure(figsize=(wide, self.below + high + self.above))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set(xlim=(-LEFT, wide - LEFT), ylim=(-self.below, high + self.above))
        for layer in range(len(self.heights) - 1):
            self._draw_layer(axes, layer)
        return axes

    def _draw_layer(self, axes: Axes, layer: int) -> None:
        """A band behind a layer with useful heads, its name, and its idle heads; of
        idle layers in a row one name.
        """
        bottom, top = self.heights[layer : layer + 2]
        if bottom == top:
            return
        is_used = layer in self.circuit.useful_layers
        last = layer
        while self.heights[last + 1 : last + 3] == [top, top]:
            last += 1
        if is_used:
            shape = {"xmin": (LEFT - 0.14) / (LEFT + self.across + RIGHT)}
            axes.axhspan(bottom + 0.015, top - 0.015, **shape, color=BAND, lw=0)
        middle = (bottom + top) / 2
        if is_used:
            self._name_layer(axes, layer, middle)
            return
        words = f"{layer}–{last} idle"
        if last == layer:
            words = f"{layer} {', '.join(_idle_words(self.circuit, layer))}"
        look = {"ha": "right", "fontsize": 6.5, "color": FAINT}
        write(axes, -0.2, middle, shortened(words, 16), **look)

    def _name_layer(self, axes: Axes, layer: int, middle: float) -> None:
        """The name of a layer with useful heads, above its idle heads."""
        idle = shortened(", ".join(_idle_words(self.circuit, layer)), 20)
        aside = 0.06 if idle else 0.0
        write(axes, -0.2, middle + aside, f"layer {layer}", ha="right", fontsize=7.5)
        look = {"ha": "right", "fontsize": 5.5, "color": FAINT}
        write(axes, -0.2, middle - aside, idle, **look)

    def has_several_heads(self, layer: int) -> bool:
        """True if a layer has several heads, so that they need names."""
        return sum(at == layer for at, _ in self.circuit.mechanisms) > 1


@dataclass(frozen=True)
class Upright:
    """What a place keeps.

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
        rows = [ROW * (at in circuit.useful_layers) for at in range(_n_layers(circuit))]
        super().__init__(circuit, task, _heights(rows))
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
            _arrow(axes, start, end, colour, gid, aside)
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
            words.append((f"H{path.head}", {}))
        right = tip[0] - 0.07
        for word, style in words:
            where = {"ha": "right", "fontsize": 7, "bbox": BEHIND}
            write(axes, right, tip[1] - 0.11, word, **where | style)
            right -= 0.075 * len(word) + 0.02

    def _points(self, path: AttentionPath) -> tuple[Point, Point]:
        """The ends of an arrow, beside those of other heads on the same way."""
        alike = [
            other.head
            for other in self.circuit.paths
            if (other.layer, other.relation) == (path.layer, path.relation)
        ]
        aside = 0.1 * (alike.index(path.head) - (len(alike) - 1) / 2)
        key, query = self._ends(path)
        start = key * self.gap + aside, self.heights[path.layer]
        end = query * self.gap + aside, self.heights[path.layer + 1]
        return start, end

    def _draw_answers(self, axes: Axes) -> None:
        """What is asked for, above the query."""
        x = self.across + 0.1
        y = self.heights[-1] + 0.12
        for hop in reversed(self.task.hops):
            colour = INKS[self.colours.get(hop, 0)]
            word = typeset(shortened(hop, 12))
            look = {"ha": "right", "fontsize": 8, "color": colour, "style": "italic"}
            write(axes, x, y, word, **look)
            x -= 0.075 * len(word) + 0.04
        if self.task.hops:
            write(axes, x, y, "answers", ha="right", fontsize=7.5)


@dataclass(frozen=True)
class Line:
    """What a useful head does, or one of the things.

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
        for layer in range(_n_layers(circuit)):
            count = sum(line.layer == layer for line in self.lines)
            rows.append(LINE * count + 0.08 * (count > 0))
        super().__init__(circuit, task, _heights(rows))
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
                _arrow(axes, (0.0, y), (self.across, y), colour, arrow_name(line.path))
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


def _heights(rows: Sequence[float]) -> list[float]:
    """The heights of the stream before the first layer and after each.

    Args:
        rows: of every layer, its height; 0 of an idle one. Idle ones in a row share
            one.
    """
    heights = [0.0]
    for before, row in pairwise([1.0, *rows]):
        heights.append(heights[-1] + (row or EMPTY * (before > 0)))
    return heights


def arrow_name(path: AttentionPath) -> str:
    """The name of a path's group in the SVG."""
    relation = "-".join(path.relation.replace("←", " ").split())
    return f"arrow-{path.layer}-{path.head}-{relation}"


def _arrow(
    axes: Axes,
    start: Point,
    end: Point,
    colour: int,
    gid: str | None,
    aside: float = 0.0,
) -> None:
    """A curve upwards to a tip; without a name of its own, the curve alone.

    Args:
        axes: in inches.
        start: its foot.
        end: its tip.
        colour: its number.
        gid: its name in the SVG.
        aside: how far it is moved beside itself, to the right and below.
    """
    across = aside if end[0] > start[0] else -aside
    middle = (start[1] + end[1]) / 2
    points = [start, (start[0], middle), (end[0], middle), end]
    codes = [Course.MOVETO, *[Course.CURVE4] * 3]
    if start[1] == end[1]:
        points, codes = [start, end], [Course.MOVETO, Course.LINETO]
    points = [(x + across, y - aside) for x, y in points]
    if gid is None:
        points[-1] = (points[-1][0], end[1] - UNDER_TIP)
    width = 1.2 if colour == NOTHING else 1.9
    look = {"color": INKS[colour], "lw": width, "joinstyle": "miter", "zorder": 4}
    patch = FancyArrowPatch(
        path=Course(points, codes), arrowstyle=ARROW if gid else "-", **look
    )
    patch.set_gid(gid)
    axes.add_patch(patch)


def _n_layers(circuit: Circuit) -> int:
    return 1 + max((layer for layer, _ in circuit.mechanisms), default=-1)


def _idle_words(circuit: Circuit, layer: int) -> Iterator[str]:
    """The kinds of a layer's heads without a path, the idle ones counted if it has
    several.
    """
    n_heads = sum(at == layer for at, _ in circuit.mechanisms)
    for kind, heads in sorted(circuit.idle_heads.items()):
        count = sum(at == layer for at, _ in heads)
        if count:
            yield f"{count} {kind}" if n_heads > 1 else kind


def write(axes: Axes, x: float, y: float, text: str, **look: object) -> Text:
    """A text in the ink of figures."""
    look = {
        "fontsize": 8,
        "color": INK,
        "ha": "center",
        "va": "center",
        "zorder": 6,
        **look,
    }
    return axes.text(x, y, text, **look)  # pyright: ignore[reportArgumentType]
