"""Facts kept, against the parameters of attention and of an MLP."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from headway.report.figures.style import FAINT, MARKERS, PALETTE, styled

Point = tuple[float, float, float]
"""Parameters of attention, parameters of the MLP, facts kept."""


@styled
def draw_frontier(points: Mapping[str, Sequence[Point]], rates: tuple[float, float]) -> Figure:
    """Parameters per fact, of the MLP against attention: on a straight line if they are
    exchangeable.

    Args:
        points: by shape, one per seed.
        rates: facts that a parameter of attention keeps, and one of the MLP, over all points.
    """
    figure = Figure(figsize=(4.6, 3.4), layout="constrained")
    axes = figure.add_subplot()
    for i, (shape, seeds) in enumerate(points.items()):
        attention, mlp = np.array([(a / facts, m / facts) for a, m, facts in seeds]).T
        colour, marker = PALETTE[i % len(PALETTE)], MARKERS[i % len(MARKERS)]
        axes.plot(attention, mlp, marker, color=colour, ms=4.5, alpha=0.7, label=shape)
    ends = [1 / rates[0], 1 / rates[1]]
    label = f"{rates[0]:.2g} · attention + {rates[1]:.2g} · MLP = 1 fact"
    axes.plot([ends[0], 0], [0, ends[1]], color=FAINT, lw=1, ls=(0, (4, 2)), label=label)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=-0.03 * ends[1])
    axes.set(xlabel="parameters of attention a fact", ylabel="parameters of the MLP a fact")
    axes.legend(fontsize=6.5, loc="upper right")
    return figure
