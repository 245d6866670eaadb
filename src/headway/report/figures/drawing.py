"""The four figures of a run: its circuit, losses, when paths emerged, and attention."""

import math
import textwrap
from collections.abc import Collection, Iterator, Sequence
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
"""Inches: between places, of a layer between places, of a path that has a line of its
own, and of a layer without a useful head."""

LEFT, BELOW = 0.75, 0.62
Point = tuple[float, float]
ARROW = "-|>,head_length=5,head_width=2.6"
BACKGROUND = {"facecolor": PAPER, "edgecolor": "none", "alpha": 0.8, "pad": 0.6}


@styled
def draw_circuit(found: Discovery | Circuit, task: Task | Cast, title: str) -> Figure:
    """The paths of a circuit between the roles of one chain, or along other relations.

    One column per role, in the order of the sequence, the query last. Layers upwards.
    An arrow goes from the role attended to, before the layer, to the role that attends,
    after it; its group in the SVG is named `arrow-LAYER-HEAD-RELATION`, its colour is
    that of the symbol carried. Where paths do not join roles, every path has a line of
    its own with the name of its relation.

    Args:
        found: a circuit, perhaps with its evidence.
        task: the task it was found on, or its cast.
        title: printed above.
    """
    if isinstance(found, Circuit):
        drawing = Drawing(found, task)
        note = ""
    else:
        drawing = Drawing(found.circuit, task)
        note = f"losses with every head replaced: {ABLATIONS[found.ablation]}"
    wide = max(drawing.wide, 0.09 * len(title) + 0.2)
    lines = textwrap.wrap(note, round(13 * wide))
    high = drawing.heights[-1] + 0.6 + 0.14 * len(lines)
    figure = Figure(figsize=(wide, high + BELOW))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(xlim=(-LEFT, wide - LEFT), ylim=(-BELOW, high))
    corner = {"ha": "left", "va": "top"}
    _write(axes, 0.1 - LEFT, high - 0.1, title, fontsize=9.5, weight="bold", **corner)
    _write(axes, 0.1 - LEFT, high - 0.32, "\n".join(lines), fontsize=7, **corner)
    drawing.draw_layers(axes)
    if drawing.joined:
        drawing.draw_places(axes)
    looks = path_looks(task, drawing.circuit.paths)
    for path in drawing.circuit.paths:
        drawing.draw_path(axes, path, INKS[looks[path].colour])
    return figure


class Drawing:
    """A circuit on axes in inches: layers upwards, places or relations across.

    Attributes:
        circuit: that is drawn.
        places: the roles of one chain.
        joined: whether paths join them.
        across: from the first place to the last.
        wide: the width of all, margins included.
        heights: of the stream before the first layer and after each.
        idle: what the idle heads of every layer do.
    """

    def __init__(self, circuit: Circuit, task: Task | Cast):
        self.circuit = circuit
        self.places = places(task)
        self.joined = joins_roles(task, circuit.paths)
        if self.joined:
            self.across = (len(self.places) - 1) * COLUMN
        else:
            names = [shortened(path.relation, 40) for path in circuit.paths]
            self.across = max(2.4, 0.085 * max(map(len, names), default=0))
        self.heights, self.idle = _layers(circuit, self.joined)
        right = 0.55 + 0.08 * max(map(len, self.idle), default=0)
        self.wide = LEFT + self.across + right

    def draw_layers(self, axes: Axes) -> None:
        """Every layer's name, and what its idle heads do; a band behind those with
        useful heads.
        """
        for layer, idle in enumerate(self.idle):
            bottom = self.heights[layer]
            top = self.heights[layer + 1]
            middle = (bottom + top) / 2
            colour = FAINT
            if layer in self.circuit.useful_layers:
                axes.axhspan(bottom + 0.02, top - 0.02, color="#f3f5f7", lw=0)
                colour = INK
            _write(axes, 0.12 - LEFT, middle, f"layer {layer}", color=colour, ha="left")
            _write(axes, self.across + 0.3, middle, idle, ha="left", color=FAINT)

    def draw_places(self, axes: Axes) -> None:
        """A line upwards for every place, with its role and its symbol below."""
        for i, place in enumerate(self.places):
            x = i * COLUMN
            role = typeset(shortened(place.role))
            symbol = typeset(shortened(place.symbol))
            axes.plot([x, x], [0, self.heights[-1]], color="#c3c8ce", lw=0.8, zorder=1)
            _write(axes, x, -0.2, role, fontsize=9, weight="bold")
            _write(axes, x, -0.42, symbol, color="#5b626a")

    def draw_path(self, axes: Axes, path: AttentionPath, colour: str) -> None:
        """The arrow of a path, a dot where it begins, and its head's name."""
        ends_of = self._between_places if self.joined else self._on_line
        start, end = ends_of(path)
        middle = (start[0] + end[0]) / 2
        height = (start[1] + end[1]) / 2
        line = {"color": colour, "lw": 2.1, "shrinkA": 1.5, "shrinkB": 2.5, "zorder": 4}
        arrow = FancyArrowPatch(start, end, arrowstyle=ARROW, joinstyle="miter", **line)
        arrow.set_gid(arrow_name(path))
        axes.add_patch(arrow)
        axes.plot(*start, "o", ms=4.2, color=colour, mew=0, zorder=5)
        if self.joined:
            name = typeset(f"h{path.head}")
            _write(
                axes, middle, height, name, fontsize=6.5, color=colour, bbox=BACKGROUND
            )
        else:
            name = typeset(f"h{path.head}  {shortened(path.relation, 40)}")
            _write(axes, middle, height + 0.1, name, fontsize=6.5)

    def _between_places(self, path: AttentionPath) -> tuple[Point, Point]:
        """The ends of an arrow between places, beside those of other heads on the same
        way.
        """
        alike = [
            other.head
            for other in self.circuit.paths
            if (other.layer, other.relation) == (path.layer, path.relation)
        ]
        aside = 0.1 * (alike.index(path.head) - (len(alike) - 1) / 2)
        columns = {place.role: i * COLUMN for i, place in enumerate(self.places)}
        query, key = path.relation.ends or ("", "")
        start = columns[key] + aside, self.heights[path.layer]
        end = columns[query] + aside, self.heights[path.layer + 1]
        return start, end

    def _on_line(self, path: AttentionPath) -> tuple[Point, Point]:
        """The ends of an arrow that has a line of its own, below those of its layer
        before it.
        """
        of_layer = [other for other in self.circuit.paths if other.layer == path.layer]
        number = 1 + of_layer.index(path)
        y = self.heights[path.layer + 1] - LINE * number + 0.08
        return (0.0, y), (self.across, y)


def arrow_name(path: AttentionPath) -> str:
    """The name of a path's group in the SVG."""
    relation = "-".join(path.relation.replace("←", " ").split())
    return f"arrow-{path.layer}-{path.head}-{relation}"


def _layers(circuit: Circuit, joined: bool) -> tuple[list[float], list[str]]:
    """Heights of the stream before the first layer and after each, and what idle heads
    do there.
    """
    heights = [0.0]
    idle = list[str]()
    layers = [layer for layer, _ in circuit.mechanisms]
    for layer in range(max(layers, default=-1) + 1):
        n_paths = sum(path.layer == layer for path in circuit.paths)
        height = EMPTY
        if n_paths:
            height = ROW if joined else LINE * n_paths + 0.1
        heights.append(heights[-1] + height)
        idle.append(", ".join(_idle_words(circuit, layer, layers.count(layer))))
    return heights, idle


def _idle_words(circuit: Circuit, layer: int, n_heads: int) -> Iterator[str]:
    """The kinds of a layer's idle heads, counted if it has several heads."""
    for kind, heads in sorted(circuit.idle_heads.items()):
        count = sum(at == layer for at, _ in heads)
        if count:
            yield f"{count} {kind}" if n_heads > 1 else kind


def _write(axes: Axes, x: float, y: float, text: str, **look: object) -> None:
    look = {
        "fontsize": 8,
        "color": INK,
        "ha": "center",
        "va": "center",
        "zorder": 6,
        **look,
    }
    axes.text(x, y, text, **look)  # pyright: ignore[reportArgumentType]


LEVEL = {"color": FAINT, "lw": 0.7, "ls": (0, (1, 2)), "zorder": 1}
BESIDE = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.03), "alignment": "left"}


@styled
def draw_losses(curves: Sequence[Curve], task: Task) -> Figure:
    """Losses by step on a logarithmic axis, beside those of predictors that follow no
    chain.
    """
    figure = Figure(figsize=(8.4, 3.4), layout="constrained")
    axes = figure.add_subplot()
    log_scale(axes, "y")
    levels = {f"predicting {name}": loss for name, loss in task.references().items()}
    levels["a hop counts as learnt"] = EMERGES_AT
    at_right = {
        "xycoords": ("axes fraction", "data"),
        "textcoords": "offset points",
        "ha": "right",
    }
    for name, level in levels.items():
        if level > 0:  # the axis is logarithmic
            axes.axhline(level, **LEVEL)
            axes.annotate(name, (1, level), (-2, 1.5), fontsize=6.5, **at_right)
    _draw(axes, curves, "learnt at step")
    axes.set(xlabel="step", ylabel=f"loss ({task.targets.loss_name})")
    return figure


@styled
def draw_runs(curves: Sequence[Curve], threshold: float) -> Figure:
    """Losses of several runs by step on a logarithmic axis, and the loss below which
    the task is solved.
    """
    figure = Figure(figsize=(8.4, 3.4), layout="constrained")
    axes = figure.add_subplot()
    log_scale(axes, "y")
    axes.axhline(threshold, **LEVEL)
    _draw(axes, curves, "run")
    axes.set(xlabel="step", ylabel="validation loss")
    return figure


@styled
def draw_emergence(
    timeline: Timeline, task: Task | None = None, losses: Sequence[Curve] = ()
) -> Figure:
    """Attention along every path, the loss when it is knocked out, and the loss of
    hops, by step.

    Markers stand where a path's attention first passes 0.5 (its emergence), where the
    rise of the loss without it first passes half of its largest value, and where a
    hop's loss first passes below 0.5. A path has the same colour, dashes and marker
    wherever it is drawn.

    Args:
        timeline: of the circuit's paths.
        task: of the run, if paths are to be coloured by what they carry; by default by
            their head.
        losses: of the hops.
    """
    along, without = dated(timeline, task or Cast(()))
    panels = 3 if losses else 2
    height = max(2.1 * panels, 0.11 * panels * len(along) + 0.8 * panels)
    figure = Figure(figsize=(8.4, height), layout="constrained")
    above, middle, *below = figure.subplots(panels, 1, sharex=True)
    _draw(above, along, "emerged at step")
    above.set(ylim=(-0.03, 1.05), ylabel="attention along the path")
    above.axhline(EMERGES_AT, **LEVEL)
    _draw(middle, without, "needed from step")
    middle.set(ylim=(0, None), ylabel="loss, path knocked out")
    for axes in below:
        _draw(axes, losses, "learnt at step")
        axes.set(ylim=(0, None), ylabel="loss (held out)")
        axes.axhline(EMERGES_AT, **LEVEL)
    figure.axes[-1].set(xlabel="step")
    return figure


def _draw(axes: Axes, curves: Sequence[Curve], marked: str) -> None:
    """Curves, with a marker where one is marked, and their names beside the axes.

    Steps are on a scale of square roots, as most happens early.
    """
    for curve, marker in zip(curves, cycle(MARKERS), strict=False):
        steps = [step for step, _ in curve.points]
        values = [value for _, value in curve.points]
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
    """A heat map of every head's attention on one sequence, white for 0 and full colour
    for 1.

    Useful heads are in colour and framed, the others in grey.

    Args:
        patterns: attention of a model on one sequence.
        labels: what to call every position.
        useful: the heads of the circuit, if it is known.
    """
    n_layers, n_heads = patterns.shape[:2]
    heads = [(layer, head) for layer in range(n_layers) for head in range(n_heads)]
    columns = n_heads if n_heads > 1 else min(len(heads), 4)
    rows = math.ceil(len(heads) / columns)
    side = min(max(8.6 / columns, 0.8), 3.2)
    figsize = side * columns + 0.4, (side + 0.2) * rows + 0.4
    figure = Figure(figsize=figsize, layout="compressed")
    if len(heads) > MOST_LABELLED or len(labels) > 64:
        labels = []
    grid = figure.subplots(rows, columns, squeeze=False).flatten()
    for axes, head in zip(grid, heads, strict=False):
        colour, line = (PALETTE[0], 1.8) if head in useful else (FAINT, 0.6)
        axes.set_title(
            name_of(head), color=colour, fontsize=9 if side > 1.6 else 6.5, pad=3
        )
        axes.spines[:].set(visible=True, color=colour, linewidth=line)
        shades = LinearSegmentedColormap.from_list("attention", [PAPER, colour])
        pattern = patterns[head].numpy(force=True)
        axes.imshow(pattern, cmap=shades, vmin=0, vmax=1, interpolation="none")
        _label(axes, labels, side)
    for axes in grid[len(heads) :]:
        axes.set_axis_off()
    figure.supxlabel("attended position (key)", fontsize=8.5)
    figure.supylabel("attending position (query)", fontsize=8.5)
    return figure


def _label(axes: Axes, labels: Sequence[str], side: float) -> None:
    """Labels at every position of a map, as large as they fit it."""
    size = min(6.5, 48 * side / max(1, len(labels)))
    at = range(len(labels))
    axes.set_xticks(at, labels, fontsize=size, rotation=90)
    axes.set_yticks(at, labels, fontsize=size)
    axes.tick_params(length=0, pad=1.5)
