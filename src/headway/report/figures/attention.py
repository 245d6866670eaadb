"""The attention figure: every head's pattern on one sequence."""

import math
from collections.abc import Collection, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from torch import Tensor

from headway.circuits import Head
from headway.report.figures.style import FAINT, PALETTE, PAPER, styled

MOST_LABELLED = 12
"""With more heads than this the maps are too small for a label at every position."""


@styled
def draw_attention(
    patterns: Float[Tensor, "layer head query key"],
    labels: Sequence[str],
    useful: Collection[Head] = (),
    starts: Sequence[int] = (),
) -> Figure:
    """A heat map of every head's attention on one sequence, white for 0 and full colour for 1.

    Useful heads are in colour and framed, the others in grey.

    Args:
        patterns: attention of a model on one sequence.
        labels: what to call every position.
        useful: the heads of the circuit, if it is known.
        starts: positions before which a thin line parts the blocks of the sequence.
    """
    n_layers, n_heads = patterns.shape[:2]
    columns = n_heads if n_heads > 1 else min(n_layers, 3 if n_layers <= 6 else 4)
    rows = math.ceil(n_layers * n_heads / columns)
    labelled = n_layers * n_heads <= MOST_LABELLED and len(labels) <= 64
    side = min(max(8.6 / columns, 0.8), 3.2)
    figure = Figure(figsize=(side * columns + 0.4, (side + 0.16) * rows + 0.35))
    grid = figure.subplots(rows, columns, squeeze=False)
    gap = 0.3 if labelled else 0.08
    _space(figure, side, left=0.4 if labelled else 0.25, gap=gap)
    for axes in grid.flat:
        axes.set_axis_off()
    for index, axes in enumerate(grid.flat[: n_layers * n_heads]):
        head = divmod(index, n_heads)
        axes.set_axis_on()
        colour = PALETTE[0] if head in useful else FAINT
        _draw_head(axes, patterns[head].numpy(force=True), colour, starts)
        name = f"layer {head[0]}" + (f" head {head[1]}" if n_heads > 1 else "")
        size = 9 if side > 1.6 else 6.5
        axes.set_title(name, color=colour, fontsize=size, pad=3)
        if labelled:
            _label_positions(axes, labels, side)
    width, height = figure.get_size_inches()
    figure.supxlabel("attended position (key)", fontsize=8.5, y=0.05 / height, va="bottom")
    figure.supylabel("attending position (query)", fontsize=8.5, x=0.05 / width, ha="left")
    return figure


def _space(figure: Figure, side: float, left: float, gap: float) -> None:
    """Places the maps by hand, in inches: an automatic layout would take a second for it."""
    width, height = figure.get_size_inches()
    figure.subplots_adjust(
        left=left / width,
        right=1 - 0.05 / width,
        top=1 - 0.25 / height,
        bottom=0.5 / height,
        wspace=gap / (side - gap),
        hspace=(gap + 0.2) / (side - gap),
    )


def _draw_head(
    axes: Axes,
    pattern: Float[np.ndarray, "query key"],
    colour: str,
    starts: Sequence[int],
) -> None:
    shades = LinearSegmentedColormap.from_list("attention", [PAPER, colour])
    axes.imshow(pattern, cmap=shades, vmin=0, vmax=1, interpolation="none")
    for start in starts:
        for line in (axes.axhline, axes.axvline):
            line(start - 0.5, color="#c3c8ce", lw=0.5)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(True)
        spine.set_color(colour)
        spine.set_linewidth(0.6 if colour == FAINT else 1.8)


def _label_positions(axes: Axes, labels: Sequence[str], side: float) -> None:
    size = min(6.5, 0.8 * 72 * side * 0.84 / len(labels))
    axes.set_xticks(range(len(labels)), labels, fontsize=size, rotation=90)
    axes.set_yticks(range(len(labels)), labels, fontsize=size)
    axes.tick_params(length=0, pad=1.5)
