"""The flow of information, layer by layer (figures 3 and 8 of Musat 2024, for every layer)."""

import textwrap
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Arc, Rectangle

from headway.paths import AttentionPath
from headway.report.figures.style import FAINT, INK, PALETTE, styled
from headway.report.labels import typeset
from headway.theory import Flow, Holdings, is_code
from headway.theory.flow import Found

NEW, USED, HELD, BROKEN = PALETTE[0], PALETTE[1], "#cfdbe6", "#b00020"
KEY = (
    "orange: the circuit's paths, and what is asked for   blue: new   grey: as before"
    "   dashed: by a position code alone   red, dotted: nothing in common"
)
ARCH = 0.55
"""The height of an arc between neighbours."""
MOST_ROLES = 40
"""The most positions that can still be read when drawn."""


@styled
def draw_flow(
    flow: Flow, causal: bool, paths: Sequence[AttentionPath], stages: Sequence[Holdings], title: str
) -> Figure:
    """A line per layer: to the left who can find whom in it, to the right who then holds what.

    To the left an arc joins two positions of which one can find the other by what they hold before
    the layer, dashed if they share only the code of a pair; coloured if they could not before, and
    thick where the circuit attends. To the right there is a line per role and a column per piece,
    coloured where it is new.

    Args:
        flow: the problem.
        causal: whether a position sees only itself and what stands before it.
        paths: of a circuit.
        stages: who holds what before the first layer and after each: at best (`Flow.holdings`), or
            along the circuit (`Flow.along`).
        title: printed above.
    """
    layers, size = len(stages) - 1, len(flow.roles)
    left, right = 0.42 * size + 0.4, 0.19 * len(flow.pieces) + 0.8
    tall = 0.17 * size + 0.5
    figure = Figure(figsize=(left + right + 0.6, tall * layers + 0.5), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=9.5, weight="bold")
    key = textwrap.fill(KEY, round(15 * (left + right)))
    figure.supxlabel(key, x=0.01, ha="left", fontsize=7, color="#5b626a")
    grid = figure.add_gridspec(layers, 2, width_ratios=(left, right))
    found = [
        flow.attends(flow.marked(held), layer) & flow.visible(causal)
        for layer, held in enumerate(stages)
    ]
    for layer in range(layers):
        arcs = figure.add_subplot(grid[layer, 0])
        earlier = found[layer - 1] if layer else np.zeros_like(found[0])
        walked = [flow.ends(path) for path in paths if path.layer == layer]
        _draw_arcs(arcs, flow, stages[layer], found[layer], earlier, walked)
        arcs.set_title(f"layer {layer}: who can find whom", fontsize=8, weight="normal")
        held = figure.add_subplot(grid[layer, 1])
        _draw_held(held, flow, stages[layer], stages[layer + 1])
        held.set_title(f"after layer {layer}: who holds what", fontsize=8, weight="normal")
    return figure


def _draw_arcs(
    axes: Axes,
    flow: Flow,
    held: Holdings,
    found: Found,
    earlier: Found,
    walked: Sequence[tuple[str, str]],
) -> None:
    size = len(flow.roles)
    for i, j in combinations(range(size), 2):
        first, second = flow.roles[i], flow.roles[j]
        used = [pair for pair in walked if set(pair) == {first, second}]
        can = found[i, j] or found[j, i]
        if not can and not used:
            continue
        ends = [tuple(map(flow.roles.index, pair)) for pair in used]
        broken = not all(found[query, key] for query, key in ends)
        known = earlier[i, j] or earlier[j, i]
        by_code = all(is_code(piece) for piece in held[first] & held[second])
        arc = Arc(
            ((i + j) / 2, 0),
            j - i,
            2 * ARCH * (j - i) ** 0.7,
            theta1=0,
            theta2=180,
            color=BROKEN if broken else USED if used else FAINT if known else NEW,
            ls=":" if broken else (0, (2.2, 1.6)) if by_code else "-",
            lw=2.2 if used else 0.6 if known else 1.1,
            zorder=4 if used else 2 if known else 3,
        )
        arc.set_gid(f"{'broken' if broken else 'walked' if used else 'found'}-{first}-{second}")
        axes.add_patch(arc)
    for i, role in enumerate(flow.roles):
        axes.plot(i, 0, "o", ms=3.6, color=INK, zorder=5)
        axes.annotate(
            typeset(role), (i, 0), (0, -12), textcoords="offset points", ha="center", fontsize=7
        )
    axes.set(xlim=(-0.6, size - 0.4), ylim=(-0.6, ARCH * (size - 1) ** 0.7 + 0.1))
    axes.set_axis_off()


def _draw_held(axes: Axes, flow: Flow, before: Holdings, after: Holdings) -> None:
    roles, pieces = list(reversed(flow.roles)), line_of(flow)
    for y, role in enumerate(roles):
        for x, piece in enumerate(pieces):
            if piece in after[role]:
                colour = HELD if piece in before[role] else NEW
                axes.add_patch(Rectangle((x - 0.45, y - 0.42), 0.9, 0.84, color=colour, lw=0))
    goal = pieces.index(flow.goal)
    axes.add_patch(Rectangle((goal - 0.5, -0.5), 1, 1, fill=False, ec=USED, lw=1.4, zorder=5))
    axes.set(xlim=(-0.6, len(pieces) - 0.4), ylim=(len(roles) - 0.4, -0.6))
    upright = max(map(len, pieces)) > 4
    names = [typeset(piece) for piece in pieces]
    axes.set_xticks(range(len(pieces)), names, fontsize=6, rotation=90 if upright else 0)
    axes.set_yticks(range(len(roles)), [typeset(role) for role in roles], fontsize=6)
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)


def line_of(flow: Flow) -> list[str]:
    """The pieces as they lie from the query on: its own first, then what they lead to."""
    ordered: list[str] = []
    reached = {flow.query}
    while True:
        for role in sorted(reached, key=flow.roles.index, reverse=True):
            start = flow.starts[flow.roles.index(role)]
            new = [piece for piece in start if piece not in ordered]
            ordered += sorted(new, key=lambda p: (not is_code(p) or role == flow.query, p))
        more = {r for r, s in zip(flow.roles, flow.starts, strict=True) if s & set(ordered)}
        if more == reached:
            return ordered + [piece for piece in flow.pieces if piece not in ordered]
        reached = more
