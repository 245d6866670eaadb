"""The flow of information, layer by layer (figures 3 and 8 of Musat 2024, for every layer)."""

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Arc, Rectangle

from headway.report.style import FAINT, INK, PALETTE, styled, typeset
from headway.theory import Flow, Holdings, Path, is_code

NEW, USED, HELD = PALETTE[0], PALETTE[1], "#cfdbe6"
KEY = (
    "orange: the circuit's paths, and what is asked for   blue: new   grey: as before"
    "   dashed: by a position code alone"
)
ARCH = 0.55
"""The height of an arc between neighbours."""
DEEPEST = 16
"""The greatest depth of a chain that can still be read when drawn."""


@styled
def draw_flow(flow: Flow, causal: bool, paths: Sequence[Path], title: str) -> Figure:
    """A line a layer: to the left who shares something before it, to the right who then holds what.

    To the left an arc joins two positions that share something before the layer, dashed if that is
    but the code of a pair; coloured if they did not before, and thick where a circuit attends. To
    the right a line a role and a column a piece, coloured where it is new.

    Args:
        flow: the problem.
        causal: whether a position sees only itself and what stands before it.
        paths: of a circuit that answers, as `witness` finds it.
        title: printed above.
    """
    layers = max(layer for layer, _, _ in paths) + 1
    stages = flow.holdings(layers, causal)
    size = len(flow.roles)
    left, right = 0.42 * size + 0.4, 0.19 * len(flow.pieces) + 0.8
    tall = 0.17 * size + 0.5
    figure = Figure(figsize=(left + right + 0.6, tall * layers + 0.5), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=9.5, weight="bold")
    figure.supxlabel(KEY, x=0.01, ha="left", fontsize=7, color="#5b626a")
    grid = figure.add_gridspec(layers, 2, width_ratios=(left, right))
    for layer in range(layers):
        before, after = stages[layer], stages[layer + 1]
        arcs = figure.add_subplot(grid[layer, 0])
        earlier = stages[layer - 1] if layer else None
        _draw_arcs(arcs, flow, before, earlier, [p for p in paths if p[0] == layer])
        arcs.set_title(f"before layer {layer}: who shares a piece", fontsize=8, weight="normal")
        held = figure.add_subplot(grid[layer, 1])
        _draw_held(held, flow, before, after)
        held.set_title(f"after layer {layer}: who holds what", fontsize=8, weight="normal")
    return figure


def _draw_arcs(
    axes: Axes, flow: Flow, held: Holdings, earlier: Holdings | None, used: list[Path]
) -> None:
    size = len(flow.roles)
    along = {frozenset(flow.ends(path)) for path in used}
    for i, first in enumerate(flow.roles):
        for j in range(i + 1, size):
            second = flow.roles[j]
            shared = held[first] & held[second]
            if not shared:
                continue
            known = earlier is not None and earlier[first] & earlier[second]
            by_code = all(is_code(piece) for piece in shared)
            walked = frozenset((first, second)) in along
            colour = USED if walked else FAINT if known else NEW
            arc = Arc(
                ((i + j) / 2, 0),
                j - i,
                2 * ARCH * (j - i) ** 0.7,
                theta1=0,
                theta2=180,
                color=colour,
                ls=(0, (2.2, 1.6)) if by_code else "-",
                lw=2.2 if walked else 0.6 if known else 1.1,
                zorder=4 if walked else 2 if known else 3,
            )
            arc.set_gid(f"shared-{first}-{second}")
            axes.add_patch(arc)
    for i, role in enumerate(flow.roles):
        axes.plot(i, 0, "o", ms=3.6, color=INK, zorder=5)
        axes.annotate(
            typeset(role), (i, 0), (0, -12), textcoords="offset points", ha="center", fontsize=7
        )
    axes.set_xlim(-0.6, size - 0.4)
    axes.set_ylim(-0.6, ARCH * (size - 1) ** 0.7 + 0.1)
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
    axes.set_xlim(-0.6, len(pieces) - 0.4)
    axes.set_ylim(len(roles) - 0.4, -0.6)
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
    for role in sorted(flow.roles, key=_rank(flow)):
        start = flow.starts[flow.roles.index(role)]
        new = [piece for piece in start if piece not in ordered]
        ordered += sorted(new, key=lambda piece: (not is_code(piece) or role == flow.query, piece))
    return ordered


def _rank(flow: Flow) -> Callable[[str], int]:
    numbered = all(role[1:].isdigit() for role in flow.roles)
    return (lambda role: int(role[1:])) if numbered else (lambda role: -flow.roles.index(role))
