"""Scores on the terminal: a line for each as it is known, then a table of their means."""

from collections.abc import Sequence
from statistics import median

from headway.terminal import columns, console
from headway.text import width, wrapped
from headway_experiments.arena.contest import Row
from headway_experiments.arena.table import lines
from headway_experiments.arena.truth import Score, total

SHOWN = {
    "heads AUROC": "heads",
    "paths AUROC": "paths",
    "paths AP": "AP",
    "F1, true size": "F1",
    "exact": "exact",
    "faithfulness": "faithful",
}
"""The columns that 80 letters have room for."""

LEAST = "F1", "heads", "exact", "s", "passes", "faithful", "paths"
"""Which of them are left out of a narrower terminal, the first one first."""


def print_row(row: Row) -> None:
    """One method on one model."""
    if row["method"] is None:
        print(f"{row['model']:<30} left out: {row['left_out']}", flush=True)
        return
    verdict = "exact" if row["exact"] else f"AP {row['paths']['precision']:.3f}"
    seconds = f"{row['seconds']:6.1f} s"
    print(
        f"{row['model']:<30.30} {row['method']:<14} {verdict:<9} {row['passes']:6.0f} passes"
        f" {seconds}",
        flush=True,
    )


def print_arena(rows: Sequence[Row]) -> None:
    """Means over the models of every family: AUROC of heads and of paths, and so on."""
    told: dict[str, list[str]] = {name: [] for name in ("method", *SHOWN.values(), "passes", "s")}
    before = None
    for line in lines(rows):
        if line.family != before:
            for name, cells in told.items():
                cells.append(line.family if name == "method" else "")
        before = line.family
        told["method"].append(f"  {line.method}")
        for name, short in SHOWN.items():
            one = line.values[name]
            told[short].append("" if one is None else f"{one[0]:.3f}")
        told["passes"].append(f"{line.passes:.0f}")
        told["s"].append(f"{line.seconds:.1f}")
    for name in LEAST:
        if sum(2 + max(map(len, (one, *cells))) for one, cells in told.items()) - 2 <= width():
            break
        del told[name]
    left, *right = told
    table = columns((left,), right, wrap=False)
    for cells in zip(*told.values(), strict=True):
        table.add_row(*cells)
    console().print(table)


def print_score(score: Score) -> None:
    """One model's score on a line; what is missing or too much on the next."""
    verdict = "exact" if score.exact else f"paths F1 {score.paths.f1:.3f}"
    told = (
        f"{score.name:<16} {verdict:<14} {score.paths.true:3d} paths, MSE"
        f" {score.replaced_loss:.4f}, {score.candidates:4d} candidates, {score.seconds:5.1f} s"
    )
    lines = wrapped(told, rest="    ")
    for what, paths in (("missing", score.missing), ("too much", score.extra)):
        if paths:
            lines += wrapped(f"{what}: " + "; ".join(map(str, paths)), "    ", "      ")
    print("\n".join(lines), flush=True)


def print_scores(scores: Sequence[Score]) -> None:
    """Precision, recall and F1 over all models of a kind, and how many were found exactly."""
    table = columns(("models",), ("exact", "of", "", "precision", "recall", "F1", "s, median"))
    table.columns[3].justify = "left"
    kinds: dict[str, list[Score]] = {}
    for score in scores:
        kinds.setdefault(score.name.split()[0], []).append(score)
    for kind, here in kinds.items():
        exact = sum(score.exact for score in here)
        for what in ("paths", "heads"):
            hits = total(getattr(score, what) for score in here)
            first = what == "paths"
            table.add_row(
                kind if first else "",
                str(exact) if first else "",
                str(len(here)) if first else "",
                what,
                *(f"{x:.4f}" for x in (hits.precision, hits.recall, hits.f1)),
                f"{median(score.seconds for score in here):.1f}" if first else "",
            )
    console().print(table)
