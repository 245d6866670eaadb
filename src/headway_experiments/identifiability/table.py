"""Counts of minimal circuits as a table and as a figure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import TYPE_CHECKING, Literal

from headway.figures import PALETTE, styled
from headway.intervals import wilson
from headway.terminal import columns, console
from headway_experiments.identifiability.counting import ABLATIONS, Count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VERDICTS = "none", "one", "several", "unknown"

HEADINGS = (
    "models",
    "none",
    "one",
    "several",
    "unknown",
    "one circuit, of those that have any",
    "circuits, median (most)",
    "one set of heads",
    "paths in all of any",
)


@dataclass(frozen=True)
class Line:
    """The models of one family under one ablation.

    Attributes:
        name: of family and ablation.
        paths: models by the number of their circuits: a verdict.
        heads: models by the number of sets of heads that these use.
        sizes: the numbers of circuits, of models that have any.
        shares: of all paths in any circuit of a model, the share in every one.
    """

    name: tuple[str, str]
    paths: dict[str, int]
    heads: dict[str, int]
    sizes: list[int]
    shares: list[float]

    @classmethod
    def of(cls, name: tuple[str, str], counts: Sequence[Count]) -> "Line":
        """The line of some counts."""
        some = [one for one in counts if one.circuits]
        sets = [[set(paths) for paths in one.circuits] for one in some]
        return cls(
            name,
            tally(counts, "paths"),
            tally(counts, "heads"),
            [len(one.circuits) for one in some],
            [len(set.intersection(*own)) / max(1, len(set.union(*own))) for own in sets],
        )

    @property
    def cells(self) -> list[str]:
        """What stands under the headings."""
        one, several = self.paths["one"], self.paths["several"]
        known = one + several
        low, high = wilson(one, known) if known else (0.0, 1.0)
        sizes = f"{median(self.sizes):g} ({max(self.sizes)})" if self.sizes else "–"
        return [
            str(sum(self.paths.values())),
            *(str(self.paths[verdict]) for verdict in VERDICTS),
            f"{one} of {known} ({low:.2f} to {high:.2f})" if known else "–",
            sizes,
            f"{self.heads['one']} of {self.heads['one'] + self.heads['several']}",
            f"{mean(self.shares):.2f}" if self.shares else "–",
        ]


def tally(counts: Sequence[Count], of: Literal["paths", "heads"]) -> dict[str, int]:
    """The number of models with every verdict."""
    found = [one.verdict(of) for one in counts if not one.refused]
    return {verdict: found.count(verdict) for verdict in VERDICTS}


def lines(counts: Sequence[Count]) -> Iterator[Line]:
    """A line for all families under every ablation, then for every family."""
    for family in ("all", *dict.fromkeys(one.family for one in counts)):
        for ablation in ABLATIONS:
            some = [
                one
                for one in counts
                if family in ("all", one.family) and (one.ablation, one.refused) == (ablation, "")
            ]
            if some:
                yield Line.of((family, ablation), some)


def throughout(counts: Sequence[Count]) -> dict[str, tuple[int, int]]:
    """The number of models of which something holds under all ablations, and of how many.

    Those count that have a circuit, and a verdict, under every ablation.
    """
    by_model: dict[str, list[Count]] = {}
    for one in counts:
        by_model.setdefault(one.model, []).append(one)
    whole = [
        some
        for some in by_model.values()
        if len(some) == len(ABLATIONS)
        and all(one.verdict() in ("one", "several") and not one.refused for one in some)
    ]
    same = [{frozenset(map(frozenset, one.circuits)) for one in some} for some in whole]
    heads = [{frozenset(one.heads) for one in some} for some in whole]
    found = {
        "one circuit, and the same": [len(s) == 1 and len(next(iter(s))) == 1 for s in same],
        "the same circuits": [len(s) == 1 for s in same],
        "one set of heads, and the same": [len(h) == 1 and len(next(iter(h))) == 1 for h in heads],
        "one circuit under some ablation, several under another": [
            len({one.verdict() for one in some}) > 1 for some in whole
        ],
    }
    return {what: (sum(those), len(those)) for what, those in found.items()}


def markdown(counts: Sequence[Count]) -> str:
    """The table as Markdown, what holds under all ablations, and the models left out."""
    rows = ["| family | ablation | " + " | ".join(HEADINGS) + " |"]
    rows.append("|---" * (2 + len(HEADINGS)) + "|")
    rows += [f"| {' | '.join([*line.name, *line.cells])} |" for line in lines(counts)]
    rows += ["", "Under all five ablations:", ""]
    for what, (right, total) in throughout(counts).items():
        rows.append(f"- {what}: {right} of {total}")
    left = dict.fromkeys((one.model, one.refused) for one in counts if one.refused)
    rows += ["", "Left out:", "", *(f"- {model}: {why}" for model, why in left)]
    return "\n".join(rows) + "\n"


def print_counts(counts: Sequence[Count]) -> None:
    """Models by the number of their circuits, family by family."""
    table = columns(("family", "ablation"), ("models", *VERDICTS, "one set of heads"), wrap=False)
    for line in lines(counts):
        models, *verdicts = line.cells[:5]
        table.add_row(*line.name, models, *verdicts, line.cells[7])
    console().print(table)


@styled
def draw(counts: Sequence[Count]) -> "Figure":
    """Shares of models with no, one and several circuits, and sets of heads, by ablation."""
    from matplotlib.figure import Figure

    families = ["all", *dict.fromkeys(one.family for one in counts)]
    known = {line.name: line for line in lines(counts)}
    figure = Figure(figsize=(1.0 + 1.45 * len(families), 4.2), layout="constrained")
    grid = figure.subplots(2, len(families), sharey=True, squeeze=False)
    colours = dict(zip(VERDICTS, ("#d0d0d0", PALETTE[0], PALETTE[1], "#f0f0f0"), strict=True))
    for row, of in zip(grid, ("paths", "heads"), strict=True):
        for axes, family in zip(row, families, strict=True):
            for at, ablation in enumerate(ABLATIONS):
                line, low = known.get((family, ablation)), 0.0
                of_all = line and (line.paths if of == "paths" else line.heads)
                for verdict in VERDICTS if of_all else ():
                    assert of_all
                    part = of_all[verdict] / sum(of_all.values())
                    label = verdict if (family, at) == ("all", 0) and of == "paths" else None
                    axes.bar(at, part, 0.8, low, color=colours[verdict], label=label)
                    low += part
            axes.set_xticks(range(len(ABLATIONS)), ABLATIONS, rotation=60, fontsize=7)
            axes.set_title(family if of == "paths" else "", fontsize=8.5)
        row[0].set_ylabel("models, by circuits" if of == "paths" else "models, by sets of heads")
    figure.legend(loc="outside lower center", ncols=len(VERDICTS), fontsize=7.5)
    return figure
