"""The outcomes of runs by setting: counts, and shares of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from headway.report.figures.style import FAINT, INK, MARKERS, PALETTE, styled

COLOURS = (PALETTE[0], PALETTE[1], PALETTE[3], "#d9dde1")
"""Colours of the outcomes, in their order."""


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
    widths = (2.2, *(1.0 for _ in shares))
    figure = Figure(figsize=(8.2, 0.9 + 0.26 * sum(heights)), layout="constrained")
    panels = figure.subplots(
        len(groups), len(widths), squeeze=False, height_ratios=heights, width_ratios=widths
    )
    for row, (title, phases) in zip(panels, groups.items(), strict=True):
        _draw_bars(row[0], phases)
        row[0].set_yticks(range(len(phases)), [phase.name for phase in phases])
        row[0].set_title(title)
        for axes, share, marker in zip(row[1:], shares, MARKERS, strict=False):
            _draw_shares(axes, phases, share, marker)
        for axes in row:
            axes.set_ylim(len(phases) - 0.4, -0.6)
            axes.tick_params(axis="x", labelbottom=False)
    for axes in panels[-1]:
        axes.tick_params(axis="x", labelbottom=True)
    for top, bottom, (share, of) in zip(panels[0][1:], panels[-1][1:], shares.items(), strict=True):
        top.set_title(share, fontsize=8.5, weight="normal")
        bottom.set_xlabel(of)
    panels[-1][0].set_xlabel("runs")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower left", ncols=4)
    return figure


def _draw_bars(axes: Axes, phases: Sequence[Phase]) -> None:
    rows, left = range(len(phases)), [0] * len(phases)
    for what, colour in zip(phases[0].counts, COLOURS, strict=False):
        widths = [phase.counts[what] for phase in phases]
        bars = axes.barh(rows, widths, 0.72, left, color=colour, ec="white", lw=0.4, label=what)
        shown = [str(width) if width else "" for width in widths]
        ink = INK if colour == COLOURS[-1] else "white"
        axes.bar_label(bars, shown, label_type="center", fontsize=6.5, color=ink)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axes.set_xlim(0, max(left))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _draw_shares(axes: Axes, phases: Sequence[Phase], share: str, marker: str) -> None:
    colours = dict(zip(phases[0].counts, COLOURS, strict=False))
    colour = colours.get(share, INK)
    for at, phase in enumerate(phases):
        if share in phase.shares:
            value, low, high = phase.shares[share]
            axes.plot([low, high], [at, at], color=colour, lw=1.4)
            axes.plot(value, at, marker, color=colour, ms=4.5)
    axes.set_xlim(-0.04, 1.04)
    axes.set_xticks([0, 0.5, 1], ["0", "½", "1"])
    axes.axvline(0.5, color=FAINT, lw=0.6, ls=(0, (2, 2)))
    axes.set_yticks(range(len(phases)), [""] * len(phases))
    axes.tick_params(axis="y", length=0)
