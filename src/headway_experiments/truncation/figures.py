"""Weights cut to low rank: what a run's model loses, and how a language model's answers change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from headway.figures import FAINT, INK, PAPER, draw_intervals, look, styled, typeset


@dataclass(frozen=True)
class Point:
    """A mean at a layer, with its interval."""

    layer: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Panel:
    """One measure of one kind of text.

    Attributes:
        intact: of the model as it is; its layer does not count.
        curves: by the fraction of the full rank, a point for every layer.
    """

    intact: Point
    curves: Mapping[float, Sequence[Point]]


@styled
def draw_effects(rows: Mapping[str, Mapping[str, Panel]], layers: str) -> Figure:
    """A row per measure, a column per kind of text: means with intervals, layer by layer.

    Args:
        rows: panels by measure, and by kind.
        layers: what the axis of layers says.
    """
    kinds = list(next(iter(rows.values())))
    size = (1.2 + 2.1 * len(kinds), 0.7 + 1.75 * len(rows))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(rows), len(kinds), sharex=True, sharey="row", squeeze=False)
    for line, (measure, panels) in zip(grid, rows.items(), strict=True):
        for axes, kind in zip(line, kinds, strict=True):
            _draw_panel(axes, panels[kind])
        line[0].set_ylabel(measure)
    for axes, kind in zip(grid[0], kinds, strict=True):
        axes.set_title(kind, fontsize=8.5, weight="normal")
    for axes in grid[-1]:
        axes.set_xlabel(layers)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        title="rank kept",
        loc="outside right upper",
        fontsize=7.5,
        title_fontsize=8,
    )
    return figure


def _draw_panel(axes, panel: Panel) -> None:
    axes.axhspan(panel.intact.low, panel.intact.high, color=FAINT, alpha=0.18, lw=0)
    axes.axhline(panel.intact.value, color=FAINT, lw=1, ls=(0, (4, 2)), label="all")
    for i, (fraction, points) in enumerate(sorted(panel.curves.items())):
        placed = [(p.layer, p.value, p.low, p.high) for p in points]
        width = {"ms": 3.2, "lw": 1.1, "elinewidth": 0.7}
        draw_intervals(axes, placed, label=f"{fraction:g}", **look(i), **width)


@styled
def draw_losses_cut(
    tables: Mapping[str, Mapping[float, Sequence[Sequence[float]]]],
    rows: Mapping[str, Sequence[str]],
    columns: Sequence[str],
) -> Figure:
    """A row per set of weights and span, a column per fraction: the loss of every hop, by layer.

    Args:
        tables: by name and fraction, the losses by layers and hop.
        rows: by name, the layers that are truncated.
        columns: the hops.
    """
    fractions = sorted(next(iter(tables.values())))
    wide = 0.42 * len(columns) + 0.5
    tall = [0.26 * len(rows[name]) + 0.5 for name in tables]
    figure = Figure(figsize=(1.6 + wide * len(fractions), 0.4 + sum(tall)), layout="constrained")
    grid = figure.subplots(
        len(tables), len(fractions), squeeze=False, gridspec_kw={"height_ratios": tall}
    )
    top = max(1.0, *(np.max(table) for by in tables.values() for table in by.values()))
    for line, (name, by_fraction) in zip(grid, tables.items(), strict=True):
        for axes, fraction in zip(line, fractions, strict=True):
            values = np.array(by_fraction[fraction])
            axes.imshow(values, cmap="Blues", vmin=0, vmax=top, aspect="auto")
            for (row, column), value in np.ndenumerate(values):
                colour = PAPER if value > 0.6 * top else INK
                text = f"{value:.2f}".removeprefix("0") if value < 9.95 else f"{value:.0f}"
                axes.text(column, row, text, ha="center", va="center", size=6.5, color=colour)
            axes.set_xticks(range(len(columns)), [typeset(hop) for hop in columns], fontsize=7.5)
            axes.set_yticks(range(len(values)), rows[name] if axes is line[0] else [], fontsize=7.5)
            axes.tick_params(length=0)
        line[0].set_ylabel(name, fontsize=8)
    for axes, fraction in zip(grid[0], fractions, strict=True):
        axes.set_title(f"rank {fraction:g}", fontsize=8.5, weight="normal")
    return figure
