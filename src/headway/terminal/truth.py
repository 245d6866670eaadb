"""Scores on known circuits, on the terminal."""

from collections.abc import Sequence
from statistics import median

from headway.circuits import Score, total
from headway.terminal.base import columns, console
from headway.text import wrapped


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
