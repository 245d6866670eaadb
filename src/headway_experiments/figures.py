"""Figures of experiments: panels of curves and points, with intervals."""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from headway.intervals import wilson
from headway.training import Run
from headway_experiments.reading import grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Look = Mapping[str, Any]
"""Keywords of `Axes.plot`."""


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
        names: of 0, 1, … on the horizontal axis, if it has settings in place of
            numbers.
    """

    title: str
    series: Sequence[Series]
    x: str = "step"
    y: str = ""
    levels: Mapping[str, float] = field(default_factory=dict)
    shade: tuple[float, float] | None = None
    log: str = ""
    limits: Mapping[str, Any] = field(default_factory=dict)
    names: Sequence[str] = ()


def dotted() -> Look:
    """The look of what is expected."""
    from headway.report.figures.style import FAINT

    return {"color": FAINT, "lw": 1, "ls": (0, (2, 2))}


def numbered(number: int, marker: bool = False, **more: Any) -> Look:
    """The colour and dashes of one of several curves, and its marker if that is
    wanted.
    """
    from headway.report.figures.style import look

    return {
        **look(number),
        "lw": 1.2,
        "alpha": 0.85,
        **({} if marker else {"marker": ""}),
        **more,
    }


def curves(
    named: Mapping[str, Iterable[tuple[Sequence[float], Sequence[float]]]],
) -> list[Series]:
    """A look for every name, which may have several curves."""
    series = []
    for i, (name, several) in enumerate(named.items()):
        for j, (x, y) in enumerate(several):
            label = "" if j else name
            series.append(Series(x, y, numbered(i), label))
    return series


def run_curves(run: Run, hops: Sequence[str]) -> list[Series]:
    """The partial losses of a run against the step, of the hops that it is asked
    for.
    """
    lines = run.metrics()
    steps = [line["step"] for line in lines]
    series = []
    for i, hop in enumerate(hops):
        losses = [line["partial"].get(hop, math.nan) for line in lines]
        series.append(Series(steps, losses, numbered(i, alpha=1), hop))
    return series


def losses(runs: Mapping[str, Run], hop: str) -> list[tuple[list[int], list[float]]]:
    """The steps of every run, and its partial losses of a hop."""
    curves = []
    for run in runs.values():
        lines = run.metrics()
        steps = [line["step"] for line in lines]
        curves.append((steps, [line["partial"][hop] for line in lines]))
    return curves


def means(
    points: Iterable[tuple[float, float]],
    look: Look,
    label: str,
    mean: Callable[[Sequence[float]], float] = statistics.mean,
) -> list[Series]:
    """A dot for every point, and a line through the means at every x."""
    at = grouped(points)
    places = sorted(at)
    dots = {**look, "marker": "o", "ls": "none", "ms": 3.5, "alpha": 0.45}
    series = []
    for x in places:
        y = at[x]
        same_place = [x] * len(y)
        series.append(Series(same_place, y, dots))
    averages = [mean(at[x]) for x in places]
    return [*series, Series(places, averages, look, label)]


def share_panel(
    title: str,
    y: str,
    shares: Mapping[str, Mapping[str, tuple[int, int]]],
    names: Sequence[str],
) -> Panel:
    """Shares of several kinds by setting, side by side, with their 95 % intervals
    (Wilson).

    Args:
        title: of the panel.
        y: what the shares are of.
        shares: by kind and setting, how many are, and of how many, at least one.
        names: of the settings, in order.
    """
    apart = min(0.2, 0.8 / len(shares))
    middle = (len(shares) - 1) / 2
    series = []
    for i, (kind, counts) in enumerate(shares.items()):
        places = [names.index(name) + (i - middle) * apart for name in counts]
        look = numbered(i, marker=True, ls="none", ms=4)
        series.append(_shares(places, counts.values(), look, kind))
    limits = {"ylim": (-0.04, 1.04), "xlim": (-0.6, len(names) - 0.4)}
    return Panel(title, series, "", y, {"": 0.5}, limits=limits, names=names)


def _shares(
    places: Sequence[float], counts: Iterable[tuple[int, int]], look: Look, label: str
) -> Series:
    """Shares with their intervals, of counts of some among all."""
    values = []
    ends = []
    for some, every in counts:
        values.append(some / every)
        ends.append(wilson(some, every))
    return Series(places, values, look, label, ends)


def draw_panels(
    panels: Sequence[Panel], columns: int = 3, shared: bool = False
) -> "Figure":
    """At least one panel, row by row.

    Args:
        panels: to draw.
        columns: of the grid, at most.
        shared: whether all have the same axes, and one legend beside them.
    """
    from headway.report.figures.style import styled

    return styled(_drawn)(panels, columns, shared)


def _drawn(panels: Sequence[Panel], columns: int, shared: bool) -> "Figure":
    from matplotlib.figure import Figure

    columns = min(columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    wide, high = (2.3, 1.9) if shared else (3.7, 3.0)
    figure = Figure(
        figsize=(0.8 + wide * columns, 0.3 + high * rows), layout="constrained"
    )
    axis = "all" if shared else "none"
    grid = figure.subplots(
        rows, columns, sharex=axis, sharey=axis, squeeze=False
    ).flatten()
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
        _label_all(figure, panels[0])
    return figure


def _label_all(figure: "Figure", panel: Panel) -> None:
    """The legend and the labels of all axes of a figure whose panels are alike."""
    entries = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries[label] = handle
    figure.legend(
        entries.values(), entries.keys(), loc="outside right upper", fontsize=7.5
    )
    figure.supxlabel(panel.x, fontsize=8.5)
    figure.supylabel(panel.y, fontsize=8.5)


def _draw_panel(axes: "Axes", panel: Panel) -> None:
    from headway.report.figures.style import FAINT, log_scale

    for curve in panel.series:
        axes.plot(curve.x, curve.y, label=curve.label or None, **curve.look)
        if curve.ends:
            low, high = zip(*curve.ends, strict=True)
            axes.vlines(curve.x, low, high, color=curve.look["color"], lw=0.7)
    for name, level in panel.levels.items():
        axes.axhline(level, color=FAINT, lw=0.7, ls=(0, (1, 2)), zorder=1)
        place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
        axes.annotate(
            name, (1, level), (-1, 1.5), ha="right", fontsize=6.5, color=FAINT, **place
        )
    if panel.shade is not None:
        axes.axvspan(*panel.shade, color=FAINT, alpha=0.25, lw=0)
    if panel.log == "steps":
        axes.set_xscale("symlog", linthresh=1)
        axes.xaxis.set_major_formatter("{x:g}")
    else:
        log_scale(axes, panel.log)
    if "x" not in panel.log:
        axes.set_xlim(left=0)
    if panel.names:
        places = range(len(panel.names))
        axes.set_xticks(places, panel.names, rotation=30, ha="right")
    axes.set(**panel.limits)


def can_draw() -> bool:
    """Tell whether figures can be drawn, and print what they need if not."""
    if find_spec("matplotlib") is not None:
        return True
    print("without figures: they need pip install 'headway-interp[plot]'")
    return False
