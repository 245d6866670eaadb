"""Weights cut to low rank: changes of a language model's answers, printed and drawn."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from headway.terminal import columns, console
from headway_experiments.figures import Panel, Series, draw_panels, numbered
from headway_experiments.truncation.cuts import INTACT, Axes, Cut
from headway_experiments.truncation.effects import Effects

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELS = {"log_odds": "log p(answer) / p(generic)", "answer": "p(answer)", "generic": "p(generic)"}
SPANS = {"alone": "truncated layer", "upwards": "truncated from this layer up"}


def print_effects(found: Effects, counts: Mapping[str, int]) -> None:
    """A table per kind of text and set of weights: the change of the answer's log-odds, with half
    its 95 % interval, by layers and rank."""
    out = console()
    for kind, rows in found.items():
        means = {name: mean.value for name, mean in rows[INTACT].items()}
        told = (
            f"  n={counts[kind]}, intact: p(answer) {means['answer']:.3f},"
            f" p(generic) {means['generic']:.3f}, log-odds {means['log_odds']:+.2f}"
        )
        out.print(Text.assemble((kind, "bold"), told))
        names, fractions, spans = Axes.of(rows)
        for weights in names:
            shown = columns((f"{weights}, layers",), [f"rank {f:g}" for f in fractions])
            for layers in dict.fromkeys(layers for some in spans.values() for layers in some):
                means = [rows[Cut(layers, weights, f)]["log_odds"] for f in fractions]
                half = [(mean.change_high - mean.change_low) / 2 for mean in means]
                told = [f"{m.change:+.2f} ±{h:.2f}" for m, h in zip(means, half, strict=True)]
                shown.add_row(_span(layers), *told)
            out.print(shown)


def _span(layers: Sequence[int]) -> str:
    """Layers as they are asked for: `20`, `20..29`, `3,7`; the intact model has none."""
    if len(layers) > 2 and list(layers) == list(range(layers[0], layers[-1] + 1)):
        return f"{layers[0]}..{layers[-1]}"
    return ",".join(map(str, layers)) or "–"


def draw_effects(found: Effects, weights: str, span: str) -> "Figure":
    """A row per measure, a column per kind of text: means with intervals, layer by layer, a line
    for every fraction of the full rank."""
    panels = []
    for measure, label in LABELS.items():
        for kind, rows in found.items():
            _, fractions, spans = Axes.of(rows)
            sets = spans[span]
            series = []
            lowest = [layers[0] for layers in sets]
            for i, fraction in enumerate(fractions):
                means = [rows[Cut(layers, weights, fraction)][measure] for layers in sets]
                ends = [(m.low, m.high) for m in means]
                values = [m.value for m in means]
                look = numbered(i, marker=True, ms=3.2)
                series.append(Series(lowest, values, look, f"rank {fraction:g}", ends))
            levels = {"all": rows[INTACT][measure].value}
            limits = {"xlim": (min(lowest) - 0.5, max(lowest) + 0.5)}
            panels.append(Panel(kind, series, SPANS[span], label, levels, limits=limits))
    return draw_panels(panels, columns=len(found))
