"""How much models keep, against their number of parameters."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from headway.report.figures.style import FAINT, log_scale, look, styled


@dataclass(frozen=True)
class Kept:
    """What models of one kind keep.

    Attributes:
        label: their kind.
        points: (parameters, how much is kept) of every model.
    """

    label: str
    points: Sequence[tuple[float, float]]


@styled
def draw_capacity(kinds: Sequence[Kept], x: str, y: str) -> Figure:
    """On two logarithmic axes: a dot per model, a straight line per kind, and one of slope 1.

    Args:
        kinds: of which at least one has a point.
        x: what parameters they are.
        y: what is kept.
    """
    figure = Figure(figsize=(4.8, 3.4), layout="constrained")
    axes = figure.add_subplot()
    for i, kind in enumerate(kinds):
        if not kind.points:
            continue
        sizes, kept = np.array(sorted(kind.points)).T
        drawn, label = look(i), kind.label
        if len(set(sizes)) > 1:
            slope, start = np.polyfit(np.log(sizes), np.log(kept), 1)
            line = np.exp(start) * sizes**slope
            axes.plot(sizes, line, color=drawn["color"], ls=drawn["ls"], lw=1.2)
            label = f"{kind.label}, slope {slope:.2f}"
        axes.plot(sizes, kept, ms=4, alpha=0.6, label=label, **{**drawn, "ls": "none"})
    every = np.array(sorted(point for kind in kinds for point in kind.points))
    share = np.exp(np.mean(np.log(every[:, 1] / every[:, 0])))
    label = f"{share:.2g} a parameter"
    ends = every[[0, -1], 0]
    axes.plot(ends, share * ends, color=FAINT, lw=1, ls=(0, (2, 2)), label=label)
    log_scale(axes, "xy")
    axes.set(xlabel=x, ylabel=y)
    axes.legend(fontsize=7.5)
    return figure
