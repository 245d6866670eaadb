"""Pixels of the drawing of a circuit, and how points and words are written in it."""

from markupsafe import Markup

from headway.circuits import Path
from headway.report.layout import Grid, Point
from headway.report.page.html import tag

UNIT = 62
"""Pixels between two roles of one pair."""

BELOW, ABOVE = 78, 46
"""Pixels below and above the grid."""


class Canvas:
    """Pixels of the drawing, from places in the grid.

    Args:
        grid: of the circuit.
        left: pixels left of it.
    """

    def __init__(self, grid: Grid, left: float):
        self.grid, self.left = grid, left
        self.base = ABOVE + UNIT * grid.top

    def x(self, column: float) -> float:
        """Of a column."""
        return self.left + UNIT * column

    def y(self, row: float) -> float:
        """Of a row."""
        return self.base - UNIT * row

    def point(self, at: Point) -> Point:
        """A point of the grid."""
        return self.x(at[0]), self.y(at[1])

    def curve(self, path: Path) -> tuple[Point, Point, Point]:
        """Where an arrow starts, the point that its curve bends towards, and where it ends."""
        arrow = self.grid.arrows[path]
        start, middle, end = (self.point(arrow.point(at)) for at in (0, 0.5, 1))
        control = (2 * middle[0] - (start[0] + end[0]) / 2, 2 * middle[1] - (start[1] + end[1]) / 2)
        return start, control, end


def text(x: float, y: float, *words: object, **look: object) -> Markup:
    """Words at a place."""
    return tag("text", words, x=x, y=y, **look)


def at_point(point: Point) -> str:
    """A point as paths have it."""
    return f"{point[0]:.1f},{point[1]:.1f}"
