"""Figures of experiments: panels of curves and points, outcomes by setting, counts."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator

from headway.figures import FAINT, INK, MARKERS, PALETTE, hop_lines, log_scale, look, styled

Look = Mapping[str, Any]
"""Keywords of `Axes.plot`."""

DOTTED: Look = {"color": FAINT, "lw": 1, "ls": (0, (2, 2))}
"""The look of what is expected."""

COLOURS = (PALETTE[0], PALETTE[1], PALETTE[3], "#d9dde1")
"""Colours of the outcomes, in their order."""


@dataclass(frozen=True)
class Series:
    """Points of one look.

    Attributes:
        x: where they stand.
        y: what is drawn, one for each x.
        look: of the line or the points.
        label: in the legend; nothing there if empty.
        ends: of the interval of each y, if they have any.
    """

    x: Sequence[float]
    y: Sequence[float]
    look: Look
    label: str = ""
    ends: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True)
class Panel:
    """One of several panels.

    Attributes:
        title: above it.
        series: in the order in which they are drawn.
        x: what the horizontal axis shows.
        y: what the vertical axis shows.
        levels: values to mark across the panel, by name; a name may be empty.
        shade: from where to where the panel is shaded.
        log: the logarithmic axes: `x`, `y`, `xy`; or `steps`, logarithmic with 0.
        limits: more keywords of `Axes.set`.
    """

    title: str
    series: Sequence[Series]
    x: str = "step"
    y: str = ""
    levels: Mapping[str, float] = field(default_factory=dict)
    shade: tuple[float, float] | None = None
    log: str = ""
    limits: Mapping[str, Any] = field(default_factory=dict)


def numbered(number: int, marker: bool = False, **more: Any) -> Look:
    """The colour and dashes of one of several curves, and its marker if that is wanted."""
    return {**look(number), "lw": 1.2, "alpha": 0.85, **({} if marker else {"marker": ""}), **more}


def curves(named: Mapping[str, Iterable[tuple[Sequence[float], Sequence[float]]]]) -> list[Series]:
    """A look for every name, which may have several curves."""
    return [
        Series(x, y, numbered(i), "" if j else name)
        for i, (name, several) in enumerate(named.items())
        for j, (x, y) in enumerate(several)
    ]


def hop_curves(
    steps: Sequence[int], losses: Mapping[str, Sequence[float]], **more: Any
) -> list[Series]:
    """A curve for every hop, from dark to light along the chain."""
    looks = hop_lines(list(losses)).values()
    return [
        Series(steps, values, {"color": one.colour, "ls": one.dashes, "lw": 1.2, **more}, hop)
        for (hop, values), one in zip(losses.items(), looks, strict=True)
    ]


def means(
    points: Iterable[tuple[float, float]],
    look: Look,
    label: str,
    mean: Callable[[Sequence[float]], float] = statistics.mean,
) -> list[Series]:
    """A dot for every point, and a line through the means at every x."""
    at: dict[float, list[float]] = {}
    for x, y in points:
        at.setdefault(x, []).append(y)
    dots = {**look, "marker": "o", "ls": "none", "ms": 3.5, "alpha": 0.45}
    known = sorted(at)
    return [
        *(Series([x] * len(at[x]), at[x], dots) for x in known),
        Series(known, [mean(at[x]) for x in known], look, label),
    ]


@styled
def draw_panels(panels: Sequence[Panel], columns: int = 3, shared: bool = False) -> Figure:
    """At least one panel, row by row.

    Args:
        panels: to draw.
        columns: of the grid, at most.
        shared: whether all have the same axes, and one legend beside them.
    """
    columns = min(columns, len(panels))
    rows, (wide, high) = -(-len(panels) // columns), (2.3, 1.9) if shared else (3.7, 3.0)
    figure = Figure(figsize=(0.8 + wide * columns, 0.3 + high * rows), layout="constrained")
    axis = "all" if shared else "none"
    grid = figure.subplots(rows, columns, sharex=axis, sharey=axis, squeeze=False).flatten()
    for axes, panel in zip(grid, panels, strict=False):
        _draw_panel(axes, panel)
        if shared:
            axes.set_title(panel.title, fontsize=8.5, weight="normal")
            axes.tick_params(labelbottom=True, labelsize=7)
        else:
            axes.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
            if axes.get_legend_handles_labels()[0]:
                axes.legend(fontsize=7.5)
    for axes in grid[len(panels) :]:
        axes.axis("off")
    if shared:
        found = [zip(*axes.get_legend_handles_labels(), strict=True) for axes in grid]
        entries = {label: handle for pairs in found for handle, label in pairs}
        figure.legend(entries.values(), entries.keys(), loc="outside right upper", fontsize=7.5)
        figure.supxlabel(panels[0].x, fontsize=8.5)
        figure.supylabel(panels[0].y, fontsize=8.5)
    return figure


def _draw_panel(axes: Axes, panel: Panel) -> None:
    for one in panel.series:
        axes.plot(one.x, one.y, label=one.label or None, **one.look)
        if one.ends:
            low, high = zip(*one.ends, strict=True)
            axes.vlines(one.x, low, high, color=one.look["color"], lw=0.7)
    for name, level in panel.levels.items():
        axes.axhline(level, color=FAINT, lw=0.7, ls=(0, (1, 2)), zorder=1)
        place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
        axes.annotate(name, (1, level), (-1, 1.5), ha="right", fontsize=6.5, color=FAINT, **place)
    if panel.shade is not None:
        axes.axvspan(*panel.shade, color=FAINT, alpha=0.25, lw=0)
    if panel.log == "steps":
        axes.set_xscale("symlog", linthresh=1)
        axes.xaxis.set_major_formatter("{x:g}")
    else:
        log_scale(axes, panel.log)
    if "x" not in panel.log:
        axes.set_xlim(left=0)
    axes.set(**panel.limits)


@dataclass(frozen=True)
class Phase:
    """The outcomes of the runs of one setting.

    Attributes:
        name: of the setting.
        counts: how many runs had each outcome; the same outcomes, in the same order, in every
            setting.
        shares: the shares to draw, by name, each with the lower and the upper end of its interval.
    """

    name: str
    counts: Mapping[str, int]
    shares: Mapping[str, tuple[float, float, float]]


@styled
def draw_phases(groups: Mapping[str, Sequence[Phase]], shares: Mapping[str, str]) -> Figure:
    """A row per setting: bars of counts, and beside them, per share, a column of dots with
    intervals.

    Args:
        groups: settings by the title of their group; at least one.
        shares: by name, in the order of their columns, what each is a share of. A share has the
            colour of the count of the same name.
    """
    heights = [len(phases) for phases in groups.values()]
    figure = Figure(figsize=(8.2, 0.9 + 0.26 * sum(heights)), layout="constrained")
    panels = figure.subplots(
        len(groups),
        1 + len(shares),
        sharex="col",
        squeeze=False,
        height_ratios=heights,
        width_ratios=(2.2, *(1.0 for _ in shares)),
    )
    for row, (title, phases) in zip(panels, groups.items(), strict=True):
        _draw_bars(row[0], phases)
        row[0].set_title(title)
        for axes, share, marker in zip(row[1:], shares, MARKERS, strict=False):
            _draw_shares(axes, phases, share, marker)
        for axes in row:
            axes.set_ylim(len(phases) - 0.4, -0.6)
    for top, bottom, (share, of) in zip(panels[0][1:], panels[-1][1:], shares.items(), strict=True):
        top.set_title(share, fontsize=8.5, weight="normal")
        bottom.set_xlabel(of)
    panels[-1][0].set_xlabel("runs")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower left", ncols=4)
    return figure


def _draw_bars(axes: Axes, phases: Sequence[Phase]) -> None:
    rows, left = range(len(phases)), np.zeros(len(phases))
    for what, colour in zip(phases[0].counts, COLOURS, strict=False):
        widths = np.array([phase.counts[what] for phase in phases])
        bars = axes.barh(rows, widths, 0.72, left, color=colour, ec="white", lw=0.4, label=what)
        ink = INK if colour == COLOURS[-1] else "white"
        shown = [str(width) if width else "" for width in widths]
        axes.bar_label(bars, shown, label_type="center", fontsize=6.5, color=ink)
        left += widths
    axes.set_yticks(rows, [phase.name for phase in phases])
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _draw_shares(axes: Axes, phases: Sequence[Phase], share: str, marker: str) -> None:
    colour = dict(zip(phases[0].counts, COLOURS, strict=False)).get(share, INK)
    for at, phase in enumerate(phases):
        if share in phase.shares:
            value, low, high = phase.shares[share]
            axes.plot([low, high], [at, at], color=colour, lw=1.4)
            axes.plot(value, at, marker, color=colour, ms=4.5)
    axes.axvline(0.5, color=FAINT, lw=0.6, ls=(0, (2, 2)))
    axes.set(xlim=(-0.04, 1.04), yticks=[])
    axes.set_xticks([0, 0.5, 1], ["0", "½", "1"])


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
            axes.axvline(level[1], label=level[0], **DOTTED)
        axes.set_title(f"{name}, n = {len(values)}", fontsize=8.5, weight="normal")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_locator(NullLocator())
        axes.margins(y=0.18)
    panels[0].set_ylabel("seeds")
    figure.supxlabel(axis, fontsize=8.5)
    if level is not None:
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper")
    return figure
