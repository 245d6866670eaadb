"""The circuit figure: who attends to whom, layer by layer (as figure 5 of Musat 2024)."""

import textwrap

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from headway.circuits import ABLATIONS, Circuit, Discovery
from headway.circuits.roles import Cast, joins_roles, places
from headway.paths import AttentionPath
from headway.report.figures.style import FAINT, INK, PAPER, styled
from headway.report.labels import shortened, typeset
from headway.report.looks import path_looks
from headway.tasks import Task

COLUMN, ROW, LINE, EMPTY = 0.72, 0.85, 0.34, 0.3
"""Inches: between places, of a layer between places, of a path that has a line of its own, and of a
layer without a useful head."""

LEFT, BELOW = 0.75, 0.62
BACKGROUND = {"facecolor": PAPER, "edgecolor": "none", "alpha": 0.8, "pad": 0.6}


@styled
def draw_circuit(found: Discovery | Circuit, task: Task | Cast, title: str) -> Figure:
    """The paths of a circuit between the roles of one chain, or along other relations.

    One column per role, in the order of the sequence, the query last. Layers upwards. An arrow goes
    from the role attended to, before the layer, to the role that attends, after it; its group in
    the SVG is named `arrow-LAYER-HEAD-RELATION`, its colour is that of the symbol carried. Where
    paths do not join roles, every path has a line of its own with the name of its relation.

    Args:
        found: a circuit, perhaps with its evidence.
        task: the task it was found on, or its cast.
        title: printed above.
    """
    circuit, note = (found, "") if isinstance(found, Circuit) else (found.circuit, found.ablation)
    joined, standing = joins_roles(task, circuit.paths), places(task)
    longest = max([len(shortened(path.relation, 40)) for path in circuit.paths], default=0)
    across = (len(standing) - 1) * COLUMN if joined else max(2.4, 0.085 * longest)
    rows, idle = _rows(circuit, joined), _idle(circuit)
    right = 0.55 + 0.08 * max(map(len, idle), default=0)
    wide = max(LEFT + across + right, 0.09 * len(title) + 0.2)
    words = f"losses with every head replaced: {ABLATIONS[note]}" if note else ""
    lines = textwrap.wrap(words, round(13 * wide))
    high = rows[-1] + 0.6 + 0.14 * len(lines)
    figure = Figure(figsize=(wide, high + BELOW))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(xlim=(-LEFT, wide - LEFT), ylim=(-BELOW, high))
    corner = {"ha": "left", "va": "top"}
    _write(axes, 0.1 - LEFT, high - 0.1, title, fontsize=9.5, weight="bold", **corner)
    _write(axes, 0.1 - LEFT, high - 0.32, "\n".join(lines), fontsize=7, **corner)
    for layer, rest in enumerate(idle):
        useful, middle = layer in circuit.useful_layers, (rows[layer] + rows[layer + 1]) / 2
        if useful:
            axes.axhspan(rows[layer] + 0.02, rows[layer + 1] - 0.02, color="#f3f5f7", lw=0)
        _write(
            axes, 0.12 - LEFT, middle, f"layer {layer}", color=INK if useful else FAINT, ha="left"
        )
        _write(axes, across + 0.3, middle, rest, ha="left", color=FAINT)
    for i, place in enumerate(standing if joined else ()):
        axes.plot([i * COLUMN] * 2, [0, rows[-1]], color="#c3c8ce", lw=0.8, zorder=1)
        _write(axes, i * COLUMN, -0.2, typeset(shortened(place.role)), fontsize=9, weight="bold")
        _write(axes, i * COLUMN, -0.42, typeset(shortened(place.symbol)), color="#5b626a")
    looks, roles = path_looks(task, circuit.paths), [place.role for place in standing]
    for path in circuit.paths:
        here = [p for p in circuit.paths if p.layer == path.layer]
        if joined:
            query, key = path.relation.ends or ("", "")
            same = [p.head for p in here if p.relation == path.relation]
            aside = 0.1 * (same.index(path.head) - (len(same) - 1) / 2)
            start = roles.index(key) * COLUMN + aside, rows[path.layer]
            end = roles.index(query) * COLUMN + aside, rows[path.layer + 1]
            words, above = f"h{path.head}", 0.0
        else:
            y = rows[path.layer + 1] - LINE * (1 + here.index(path)) + 0.08
            start, end = (0.0, y), (across, y)
            words, above = f"h{path.head}  {shortened(path.relation, 40)}", 0.1
        _draw_arrow(axes, path, start, end, looks[path].hex)
        x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + above
        look = {"color": looks[path].hex, "bbox": BACKGROUND} if joined else {}
        _write(axes, x, y, typeset(words), fontsize=6.5, **look)
    return figure


def arrow_name(path: AttentionPath) -> str:
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


def _idle(circuit: Circuit) -> list[str]:
    """What the heads of every layer do that have no path."""
    layers = 1 + max((layer for layer, _ in circuit.mechanisms), default=-1)
    words = [list[str]() for _ in range(layers)]
    for kind, heads in sorted(circuit.idle_heads.items()):
        for layer in range(layers):
            count = sum(at == layer for at, _ in heads)
            several = sum(at == layer for at, _ in circuit.mechanisms) > 1
            words[layer] += [f"{count} {kind}" if several else kind] if count else []
    return [", ".join(each) for each in words]


def _draw_arrow(
    axes: Axes,
    path: AttentionPath,
    start: tuple[float, float],
    end: tuple[float, float],
    colour: str,
) -> None:
    head = "-|>,head_length=5,head_width=2.6"
    line = {"color": colour, "lw": 2.1, "shrinkA": 1.5, "shrinkB": 2.5, "zorder": 4}
    arrow = FancyArrowPatch(start, end, arrowstyle=head, joinstyle="miter", **line)
    arrow.set_gid(arrow_name(path))
    axes.add_patch(arrow)
    axes.plot(*start, "o", ms=4.2, color=colour, mew=0, zorder=5)


def _write(axes: Axes, x: float, y: float, text: str, **look: object) -> None:
    look = {"fontsize": 8, "color": INK, "ha": "center", "va": "center", "zorder": 6, **look}
    axes.text(x, y, text, **look)  # pyright: ignore[reportArgumentType]
