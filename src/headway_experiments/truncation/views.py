"""Weights cut to low rank: changes of a language model's answers, printed and drawn."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from headway.terminal import columns, console
from headway_experiments.figures import Panel, Series, draw_panels, numbered
from headway_experiments.truncation.cuts import INTACT, Axes, Cut
from headway_experiments.truncation.effects import Effects, Mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELS = {
    "log_odds": "log p(answer) / p(generic)",
    "answer": "p(answer)",
    "generic": "p(generic)",
}
SPANS = {"alone": "truncated layer", "upwards": "truncated from this layer up"}


def print_effects(effects: Effects, counts: Mapping[str, int]) -> None:
    """A table per kind of text and set of weights: the change of the answer's log-odds,
    with half its 95 % interval, by layers and rank."""
    out = console()
    for kind, rows in effects.items():
        intact = rows[INTACT]
        answer = f"p(answer) {intact['answer'].value:.3f}"
        generic = f"p(generic) {intact['generic'].value:.3f}"
        odds = f"log-odds {intact['log_odds'].value:+.2f}"
        told = f"  n={counts[kind]}, intact: {answer}, {generic}, {odds}"
        out.print(Text.assemble((kind, "bold"), told))
        for weights in Axes.of(rows).weights:
            out.print(_changes(rows, weights))


def _changes(rows: Mapping[Cut, Mapping[str, Mean]], weights: str) -> Table:
    """The change of the log-odds by layers and rank, and half of its interval."""
    axes = Axes.of(rows)
    ranks = [f"rank {fraction:g}" for fraction in axes.fractions]
    table = columns((f"{weights}, layers",), ranks)
    sets = [layers for some in axes.spans.values() for layers in some]
    for layers in dict.fromkeys(sets):
        cells = []
        for fraction in axes.fractions:
            mean = rows[Cut(layers, weights, fraction)]["log_odds"]
            half = (mean.change_high - mean.change_low) / 2
            cells.append(f"{mean.change:+.2f} ±{half:.2f}")
        table.add_row(_span(layers), *cells)
    return table


def _span(layers: Sequence[int]) -> str:
    """Layers as they are asked for: `20`, `20..29`, `3,7`; the intact model has
    none.
    """
    if len(layers) > 2 and list(layers) == list(range(layers[0], layers[-1] + 1)):
        return f"{layers[0]}..{layers[-1]}"
    return ",".join(map(str, layers)) or "–"


def draw_effects(effects: Effects, weights: str, span: str) -> "Figure":
    """A row per measure, a column per kind of text: means with intervals, layer by
    layer, a line for every fraction of the full rank."""
    panels = []
    for measure, label in LABELS.items():
        for kind, rows in effects.items():
            sets = Axes.of(rows).spans[span]
            lowest = [layers[0] for layers in sets]
            series = _by_rank(rows, weights, sets, measure)
            levels = {"all": rows[INTACT][measure].value}
            panel = Panel(
                kind, series, SPANS[span], label, levels, limits=_around(lowest)
            )
            panels.append(panel)
    return draw_panels(panels, columns=len(effects))


def _around(layers: Sequence[int]) -> dict[str, tuple[float, float]]:
    """Limits that leave half a layer on both sides."""
    low = min(layers)
    high = max(layers)
    return {"xlim": (low - 0.5, high + 0.5)}


def _by_rank(
    rows: Mapping[Cut, Mapping[str, Mean]],
    weights: str,
    sets: Sequence[tuple[int, ...]],
    measure: str,
) -> list[Series]:
    """A measure by the lowest layer that is cut, rank by rank."""
    lowest = [layers[0] for layers in sets]
    series = []
    for i, fraction in enumerate(Axes.of(rows).fractions):
        means = [rows[Cut(layers, weights, fraction)][measure] for layers in sets]
        values = [mean.value for mean in means]
        ends = [(mean.low, mean.high) for mean in means]
        look = numbered(i, marker=True, ms=3.2)
        series.append(Series(lowest, values, look, f"rank {fraction:g}", ends))
    return series
