"""Counts of minimal circuits as a table and as a figure."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import mean, median
from typing import TYPE_CHECKING

from headway.intervals import wilson
from headway_experiments.identifiability.counting import ABLATIONS, Count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VERDICTS = "none", "one", "several", "unknown"

COLUMNS = (
    *("family", "ablation", "models", *VERDICTS),
    "one circuit, of those that have any",
    "circuits, median (most)",
    "one set of heads",
    "paths in all of any",
)


def groups(counts: Sequence[Count]) -> Iterator[tuple[str, str, list[Count]]]:
    """The counts of all families under every ablation, then of every family."""
    for family in ("all", *dict.fromkeys(one.family for one in counts)):
        for ablation in ABLATIONS:
            some = [
                one
                for one in counts
                if family in ("all", one.family) and (one.ablation, one.refused) == (ablation, "")
            ]
            if some:
                yield family, ablation, some


def share(counts: Sequence[Count], of: str) -> tuple[int, int]:
    """The number of models with one circuit, or one set of heads; and of those that have any."""
    found = [one.verdict(of) for one in counts]
    return found.count("one"), found.count("one") + found.count("several")


def rows(counts: Sequence[Count]) -> Iterator[list[str]]:
    """The cells of the table, line by line."""
    for family, ablation, some in groups(counts):
        found = [one.verdict("paths") for one in some]
        one, known = share(some, "paths")
        sizes = [len(model.circuits) for model in some if model.circuits]
        sets = [[set(paths) for paths in model.circuits] for model in some if model.circuits]
        core = [len(set.intersection(*own)) / len(set.union(*own)) for own in sets if any(own)]
        low, high = wilson(one, known) if known else (0.0, 1.0)
        yield [
            *(family, ablation, str(len(some))),
            *(str(found.count(verdict)) for verdict in VERDICTS),
            f"{one} of {known} ({low:.2f}..{high:.2f})",
            f"{median(sizes):g} ({max(sizes)})" if sizes else "–",
            "{} of {}".format(*share(some, "heads")),
            f"{mean(core):.2f}" if core else "–",
        ]


def throughout(counts: Sequence[Count]) -> dict[str, tuple[int, int]]:
    """The number of models of which something holds under all ablations, and of how many.

    Those count that have a circuit, and a verdict, under every ablation.
    """
    ordered = sorted(counts, key=lambda one: one.model)
    whole = [list(some) for _, some in groupby(ordered, lambda one: one.model)]
    known = [
        some
        for some in whole
        if len(some) == len(ABLATIONS)
        and all(one.verdict("paths") in ("one", "several") for one in some)
    ]
    circuits = [{frozenset(map(frozenset, one.circuits)) for one in some} for some in known]
    heads = [{frozenset(one.heads) for one in some} for some in known]
    verdicts = [{one.verdict("paths") for one in some} for some in known]
    found = {
        "one circuit, and the same": [len(c) == 1 == len(next(iter(c))) for c in circuits],
        "the same circuits": [len(c) == 1 for c in circuits],
        "one set of heads, and the same": [len(h) == 1 == len(next(iter(h))) for h in heads],
        "one circuit under some, several under others": [len(v) > 1 for v in verdicts],
    }
    return {what: (sum(those), len(those)) for what, those in found.items()}


def markdown(counts: Sequence[Count]) -> str:
    """The table as Markdown, what holds under all ablations, and the models left out."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    lines += [f"| {' | '.join(cells)} |" for cells in rows(counts)]
    lines += ["", "Under all five ablations:", ""]
    lines += [f"- {what}: {n} of {total}" for what, (n, total) in throughout(counts).items()]
    left = dict.fromkeys((one.model, one.refused) for one in counts if one.refused)
    lines += ["", "Left out:", "", *(f"- {model}: {why}" for model, why in left)] if left else []
    return "\n".join(lines) + "\n"


def draw(counts: Sequence[Count]) -> "Figure":
    """Shares of models with one circuit, and with one set of heads, with intervals, by ablation."""
    from headway_experiments.figures import Panel, Series, draw_panels, numbered

    panels = []
    for of, title in (("paths", "one minimal circuit"), ("heads", "one set of heads")):
        series: dict[str, list[tuple[float, int, int]]] = {}
        for family, ablation, some in groups(counts):
            if (found := share(some, of))[1]:
                place = ABLATIONS.index(ablation) + 0.1 * (len(series) % 7 - 3)
                series.setdefault(family, []).append((place, *found))
        drawn = [
            Series(
                [at for at, _, _ in points],
                [one / known for _, one, known in points],
                numbered(i, marker=True, ls="none", ms=4),
                family,
                [wilson(one, known) for _, one, known in points],
            )
            for i, (family, points) in enumerate(series.items())
        ]
        limits = {"ylim": (-0.04, 1.04), "xlim": (-0.6, len(ABLATIONS) - 0.4)}
        panels.append(Panel(title, drawn, "", "share of models", limits=limits, names=ABLATIONS))
    return draw_panels(panels, columns=2)
