"""The circuit figure: who attends to whom, layer by layer (as figure 5 of Musat 2024)."""

import textwrap

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headway.circuits import ABLATIONS, Circuit, Discovery
from headway.circuits.routes import trace
from headway.report.figures.branch_drawing import draw_bent, draw_branches
from headway.report.figures.style import BACKGROUND, FAINT, INK, PAPER, head_colours, styled
from headway.report.labels import answer_of, few, shortened, typeset
from headway.report.layout import Grid, arrow_name, grid_of, heads_in
from headway.tasks import Task
from headway.text import counted

INCH_PER_COLUMN, INCH_PER_ROW = 0.62, 0.62
INCH_PER_LETTER = 0.088
"""About, in the title."""


@styled
def draw_circuit(discovery: Discovery, task: Task, title: str) -> Figure:
    """The paths of a circuit between the roles of one chain, or along other relations.

    One column per role, in the order of the sequence, pairs side by side, the query last. Layers
    upwards. An arrow goes from the role attended to, before the layer, to the role that attends,
    after it; its group in the SVG is named `arrow-LAYER-HEAD-QUERY-KEY`. Symbols that a role gains
    if the heads copy all that they find are written beside it. Branches that join on the way to the
    answer each lie on a band with its symbol, and the path at which they meet names them all. Where
    paths do not join roles, arrows lead from the position attended to, to the one that attends, and
    bear the names of relations.

    Args:
        discovery: a circuit and its evidence.
        task: the task it was found on.
        title: printed above.
    """
    circuit = discovery.circuit
    grid = grid_of(circuit, task)
    longest = max(
        (len(text) for at, _ in circuit.mechanisms for text, _ in _layer_lines(circuit, at, grid)),
        default=0,
    )
    answer = answer_of(task.hops)
    margin_left, margin_bottom = 1.5, 1.35 if grid.braces else 0.7
    margin_right = max(0.9 + 0.11 * longest, 0.3 + 0.12 * len(answer))
    for_title = INCH_PER_LETTER * len(title) / INCH_PER_COLUMN
    margin_right = max(margin_right, for_title - grid.right - margin_left)
    width = INCH_PER_COLUMN * (grid.right + margin_left + margin_right)
    words = "losses with every head replaced: " + ABLATIONS[discovery.ablation]
    words = textwrap.fill(words, round(15 * width))
    margin_top = 1.0 + 0.22 * words.count("\n")
    height = INCH_PER_ROW * (grid.top + margin_bottom + margin_top)
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(
        xlim=(-margin_left, grid.right + margin_right), ylim=(-margin_bottom, grid.top + margin_top)
    )
    heading = figure.text(0.02, 1 - 0.1 / height, title, va="top", fontsize=9.5, weight="bold")
    heading.set_gid("title")
    note = figure.text(0.02, 1 - 0.3 / height, words, va="top", fontsize=7, color="#5b626a")
    note.set_gid("title-ablation")

    _draw_columns(axes, grid)
    _draw_layers(axes, grid, circuit)
    _draw_arrows(axes, grid, circuit)
    routes = trace(task, circuit.paths)
    join = None if routes is None else routes.last_join()
    if join is not None:
        draw_branches(axes, grid, join)
    _draw_gains(axes, grid, task, circuit)
    query = grid.places[-1].role
    _write(axes, grid.columns[query] + 0.14, grid.top + 0.3, answer, ha="left", fontsize=8)
    return figure


def _draw_columns(axes: Axes, grid: Grid) -> None:
    """The residual streams, the roles' names below them, and a brace under every pair."""
    for place in grid.places:
        x = grid.columns[place.role]
        axes.plot([x, x], [0, grid.top], color="#c3c8ce", lw=0.8, zorder=1)
        weight = "bold" if grid.by_role else "normal"
        _write(axes, x, -0.3, typeset(shortened(place.role)), fontsize=9, weight=weight)
        symbol = typeset(shortened(place.symbol))
        _write(axes, x, -0.62, symbol, fontsize=8.5, color="#5b626a")
    for x, y in grid.joints:
        axes.plot(x, y, "o", ms=3.2, color="#aab0b7", mew=0, zorder=3)
    for first, last, name in grid.braces:
        low, high = first - 0.25, last + 0.25
        axes.plot([low, high], [-0.86, -0.86], color=FAINT, lw=0.8, zorder=1)
        _write(axes, (low + high) / 2, -1.08, name, fontsize=7, color="#5b626a")
    x = grid.columns[grid.places[-1].role]
    axes.annotate(
        "",
        (x, grid.top + 0.24),
        (x, grid.top),
        arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1, "shrinkA": 2, "shrinkB": 0},
    )


def _draw_layers(axes: Axes, grid: Grid, circuit: Circuit) -> None:
    """A band for every layer: its number to the left, what its heads do to the right."""
    useful = set(circuit.useful_layers)
    for layer, (low, high) in enumerate(zip(grid.rows, grid.rows[1:], strict=False)):
        middle = (low + high) / 2
        if layer in useful:
            axes.axhspan(low, high, color="#f3f5f7", zorder=0, lw=0)
            axes.axhline(high, color=PAPER, lw=2.5, zorder=0.5)
        tone = INK if layer in useful else FAINT
        _write(axes, -1.35, middle, f"layer {layer}", ha="left", fontsize=8, color=tone)
        lines = _layer_lines(circuit, layer, grid)
        for i, (text, colour) in enumerate(lines):
            y = middle + 0.26 * ((len(lines) - 1) / 2 - i)
            style = "italic" if colour == FAINT else "normal"
            _write(axes, grid.right + 0.6, y, text, ha="left", color=colour, style=style)


def _layer_lines(circuit: Circuit, layer: int, grid: Grid) -> list[tuple[str, str]]:
    """What stands to the right of a layer, with its colour: its useful heads, then all others."""
    colours, (useful, idle) = head_colours(circuit.useful_heads), heads_in(circuit, layer)
    several = len(useful) + sum(map(len, idle.values())) > 1
    lines = [
        (f"head {head}: " * several + counted(paths, "path"), colours[layer, head])
        for head, paths in useful
        if grid.by_role
    ]
    if idle:
        kinds = [f"{len(idle[kind])} {kind}" if several else kind for kind in sorted(idle)]
        lines.append((", ".join(kinds), FAINT))
    return lines


def _draw_arrows(axes: Axes, grid: Grid, circuit: Circuit) -> None:
    colours = head_colours(circuit.useful_heads)
    for path, at in grid.arrows.items():
        colour = colours[path.at]
        head = "-|>,head_length=5,head_width=2.6"
        look = {"color": colour, "lw": 2.3, "shrinkA": 1.5, "shrinkB": 2.5, "zorder": 4}
        draw_bent(axes, at, arrow_name(path), arrowstyle=head, joinstyle="miter", **look)
        for x, y in (at.start, at.end):
            axes.plot(x, y, "o", ms=4.6, color=INK, mew=0, zorder=5)
        x, y = at.point(0.5)
        if at.name:
            _write(axes, x, y + 0.13, typeset(at.name), fontsize=7.5)
            x, y = at.start[0] - 0.3, at.start[1]
        several = sum(layer == path.layer for layer, _ in circuit.useful_heads) > 1
        if several or (at.name and any(head for _, head in circuit.mechanisms)):
            name = f"h{path.head}"
            _write(axes, x, y, name, fontsize=7, color=colour, bbox=BACKGROUND)


def _draw_gains(axes: Axes, grid: Grid, task: Task, circuit: Circuit) -> None:
    routes = trace(task, circuit.paths)
    for (layer, role), symbols in routes.gains().items() if routes else ():
        _write(
            axes,
            grid.columns[role] - 0.1,
            grid.rows[layer + 1] + 0.18,
            "+" + few(symbols),
            ha="right",
            fontsize=7.5,
            bbox=BACKGROUND,
        )


def _write(axes: Axes, x: float, y: float, text: str, ha: str = "center", **look: object) -> None:
    look = {"fontsize": 8, "color": INK, "va": "center_baseline", "zorder": 6, **look}
    axes.text(x, y, text, ha=ha, **look)  # pyright: ignore[reportArgumentType]
