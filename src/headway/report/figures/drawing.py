"""Figures of a run beside its circuit: losses, when paths emerged, and attention."""

import math
from collections.abc import Collection, Sequence
from itertools import cycle, product

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from torch import Tensor

from headway.dynamics import Timeline
from headway.dynamics.emergence import EMERGES_AT
from headway.judge.roles import Cast
from headway.replace import Head
from headway.replace.heads import name_of
from headway.report.curves import dated
from headway.report.figures.style import (
    DASHES,
    FAINT,
    INKS,
    MARKERS,
    PALETTE,
    PAPER,
    TEXT_WIDTH,
    log_scale,
    printed,
    styled,
)
from headway.report.labels import shortened
from headway.report.schema import Curve
from headway.tasks import Task
from headway.text import at_step

LEVEL = {"color": FAINT, "lw": 0.7, "ls": (0, (1, 2)), "zorder": 1}
BESIDE = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.03), "alignment": "left"}


@styled
def draw_losses(curves: Sequence[Curve], task: Task) -> Figure:
    """Losses by step on a logarithmic axis, beside those of predictors that follow no
    chain.
    """
    figure = Figure(figsize=(TEXT_WIDTH, 2.7), layout="constrained")
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
            axes.annotate(
                printed(name), (1, level), (-2, 1.5), fontsize=6.5, **at_right
            )
    _draw(axes, curves, "learnt at step")
    axes.set(xlabel="step", ylabel=f"loss ({task.targets.loss_name})")
    return figure


@styled
def draw_runs(curves: Sequence[Curve], threshold: float) -> Figure:
    """Losses of several runs by step on a logarithmic axis, and the loss below which
    the task is solved.
    """
    height = max(2.7, 0.16 * len(curves) + 0.8)
    figure = Figure(figsize=(TEXT_WIDTH, height), layout="constrained")
    axes = figure.add_subplot()
    log_scale(axes, "y")
    axes.axhline(threshold, **LEVEL)
    _draw(axes, curves, "run")
    axes.set(xlabel="step", ylabel="validation loss")
    return figure


@styled
def draw_emergence(
    timeline: Timeline,
    task: Task | Cast | None = None,
    losses: Sequence[Curve] = (),
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
    figure = Figure(figsize=(TEXT_WIDTH, height), layout="constrained")
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
        axes.plot([], [], **look, label=printed(name))
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
    heads = [*product(range(n_layers), range(n_heads))]
    columns = n_heads if n_heads > 1 else min(len(heads), 4)
    side = min(max((TEXT_WIDTH - 0.4) / columns, 0.7), 3.2)
    if len(heads) > MOST_LABELLED or len(labels) > 64:
        labels = []
    figure = _figure_of_maps(len(heads), columns, side)
    for axes, head in zip(figure.axes, heads, strict=False):
        colour = _draw_map(axes, patterns[head].numpy(force=True), head in useful)
        axes.set_title(name_of(head), color=colour, pad=3)
        axes.title.set_fontsize(9 if side > 1.6 else 6.5)
        _label(axes, labels, side)
    return figure


def _figure_of_maps(count: int, columns: int, side: float) -> Figure:
    """A figure with axes for so many maps, so many inches wide."""
    rows = math.ceil(count / columns)
    figsize = side * columns + 0.4, (side + 0.2) * rows + 0.4
    figure = Figure(figsize=figsize, layout="compressed")
    figure.subplots(rows, columns)
    for axes in figure.axes[count:]:
        axes.set_axis_off()
    figure.supxlabel("attended position (key)", fontsize=8.5)
    figure.supylabel("attending position (query)", fontsize=8.5)
    return figure


def _draw_map(axes: Axes, pattern: np.ndarray, is_useful: bool) -> str:
    """A head's attention, in colour and framed if it is useful; returns the colour."""
    colour, line = (PALETTE[0], 1.8) if is_useful else (FAINT, 0.6)
    axes.spines[:].set(visible=True, color=colour, linewidth=line)
    shades = LinearSegmentedColormap.from_list("attention", [PAPER, colour])
    axes.imshow(pattern, cmap=shades, vmin=0, vmax=1, interpolation="none")
    return colour


def _label(axes: Axes, labels: Sequence[str], side: float) -> None:
    """Labels at every position of a map, as large as they fit it."""
    size = min(6.5, 48 * side / max(1, len(labels)))
    names = [*map(printed, labels)]
    axes.set_xticks(range(len(names)), names, fontsize=size, rotation=90)
    axes.set_yticks(range(len(names)), names, fontsize=size)
    axes.tick_params(length=0, pad=1.5)
