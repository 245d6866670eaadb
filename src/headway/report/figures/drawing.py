"""The four figures of a run: its circuit, losses, when paths emerged, and attention."""

import textwrap
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import cycle

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from torch import Tensor

from headway.dynamics import Timeline
from headway.dynamics.emergence import EMERGES_AT
from headway.judge import Discovery
from headway.judge.roles import Cast, joins_roles, places
from headway.relations.paths import AttentionPath
from headway.replace import ABLATIONS, Circuit, Head
from headway.replace.heads import name_of
from headway.report.curves import dated
from headway.report.figures.style import (
    DASHES,
    FAINT,
    INK,
    INKS,
    MARKERS,
    PALETTE,
    PAPER,
    log_scale,
    styled,
)
from headway.report.labels import shortened, typeset
from headway.report.looks import path_looks
from headway.report.schema import Curve
from headway.tasks import Task
from headway.text import at_step

COLUMN, ROW, LINE, EMPTY = 0.72, 0.85, 0.34, 0.3
"""Inches: between places, of a layer between places, of a path that has a line of its own, and of a
layer without a useful head."""

LEFT, BELOW = 0.75, 0.62
ARROW = "-|>,head_length=5,head_width=2.6"
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
    rows, idle = _layers(circuit, joined)
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
        colour = INKS[looks[path].colour]
        line = {"color": colour, "lw": 2.1, "shrinkA": 1.5, "shrinkB": 2.5, "zorder": 4}
        arrow = FancyArrowPatch(start, end, arrowstyle=ARROW, joinstyle="miter", **line)
        arrow.set_gid(arrow_name(path))
        axes.add_patch(arrow)
        axes.plot(*start, "o", ms=4.2, color=colour, mew=0, zorder=5)
        x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + above
        look = {"color": colour, "bbox": BACKGROUND} if joined else {}
        _write(axes, x, y, typeset(words), fontsize=6.5, **look)
    return figure


def arrow_name(path: AttentionPath) -> str:
    """The name of a path's group in the SVG."""
    relation = "-".join(path.relation.replace("←", " ").split())
    return f"arrow-{path.layer}-{path.head}-{relation}"


def _layers(circuit: Circuit, joined: bool) -> tuple[list[float], list[str]]:
    """Heights of the stream before the first layer and after each, and what idle heads do there."""
    heights, idle = [0.0], list[str]()
    layers = [layer for layer, _ in circuit.mechanisms]
    for layer in range(max(layers, default=-1) + 1):
        paths = sum(path.layer == layer for path in circuit.paths)
        tall = ROW if joined else LINE * paths + 0.1
        heights.append(heights[-1] + (tall if paths else EMPTY))
        kinds = Counter(
            kind for kind, heads in circuit.idle_heads.items() for at, _ in heads if at == layer
        )
        several = layers.count(layer) > 1
        parts = (f"{count} {kind}" if several else kind for kind, count in sorted(kinds.items()))
        idle.append(", ".join(parts))
    return heights, idle


def _write(axes: Axes, x: float, y: float, text: str, **look: object) -> None:
    look = {"fontsize": 8, "color": INK, "ha": "center", "va": "center", "zorder": 6, **look}
    axes.text(x, y, text, **look)  # pyright: ignore[reportArgumentType]


LEVEL = {"color": FAINT, "lw": 0.7, "ls": (0, (1, 2)), "zorder": 1}
BESIDE = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.03), "alignment": "left"}


@styled
def draw_losses(curves: Sequence[Curve], task: Task) -> Figure:
    """Losses by step on a logarithmic axis, beside those of predictors that follow no chain."""
    figure = Figure(figsize=(8.4, 3.4), layout="constrained")
    axes = figure.add_subplot()
    log_scale(axes, "y")
    levels = {f"predicting {name}": loss for name, loss in task.references().items()}
    for name, level in {**levels, "a hop counts as learnt": EMERGES_AT}.items():
        if level > 0:  # the axis is logarithmic
            axes.axhline(level, **LEVEL)
            at = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
            axes.annotate(name, (1, level), (-2, 1.5), ha="right", fontsize=6.5, **at)
    _draw(axes, curves, "learnt at step")
    axes.set(xlabel="step", ylabel=f"loss ({task.targets.loss_name})")
    return figure


@styled
def draw_emergence(
    timeline: Timeline, task: Task | None = None, losses: Sequence[Curve] = ()
) -> Figure:
    """Attention along every path, the loss when it is knocked out, and the loss of hops, by step.

    Markers stand where a path's attention first passes 0.5 (its emergence), where the rise of the
    loss without it first passes half of its largest value, and where a hop's loss first passes
    below 0.5. A path has the same colour, dashes and marker wherever it is drawn.

    Args:
        timeline: of the circuit's paths.
        task: of the run, if paths are to be coloured by what they carry; by default by their head.
        losses: of the hops.
    """
    along, without = dated(timeline, task or Cast(()))
    height = max(6.2, 0.34 * len(along) + 2.4)
    figure = Figure(figsize=(8.4, height), layout="constrained")
    above, middle, below = figure.subplots(3, 1, sharex=True)
    _draw(above, along, "emerged at step")
    _draw(middle, without, "needed from step")
    _draw(below, losses, "learnt at step")
    above.set(ylim=(-0.03, 1.05), ylabel="attention along the path")
    middle.set(ylim=(0, None), ylabel="loss, path knocked out")
    below.set(ylim=(0, None), ylabel="loss (held out)", xlabel="step")
    for axes in (above, below):
        axes.axhline(EMERGES_AT, **LEVEL)
    return figure


def _draw(axes: Axes, curves: Sequence[Curve], marked: str) -> None:
    """Curves, with a marker where one is marked, and their names beside the axes.

    Steps are on a scale of square roots, as most happens early.
    """
    for curve, marker in zip(curves, cycle(MARKERS), strict=False):
        steps, values = zip(*curve.points, strict=True) if curve.points else ((), ())
        look = {"color": INKS[curve.colour], "ls": DASHES[curve.dashes], "lw": 1.5}
        axes.plot(steps, values, **look)
        name = shortened(curve.name, 40)
        if curve.mark is not None:
            look |= {"marker": marker, "ms": 6, "mec": PAPER, "mew": 0.8}
            axes.plot(*curve.mark, **{**look, "ls": "none"}, zorder=5)
            name += f"  {at_step(curve.mark[0])}"
        axes.plot([], [], **look, label=name)
    axes.set_xscale("function", functions=(_root, np.square))
    axes.set(xlim=(0, None))
    if curves:
        axes.legend(title=marked, title_fontsize=8, fontsize=7.5, **BESIDE)


def _root(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0) ** 0.5


MOST_LABELLED = 12
"""With more heads than this the maps are too small for a label at every position."""


@styled
def draw_attention(
    patterns: Float[Tensor, "layer head query key"],
    labels: Sequence[str],
    useful: Collection[Head] = (),
) -> Figure:
    """A heat map of every head's attention on one sequence, white for 0 and full colour for 1.

    Useful heads are in colour and framed, the others in grey.

    Args:
        patterns: attention of a model on one sequence.
        labels: what to call every position.
        useful: the heads of the circuit, if it is known.
    """
    heads = [(layer, h) for layer in range(len(patterns)) for h in range(patterns.shape[1])]
    columns = patterns.shape[1] if patterns.shape[1] > 1 else min(len(heads), 4)
    rows, side = -(-len(heads) // columns), min(max(8.6 / columns, 0.8), 3.2)
    labelled = len(heads) <= MOST_LABELLED and len(labels) <= 64
    figure = Figure(figsize=(side * columns + 0.4, (side + 0.2) * rows + 0.4), layout="compressed")
    grid = figure.subplots(rows, columns, squeeze=False).flatten()
    for axes, head in zip(grid, heads, strict=False):
        colour, line = (PALETTE[0], 1.8) if head in useful else (FAINT, 0.6)
        shades = LinearSegmentedColormap.from_list("attention", [PAPER, colour])
        pattern = patterns[head].numpy(force=True)
        axes.imshow(pattern, cmap=shades, vmin=0, vmax=1, interpolation="none")
        axes.spines[:].set(visible=True, color=colour, linewidth=line)
        axes.set_title(name_of(head), color=colour, fontsize=9 if side > 1.6 else 6.5, pad=3)
        at, names = (range(len(labels)), labels) if labelled else ([], [])
        size = min(6.5, 48 * side / max(1, len(labels)))
        axes.set_xticks(at, names, fontsize=size, rotation=90)
        axes.set_yticks(at, names, fontsize=size)
        axes.tick_params(length=0, pad=1.5)
    for axes in grid[len(heads) :]:
        axes.set_axis_off()
    figure.supxlabel("attended position (key)", fontsize=8.5)
    figure.supylabel("attending position (query)", fontsize=8.5)
    return figure
