"""The circuit figure: who attends to whom, layer by layer (as figure 5 of Musat 2024)."""

import textwrap
from collections.abc import Mapping
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from headway.circuits import ABLATIONS, Circuit, Discovery
from headway.circuits.roles import Cast, joins_roles, places
from headway.paths import Path
from headway.report.figures.style import BACKGROUND, FAINT, INK, styled
from headway.report.labels import shortened, typeset
from headway.report.looks import path_looks
from headway.tasks import Task

COLUMN, ROW, LINE, EMPTY = 0.72, 0.85, 0.34, 0.3
"""Inches: between places, of a layer between places, of a path that has a line of its own, and of a
layer without a useful head."""

LEFT, RIGHT, ABOVE, BELOW = 0.75, 0.55, 0.6, 0.62

Ends = tuple[tuple[float, float], tuple[float, float]]


@styled
def draw_circuit(discovery: Discovery, task: Task | Cast, title: str) -> Figure:
    """The paths of a circuit between the roles of one chain, or along other relations.

    One column per role, in the order of the sequence, the query last. Layers upwards. An arrow goes
    from the role attended to, before the layer, to the role that attends, after it; its group in
    the SVG is named `arrow-LAYER-HEAD-RELATION`, its colour is that of the symbol carried. Where
    paths do not join roles, every path has a line of its own with the name of its relation.

    Args:
        discovery: a circuit and its evidence.
        task: the task it was found on, or its cast.
        title: printed above.
    """
    words = f"losses with every head replaced: {ABLATIONS[discovery.ablation]}"
    return draw_paths(discovery.circuit, task, title, words)


@styled
def draw_paths(circuit: Circuit, task: Task | Cast, title: str, note: str = "") -> Figure:
    """The drawing of `draw_circuit` of a circuit by itself.

    Args:
        circuit: a mechanism for every head.
        task: that it was found on, or its cast.
        title: printed above.
        note: printed below that.
    """
    joined, standing = joins_roles(task, circuit.paths), places(task)
    columns = {place.role: i * COLUMN for i, place in enumerate(standing)} if joined else {}
    longest = max([len(shortened(path.relation, 40)) for path in circuit.paths], default=0)
    across = (len(columns) - 1) * COLUMN if joined else max(2.4, 0.085 * longest)
    rows = _rows(circuit, joined)
    width = LEFT + across + RIGHT + _idle_width(circuit)
    wide = max(width, 0.09 * len(title) + 0.2)
    lines = textwrap.wrap(note, round(13 * wide))
    above = ABOVE + 0.14 * len(lines)
    figure = Figure(figsize=(wide, above + rows[-1] + BELOW))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(xlim=(-LEFT, wide - LEFT), ylim=(-BELOW, rows[-1] + above))
    top = rows[-1] + above - 0.1
    _write(axes, -LEFT + 0.1, top, title, ha="left", va="top", fontsize=9.5, weight="bold")
    text = "\n".join(lines)
    _write(axes, -LEFT + 0.1, top - 0.22, text, ha="left", va="top", fontsize=7, color="#5b626a")
    for layer, (low, high) in enumerate(pairwise(rows)):
        useful = layer in circuit.useful_layers
        if useful:
            axes.axhspan(low + 0.02, high - 0.02, color="#f3f5f7", zorder=0, lw=0)
        tone = INK if useful else FAINT
        _write(axes, 0.12 - LEFT, (low + high) / 2, f"layer {layer}", ha="left", color=tone)
        _write(axes, across + 0.3, (low + high) / 2, _idle(circuit, layer), ha="left", color=FAINT)
    for place in standing if joined else ():
        x = columns[place.role]
        axes.plot([x, x], [0, rows[-1]], color="#c3c8ce", lw=0.8, zorder=1)
        _write(axes, x, -0.2, typeset(shortened(place.role)), fontsize=9, weight="bold")
        _write(axes, x, -0.42, typeset(shortened(place.symbol)), color="#5b626a")
    ends = _between(circuit, columns, rows) if joined else _lines(circuit, across, rows)
    _draw_arrows(axes, circuit, task, ends, joined)
    return figure


def arrow_name(path: Path) -> str:
    """The name of a path's group in the SVG."""
    relation = "-".join(path.relation.replace("←", " ").split())
    return f"arrow-{path.layer}-{path.head}-{relation}"


def _rows(circuit: Circuit, joined: bool) -> list[float]:
    """Where the stream stands before the first layer and after each."""
    rows = [0.0]
    for layer in range(1 + max((layer for layer, _ in circuit.mechanisms), default=-1)):
        paths = sum(path.layer == layer for path in circuit.paths)
        tall = ROW if joined else LINE * paths + 0.1
        rows.append(rows[-1] + (tall if paths else EMPTY))
    return rows


def _between(circuit: Circuit, columns: Mapping[str, float], rows: list[float]) -> dict[Path, Ends]:
    """Arrows from place to place, those of several heads side by side."""
    found = {}
    for path in circuit.paths:
        query, key = path.relation.ends or ("", "")
        same = [p.head for p in circuit.paths if (p.layer, p.relation) == path[::2]]
        aside = 0.1 * (same.index(path.head) - (len(same) - 1) / 2)
        start = columns[key] + aside, rows[path.layer]
        found[path] = start, (columns[query] + aside, rows[path.layer + 1])
    return found


def _lines(circuit: Circuit, across: float, rows: list[float]) -> dict[Path, Ends]:
    """A line for every path, one below the other."""
    found = {}
    for layer in circuit.useful_layers:
        here = [path for path in circuit.paths if path.layer == layer]
        for i, path in enumerate(here, start=1):
            y = rows[layer + 1] - LINE * i + 0.08
            found[path] = (0.0, y), (across, y)
    return found


def _draw_arrows(
    axes: Axes, circuit: Circuit, task: Task | Cast, ends: dict[Path, Ends], joined: bool
) -> None:
    looks = path_looks(task, circuit.paths)
    for path, (start, end) in ends.items():
        colour = looks[path].hex
        head = "-|>,head_length=5,head_width=2.6"
        line = {"color": colour, "lw": 2.1, "shrinkA": 1.5, "shrinkB": 2.5, "zorder": 4}
        arrow = FancyArrowPatch(start, end, arrowstyle=head, joinstyle="miter", **line)
        arrow.set_gid(arrow_name(path))
        axes.add_patch(arrow)
        axes.plot(*start, "o", ms=4.2, color=colour, mew=0, zorder=5)
        x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
        if joined:
            _write(axes, x, y, f"h{path.head}", fontsize=6.5, color=colour, bbox=BACKGROUND)
        else:
            words = f"h{path.head}  {typeset(shortened(path.relation, 40))}"
            _write(axes, x, y + 0.1, words, fontsize=7)


def _idle(circuit: Circuit, layer: int) -> str:
    """What the heads of a layer do that have no path."""
    counts = {
        kind: sum(at == layer for at, _ in heads) for kind, heads in circuit.idle_heads.items()
    }
    several = sum(at == layer for at, _ in circuit.mechanisms) > 1
    words = [f"{n} {kind}" if several else kind for kind, n in sorted(counts.items()) if n]
    return ", ".join(words)


def _idle_width(circuit: Circuit) -> float:
    layers = {layer for layer, _ in circuit.mechanisms}
    return 0.08 * max((len(_idle(circuit, layer)) for layer in layers), default=0)


def _write(axes: Axes, x: float, y: float, text: str, **look: object) -> None:
    look = {"fontsize": 8, "color": INK, "ha": "center", "va": "center", "zorder": 6, **look}
    axes.text(x, y, text, **look)  # pyright: ignore[reportArgumentType]
