"""The flow of information, layer by layer (figures 3 and 8 of Musat 2024, for every
layer).
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from headway.relations import AttentionPath
from headway.report.figures.style import PALETTE, styled, typeset
from headway.theory import Flow, Holdings

NOT, BEFORE, NEW = range(3)
SHADES = ListedColormap(["white", "#cfdbe6", PALETTE[0]])
KEY = "blue: new   pale: as before   orange: the circuit's paths, and what is asked for"


@styled
def draw_flow(
    flow: Flow,
    causal: bool,
    paths: Sequence[AttentionPath],
    stages: Sequence[Holdings],
    title: str,
) -> Figure:
    """Two maps a layer: to the left who can find whom in it, to the right who then
    holds what.

    Args:
        flow: the problem.
        causal: whether a position sees only itself and what stands before it.
        paths: of a circuit.
        stages: who holds what before the first layer and after each: at best
            (`Flow.holdings`), or along the circuit (`Flow.along`).
        title: printed above.
    """
    layers = len(stages) - 1
    roles = list(flow.roles)
    pieces = list(flow.pieces)
    wide = 0.19 * (len(roles) + len(pieces)) + 1.6
    high = 0.19 * len(roles) + 0.7
    figure = Figure(figsize=(wide, high * layers + 0.6), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=9.5, weight="bold")
    figure.supxlabel(KEY, x=0.01, ha="left", fontsize=7)
    ratios = {"width_ratios": (len(roles), len(pieces))}
    grid = figure.subplots(layers, 2, squeeze=False, gridspec_kw=ratios)
    could = np.zeros((len(roles), len(roles)), bool)
    for layer, (finds, holds) in enumerate(grid):
        before = stages[layer]
        after = stages[layer + 1]
        can = flow.attends(flow.marked(before), layer) & flow.visible(causal)
        walked = [flow.ends(path) for path in paths if path.layer == layer]
        _draw_finding(finds, flow, can, could, walked)
        finds.set_title(
            f"layer {layer}: who can find whom", fontsize=8, weight="normal"
        )
        _draw_holding(holds, flow, before, after)
        holds.set_title(
            f"after layer {layer}: who holds what", fontsize=8, weight="normal"
        )
        could = can
    return figure


def _draw_finding(
    axes: Axes,
    flow: Flow,
    can: np.ndarray,
    could: np.ndarray,
    walked: Sequence[tuple[str, str]],
) -> None:
    """The positions that can find one another, those that could before, and rings where
    a path leads."""
    roles = list(flow.roles)
    shades = np.where(could, BEFORE, NEW)
    _draw_map(axes, np.where(can, shades, NOT), roles, roles)
    rings = [(roles.index(key), roles.index(query)) for query, key in walked]
    _ring(axes, rings)


def _draw_holding(axes: Axes, flow: Flow, before: Holdings, after: Holdings) -> None:
    """The symbols that positions hold, those they held before, and a ring around the
    goal."""
    roles = list(flow.roles)
    pieces = list(flow.pieces)
    cells = np.full((len(roles), len(pieces)), NOT)
    for row, role in enumerate(roles):
        for column, piece in enumerate(pieces):
            if piece in after[role]:
                cells[row, column] = BEFORE if piece in before[role] else NEW
    _draw_map(axes, cells, roles, pieces)
    goal = pieces.index(flow.goal), roles.index(flow.query)
    _ring(axes, [goal])


def _draw_map(
    axes: Axes, cells: np.ndarray, down: Sequence[str], across: Sequence[str]
) -> None:
    axes.imshow(
        cells, cmap=SHADES, vmin=NOT, vmax=NEW, aspect="auto", interpolation="none"
    )
    columns = [typeset(name) for name in across]
    rows = [typeset(name) for name in down]
    axes.set_xticks(range(len(columns)), columns, fontsize=6, rotation=90)
    axes.set_yticks(range(len(rows)), rows, fontsize=6)
    axes.tick_params(length=0)


def _ring(axes: Axes, places: Sequence[tuple[int, int]]) -> None:
    for x, y in places:
        axes.plot(x, y, "s", ms=9, mfc="none", mec=PALETTE[1], mew=1.8)
