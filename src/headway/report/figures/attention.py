"""The attention figure: every head's pattern on one sequence."""

from collections.abc import Collection, Sequence

from jaxtyping import Float
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
    heads = [(layer, h) for layer in range(len(patterns)) for h in range(patterns.shape[1])]
    columns = patterns.shape[1] if patterns.shape[1] > 1 else min(len(heads), 4)
    rows, side = -(-len(heads) // columns), min(max(8.6 / columns, 0.8), 3.2)
    labelled = len(heads) <= MOST_LABELLED and len(labels) <= 64
    figure = Figure(figsize=(side * columns + 0.4, (side + 0.2) * rows + 0.4), layout="compressed")
    grid = figure.subplots(rows, columns, squeeze=False).flatten()
    for axes, head in zip(grid, heads, strict=False):
        colour = PALETTE[0] if head in useful else FAINT
        shades = LinearSegmentedColormap.from_list("attention", [PAPER, colour])
        pattern = patterns[head].numpy(force=True)
        axes.imshow(pattern, cmap=shades, vmin=0, vmax=1, interpolation="none")
        for start in starts:
            axes.axhline(start - 0.5, color="#c3c8ce", lw=0.5)
            axes.axvline(start - 0.5, color="#c3c8ce", lw=0.5)
        for spine in axes.spines.values():
            spine.set(visible=True, color=colour, linewidth=1.8 if head in useful else 0.6)
        name = f"layer {head[0]}" + (f" head {head[1]}" if patterns.shape[1] > 1 else "")
        axes.set_title(name, color=colour, fontsize=9 if side > 1.6 else 6.5, pad=3)
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
