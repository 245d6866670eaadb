"""Weights cut to low rank: changes of a language model's answers."""

from matplotlib.figure import Figure

from headway_experiments.figures import Panel, Series, draw_panels, numbered
from headway_experiments.truncation.effects import Effects

LABELS = {"log_odds": "log p(answer) / p(generic)", "answer": "p(answer)", "generic": "p(generic)"}
SPANS = {"alone": "truncated layer", "upwards": "truncated from this layer up"}


def draw_effects(found: Effects, weights: str, span: str) -> Figure:
    """A row per measure, a column per kind of text: means with intervals, layer by layer, a line
    for every fraction of the full rank."""
    panels = []
    for measure, label in LABELS.items():
        for kind, table in found.items():
            sets, series = table.spans[span], []
            lowest = [layers[0] for layers in sets]
            for i, fraction in enumerate(table.fractions):
                means = [table.at(layers, weights, fraction)[measure] for layers in sets]
                ends, values = [(m.low, m.high) for m in means], [m.value for m in means]
                look = numbered(i, marker=True, ms=3.2)
                series.append(Series(lowest, values, look, f"rank {fraction:g}", ends))
            levels = {"all": table.intact[measure].value}
            limits = {"xlim": (min(lowest) - 0.5, max(lowest) + 0.5)}
            panels.append(Panel(kind, series, SPANS[span], label, levels, limits=limits))
    return draw_panels(panels, columns=len(found))
