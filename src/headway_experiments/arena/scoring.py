"""Scores of an answer: against a known circuit, and by MIB's curves, which ask how faithful a model
is with ever more of the paths that it puts first."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import torch
from torch import Tensor

from headway.models import attention_patterns
from headway.relations import AttentionPath
from headway_experiments.arena.subject import FEW, Answer, Subject

T = TypeVar("T")

DIGITS = 3
"""Scores alike to so many digits are ties; the path of the smaller relation is first."""

SIZES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Shares of all paths that are kept, as in the paper; the counts are rounded down."""

AGREES_AT = 0.2
"""The share of all paths that are kept when answers are compared with the model's own."""


@dataclass(frozen=True)
class Curve:
    """A ranking as Mueller et al. 2025 (arXiv 2504.13151) score it.

    Faithfulness is how much of the margin (`Subject.margin`) between the model with every path cut
    and the model as it is stays with the first paths alone.

    Attributes:
        cpr: the area under faithfulness by the share of paths: more is better.
        cmd: the area between faithfulness and 1: less is better.
        agreement: the share of answers that are the model's own with the first fifth of the paths.
    """

    cpr: float
    cmd: float
    agreement: float


@torch.no_grad()
def curve(subject: Subject, order: Sequence[AttentionPath]) -> Curve:
    """The curve of paths in an order, the best first; attention along the others is zero."""
    counts = [int(share * len(order)) for share in SIZES]
    margins = {
        count: -subject.margin(
            subject.outputs(subject.only(order[:count], FEW), part=FEW), FEW
        ).item()
        for count in {0, *counts}
    }
    nothing, whole = margins[0], margins[len(order)]
    faithful = [(margins[count] - nothing) / (whole - nothing) for count in counts]
    return Curve(
        cpr=area(SIZES, faithful),
        cmd=area(SIZES, [abs(1 - one) for one in faithful]),
        agreement=subject.agreement(subject.only(order[: int(AGREES_AT * len(order))], FEW), FEW),
    )


def area(places: Sequence[float], heights: Sequence[float]) -> float:
    """The area under straight lines between points."""
    points = pairwise(zip(places, heights, strict=True))
    return sum((right - left) * (low + high) / 2 for (left, low), (right, high) in points)


@dataclass(frozen=True)
class Result:
    """The score of one method on one model; None, or no path, where the circuit is not known.

    Attributes:
        curve: of its ranking of paths.
        paths_all: to choose from.
        passes: forward and backward passes over all sequences.
        seconds: of processor time.
        paths_ap: average precision of paths: the mean over true ones of the precision at their
            scores.
        exact: whether the method's own choice is the circuit; of one that only ranks, whether its
            first paths are, at the circuit's size. Of heads, where only those are known.
        own_f1: of the method's own choice of paths; None if it only ranks.
        heads_f1: of the heads of its choice, or of its first paths.
        pairs_f1: of the pairs of positions of these, each counted as the head attends there; of the
            circuit's heads only queries that one of its paths leaves from.
        missing: the circuit's paths that are not chosen, or not among the first.
        extra: at most 20 of those that are and should not.
        paths_true: in the circuit.
        alone: see `Known`.
        alone_at_zero: the share of answers that are the model's own when the attention of all heads
            but the circuit's is zero, where heads are known.
    """

    curve: Curve
    paths_all: int
    passes: float
    seconds: float
    paths_ap: float | None = None
    exact: bool | None = None
    own_f1: float | None = None
    heads_f1: float | None = None
    pairs_f1: float | None = None
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    paths_true: int = 0
    alone: float | None = None
    alone_at_zero: float | None = None


def score(subject: Subject, answer: Answer, seconds: float) -> Result:
    """Scores an answer. Of alternatives that work as well, those count that it fits best."""
    known, passes = subject.known, round(answer.passes or subject.passes, 1)
    ranking = tied(answer.paths, {path: subject.sizes[path.relation] for path in answer.paths})
    order = sorted(ranking, key=lambda path: -ranking[path])
    always = {
        "curve": curve(subject, order),
        "paths_all": len(order),
        "passes": passes,
        "seconds": round(seconds, 3),
    }
    if known.knows == "paths":
        return Result(**always, **_by_paths(subject, answer, ranking))
    if known.knows == "nothing":
        return Result(**always)
    first = [*dict.fromkeys(path.at for path in order)][: len(known.heads)]
    said = {*first} if answer.chosen is None else {path.at for path in answer.chosen}
    found = {"exact": said == known.heads, "heads_f1": f1(said, known.heads)}
    kept = torch.zeros(subject.model.n_layers, subject.model.n_heads, 1, 1, 1)
    kept[tuple(zip(*known.heads, strict=True))] = 1
    at_zero = subject.agreement(lambda layer: kept[layer], slice(None))
    return Result(**always, **found, alone=known.alone, alone_at_zero=at_zero)


def _by_paths(
    subject: Subject, answer: Answer, ranking: Mapping[AttentionPath, float]
) -> dict[str, Any]:
    """Scores of an answer where the circuit's paths are known."""
    truth = subject.known.nearest(answer.chosen, ranking)
    groups = subject.known.alternatives
    spare = {path for group in groups for option in group for path in option} - truth
    fair = {path: rank for path, rank in ranking.items() if path not in spare}
    first = frozenset(sorted(fair, key=lambda path: -fair[path])[: len(truth)])
    said = first if answer.chosen is None else answer.chosen
    heads = {path.at for path in truth}
    return {
        "paths_ap": average_precision(fair, truth),
        "exact": said == truth,
        "own_f1": None if answer.chosen is None else f1(said, truth),
        "heads_f1": f1({path.at for path in said}, heads),
        "pairs_f1": _pairs_f1(subject, answer.pairs, said, truth),
        "missing": tuple(str(path) for path in sorted(truth - said)),
        "extra": tuple(str(path) for path in sorted(said - truth))[:20],
        "paths_true": len(truth),
    }


def f1(said: Collection[T], true: Collection[T]) -> float:
    """The harmonic mean of precision and recall; 1 if both are empty."""
    both = len(said) + len(true)
    return 2 * len({*said} & {*true}) / both if both else 1.0


def _pairs_f1(subject: Subject, said: Tensor | None, *paths: Collection[AttentionPath]) -> float:
    """Of the pairs of an answer, else those of its paths, against those of the circuit's."""
    first, truth = map(subject.pairs, paths)
    said = first if said is None else said
    asked = truth.any(-1, keepdim=True) | ~truth.any((0, 3, 4), keepdim=True)
    weights = attention_patterns(subject.model, subject.batch.inputs) * asked
    both = ((said + truth) * weights).sum()
    return float(2 * (said * truth * weights).sum() / both) if both > 0 else 1.0


def tied(scores: Mapping[T, float], sizes: Mapping[T, float]) -> dict[T, float]:
    """Scores as ranks: those alike to a few digits are as good, but for the smaller size."""

    def rounded(score: float) -> float:
        told = score == 0 or not math.isfinite(score)
        return score if told else round(score, DIGITS - 1 - math.floor(math.log10(abs(score))))

    keys = {thing: (rounded(score), -sizes.get(thing, 0.0)) for thing, score in scores.items()}
    rank = {key: float(i) for i, key in enumerate(sorted(set(keys.values())))}
    return {thing: rank[key] for thing, key in keys.items()}


def average_precision(ranking: Mapping[T, float], true: Collection[T]) -> float | None:
    """Of the ranking of the true ones; None where there is nothing to tell apart."""
    right = [rank for thing, rank in ranking.items() if thing in true]
    wrong = [rank for thing, rank in ranking.items() if thing not in true]
    if not right or not wrong:
        return None
    at = [[sum(rank >= one for rank in some) for some in (right, wrong)] for one in right]
    return sum(hits / (hits + misses) for hits, misses in at) / len(at)
