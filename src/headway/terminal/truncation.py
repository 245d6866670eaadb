"""Truncated weights on the terminal: losses by hop, or how a language model's answers move."""

from collections.abc import Sequence

from rich.table import Table

from headway.language.truncation.effects import Effect
from headway.language.truncation.low_rank import INTACT, spans
from headway.papers.truncation import Row, Truncated
from headway.report.labels import layers_told, rounded, typeset
from headway.terminal.base import columns, console

HOPS = 5
"""The most whose partial losses fit into a line."""


def print_truncated(found: Truncated) -> None:
    """A row for what is truncated: loss and, where there is room, partial loss of every hop.

    What loses less than the intact model is bold.
    """
    hops = list(found.intact.partial) if len(found.intact.partial) <= HOPS else []
    numbers = "rank", "kept", "loss", *map(typeset, hops)
    table = columns(("weights", "layers"), numbers, wrap=False)
    for row in found.rows:
        losses = [row.loss, *(row.partial[hop] for hop in hops)]
        kept = f"{row.fraction:g}", f"{row.kept:.0%}"
        told = (row.weights or "intact", layers_told(row.layers))
        table.add_row(*told, *kept, *map(rounded, losses), style=_style(row, found.intact))
    console().print(table)


def _style(row: Row, intact: Row) -> str:
    return "bold" if row.loss < intact.loss else ""


def print_effects(effects: Sequence[Effect]) -> None:
    """A table a kind of text and set of weights: how far the log-odds of the answer move, with half
    their 95 % interval, by layers and rank."""
    out = console()
    for kind in dict.fromkeys(effect.kind for effect in effects):
        here = [effect for effect in effects if effect.kind == kind]
        whole = next(effect for effect in here if effect.cut == INTACT)
        means = {name: mean.value for name, mean in whole.means.items()}
        out.print(
            f"[bold]{kind}[/]  n={whole.count}, intact: p(answer) {means['answer']:.3f},"
            f" p(generic) {means['generic']:.3f}, log-odds {means['log_odds']:+.2f}"
        )
        for weights in dict.fromkeys(e.cut.weights for e in here if e.cut != INTACT):
            out.print(_table([e for e in here if e.cut.weights == weights], weights))


def _table(effects: Sequence[Effect], weights: str) -> Table:
    fractions = sorted({effect.cut.fraction for effect in effects})
    by = {(e.cut.layers, e.cut.fraction): e.means["log_odds"] for e in effects}
    ranks = [f"rank {fraction:g}" for fraction in fractions]
    table = columns((f"{weights}, layers",), ranks, wrap=False)
    alone = sorted({effect.cut.layers[0] for effect in effects})
    for layers in dict.fromkeys(layers for some in spans(alone).values() for layers in some):
        means = [by[layers, fraction] for fraction in fractions]
        half = [(mean.change_high - mean.change_low) / 2 for mean in means]
        told = [f"{m.change:+.2f} ±{h:.2f}" for m, h in zip(means, half, strict=True)]
        table.add_row(layers_told(layers), *told)
    return table
