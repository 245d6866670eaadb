"""The branches of a circuit, in its drawing."""

from itertools import cycle
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch

from headway.circuits import Path
from headway.circuits.routes import Join
from headway.report.figures.style import INK, PAPER
from headway.report.labels import typeset
from headway.report.layout import GROUPS, Arrow, Grid, Point, arrow_name

BANDS = ("#f0c93a", "#b08fe0", "#8fd0b8", "#e8a5a5")
"""Colours of the branches; light, so that no arrow is mistaken for one."""


def draw_branches(axes: Axes, grid: Grid, join: Join) -> None:
    """A band under every path of one branch, and the names of the branches at their join."""
    key = join.path.relation.key
    group = next(place.group for place in grid.places if place.role == key)
    name = GROUPS.get(sum(place.group == group for place in grid.places), "row")
    bands = [
        (typeset(symbol), colour, paths)
        for (symbol, paths), colour in zip(join.branches.items(), cycle(BANDS), strict=False)
    ]
    for label, colour, paths in [*bands, (name, "#c3c8ce", join.key_side)]:
        for path in paths:
            arrow = grid.arrows[path]
            look = {"color": colour, "alpha": 0.6, "lw": 11, "shrinkA": 0, "shrinkB": 0}
            draw_bent(axes, arrow, f"branch-{arrow_name(path)}", arrowstyle="-", zorder=2, **look)
            _label_branch(axes, path, arrow.point(0.27), label, colour)
    names = " + ".join(map(typeset, join.branches))
    middle = grid.arrows[join.path].point(0.72)
    _label_branch(axes, join.path, middle, names, PAPER, edge=INK)
    x, y = grid.arrows[join.path].end
    axes.plot(x, y, "o", ms=11, mfc="none", mec=INK, mew=1.4, zorder=5, gid="branch-join")


def draw_bent(axes: Axes, arrow: Arrow, name: str, **look: Any) -> None:
    """A line from an arrow's start to its end, bent as it is, in a group of this name."""
    bend = f"arc3,rad={arrow.bend:g}"
    line = FancyArrowPatch(arrow.start, arrow.end, connectionstyle=bend, **look)
    line.set_gid(name)
    axes.add_patch(line)


def _label_branch(
    axes: Axes, path: Path, at: Point, text: str, colour: str, edge: str = "none"
) -> None:
    """The name of a branch on an arrow."""
    label = axes.text(
        *at,
        text,
        ha="center",
        va="center",
        fontsize=7.5,
        weight="bold",
        color=INK,
        bbox={"boxstyle": "round,pad=0.25", "facecolor": colour, "edgecolor": edge, "lw": 0.9},
        zorder=7,
    )
    label.set_gid("branch-label-" + arrow_name(path))
