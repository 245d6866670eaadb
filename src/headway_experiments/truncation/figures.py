"""Weights cut to low rank: changes of a language model's answers."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from headway_experiments.figures import Panel, Series, draw_panels, numbered
from headway_experiments.truncation.cuts import Table
from headway_experiments.truncation.effects import Mean

LABELS = {"log_odds": "log p(answer) / p(generic)", "answer": "p(answer)", "generic": "p(generic)"}
SPANS = {"alone": "truncated layer", "upwards": "truncated from this layer up"}


def draw_effects(found: Mapping[str, Table[dict[str, Mean]]], weights: str, span: str) -> Figure:
    """A row per measure, a column per kind of text: means with intervals, layer by layer, a line
    for every fraction of the full rank."""
    panels = []
    for measure, label in LABELS.items():
        for kind, table in found.items():
            intact, series = table.intact.found[measure], []
            for i, fraction in enumerate(table.fractions):
                rows = [table.at(layers, weights, fraction) for layers in table.spans[span]]
                means = [row.found[measure] for row in rows]
                ends = [(mean.low, mean.high) for mean in means]
                at, values = [row.cut.layers[0] for row in rows], [mean.value for mean in means]
                look = numbered(i, marker=True, ms=3.2)
                series.append(Series(at, values, look, f"rank {fraction:g}", ends))
            levels, limits = {"all": intact.value}, _around(table.spans[span])
            panels.append(Panel(kind, series, SPANS[span], label, levels, limits=limits))
    return draw_panels(panels, columns=len(found))


def _around(sets: Sequence[tuple[int, ...]]) -> dict[str, tuple[float, float]]:
    """The limits of an axis that shows the lowest layers of some sets."""
    lowest = [layers[0] for layers in sets]
    return {"xlim": (min(lowest) - 0.5, max(lowest) + 0.5)}
