"""Axes in inches, and the arrows and words on them."""

from collections.abc import Sequence
from typing import Literal

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.offsetbox import AnnotationBbox, HPacker, TextArea
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path
from matplotlib.text import Text

from headway.relations.paths import AttentionPath
from headway.report.figures.style import INK, INKS, printed

TIP = 4.4 / 72
"""Inches of the tip of an arrow."""

ARROW = f"-|>,head_length={72 * TIP},head_width=1.5"

Point = tuple[float, float]


def canvas(
    left: float, right: float, below: float, above: float
) -> tuple[Figure, Axes]:
    """A figure, and axes in inches all over it, from a point that is (0, 0).

    Args:
        left: inches from the point to the left edge.
        right: to the right edge.
        below: to the lower edge.
        above: to the upper edge.
    """
    figure = Figure(figsize=(left + right, below + above))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(xlim=(-left, right), ylim=(-below, above))
    return figure, axes


def arrow_name(path: AttentionPath) -> str:
    """The name of a path in the SVG."""
    relation = "-".join(path.relation.replace("←", " ").split())
    return f"arrow-{path.layer}-{path.head}-{relation}"


def arrow(
    axes: Axes, start: Point, end: Point, colour: int, aside: float = 0.0
) -> FancyArrowPatch:
    """A curve upwards that leaves and arrives upright.

    Args:
        axes: in inches.
        start: its foot.
        end: its tip.
        colour: its number.
        aside: inches by which it stands to the right of others from place to place, so
            that it goes as far below, or above if it leads to the left.
    """
    neck = (end[0], end[1] - 1.4 * TIP)
    below = aside if end[0] > start[0] else -aside
    middle = (start[1] + neck[1]) / 2 - below
    points = [start, (start[0], middle), (end[0], middle), neck, end]
    patch = FancyArrowPatch(
        path=Path(points, [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO]),
        arrowstyle=ARROW,
        color=INKS[colour],
        lw=1.4,
        capstyle="butt",
        joinstyle="miter",
        zorder=4,
    )
    axes.add_patch(patch)
    return patch


def write(
    axes: Axes,
    at: Point,
    text: str,
    size: float = 8,
    colour: str = INK,
    side: Literal["left", "center", "right"] = "center",
) -> Text:
    """A text by its middle, or by its left or right end."""
    words = printed(text)
    look = {"fontsize": size, "color": colour, "zorder": 6}
    return axes.text(*at, words, ha=side, va="center", **look)


def write_row(
    axes: Axes,
    at: Point,
    words: Sequence[tuple[str, int]],
    size: float,
    align: float = 1.0,
    is_below: bool = False,
) -> None:
    """Words in a row above or below a point, each in its colour.

    Args:
        axes: in inches.
        at: the point.
        words: each with the number of its colour.
        size: of the type, in points.
        align: 0 if the row begins at the point, 1 if it ends there.
        is_below: whether the row stands below the point.
    """
    areas = list[Artist]()
    for word, colour in words:
        look = {"color": INKS[colour], "fontsize": size}
        areas.append(TextArea(printed(word), textprops=look))
    row = HPacker(children=areas, pad=0, sep=size / 3, align="baseline")
    box = AnnotationBbox(
        row, at, box_alignment=(align, float(is_below)), frameon=False, pad=0
    )
    box.set_zorder(6)
    axes.add_artist(box)
