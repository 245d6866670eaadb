"""Layers of a circuit on axes in inches, and the arrows and words on them."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path as Course
from matplotlib.text import Text

from headway.judge.roles import Cast
from headway.relations.paths import AttentionPath
from headway.replace import Circuit
from headway.report.figures.style import FAINT, INK, INKS, PAPER
from headway.report.labels import shortened
from headway.report.looks import NOTHING, path_looks
from headway.tasks import Task

LEFT, RIGHT, BELOW, ABOVE, EDGE = 0.66, 0.22, 0.46, 0.26, 0.05
"""Margins, in inches."""

EMPTY = 0.24
"""Inches of a layer without a useful head."""

UNDER_TIP = 0.07
"""Inches from the end of a stripe to the tip that covers it."""

ARROW = "-|>,head_length=4,head_width=2.2"
BEHIND = {"facecolor": PAPER, "edgecolor": "none", "alpha": 0.8, "pad": 0.6}
BAND = "#f1f3f5"

Point = tuple[float, float]


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
        words = f"{layer} idle" if last == layer else f"{layer}–{last} idle"
        look = {"ha": "right", "fontsize": 6.5, "color": FAINT}
        write(axes, -0.2, middle, shortened(words, 16), **look)

    def _name_layer(self, axes: Axes, layer: int, middle: float) -> None:
        """The name of a layer with useful heads, above its idle heads."""
        idle = shortened(", ".join(idle_words(self.circuit, layer)), 20)
        aside = 0.06 if idle else 0.0
        write(axes, -0.2, middle + aside, f"layer {layer}", ha="right", fontsize=7.5)
        look = {"ha": "right", "fontsize": 5.5, "color": FAINT}
        write(axes, -0.2, middle - aside, idle, **look)

    def has_several_heads(self, layer: int) -> bool:
        """True if a layer has several heads, so that they need names."""
        return sum(at == layer for at, _ in self.circuit.mechanisms) > 1


def heights_of(rows: Sequence[float]) -> list[float]:
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


def arrow(
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


def n_layers(circuit: Circuit) -> int:
    """The number of layers."""
    return 1 + max((layer for layer, _ in circuit.mechanisms), default=-1)


def idle_words(circuit: Circuit, layer: int) -> Iterator[str]:
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
