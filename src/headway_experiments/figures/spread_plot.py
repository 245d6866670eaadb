"""How numbers spread over seeds: counts by group, and one number against another."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from headway.report.figures.style import FAINT, INK, PALETTE, styled


@styled
def draw_counts(
    groups: Mapping[str, Sequence[float]], axis: str, level: tuple[str, float] | None = None
) -> Figure:
    """A panel per group: how many of its members have each whole number.

    Args:
        groups: whole numbers by group; at least one group.
        axis: what they are.
        level: a number to mark, and its name.
    """
    figure = Figure(figsize=(1.0 + 2.1 * len(groups), 2.4), layout="constrained")
    panels = figure.subplots(1, len(groups), sharex=True, squeeze=False).flatten()
    for axes, (name, values) in zip(panels, groups.items(), strict=True):
        counts = Counter(round(value) for value in values)
        bars = axes.bar(list(counts), list(counts.values()), 0.8, color=PALETTE[0])
        axes.bar_label(bars, fontsize=7.5, color=INK)
        if level is not None:
            axes.axvline(level[1], color=FAINT, lw=1, ls=(0, (2, 2)), label=level[0])
        axes.set_title(f"{name}, n = {len(values)}", fontsize=8.5, weight="normal")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_locator(NullLocator())
        axes.margins(y=0.18)
    panels[0].set_ylabel("seeds")
    figure.supxlabel(axis, fontsize=8.5)
    if level is not None:
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper")
    return figure


@styled
def draw_growth(points: Sequence[tuple[float, float]], x: str, y: str) -> Figure:
    """On two logarithmic axes: a dot per run, a line through the geometric means, and slope 2.

    Args:
        points: numbers above 0, of at least one run.
        x: what the first of each is.
        y: what the second is.
    """
    figure = Figure(figsize=(4.6, 3.2), layout="constrained")
    axes = figure.add_subplot()
    known = sorted({a for a, _ in points})
    means = [float(np.exp(np.mean([np.log(b) for a, b in points if a == at]))) for at in known]
    axes.plot(*zip(*points, strict=True), "o", color=PALETTE[0], ms=4, alpha=0.5, label="a run")
    axes.plot(known, means, color=PALETTE[0], lw=1.6, label="mean")
    square = [means[0] * (at / known[0]) ** 2 for at in known]
    axes.plot(known, square, color=FAINT, lw=1, ls=(0, (2, 2)), label="growing as the square")
    axes.set(
        xscale="log",
        yscale="log",
        ylim=(0.7 * min(b for _, b in points), 1.5 * max(b for _, b in points)),
    )
    axes.xaxis.set_major_locator(FixedLocator(known))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter("{x:g}")
    for formatted in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        formatted("{x:g}")
    axes.set(xlabel=x, ylabel=y)
    axes.legend(fontsize=7.5)
    return figure
