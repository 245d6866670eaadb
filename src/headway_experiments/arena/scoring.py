"""Scores of an answer: against a known circuit, and by MIB's curves, which ask how
faithful a model is with ever more of the paths that it puts first."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar

import torch
from torch import Tensor

from headway.models import attention_patterns
from headway.relations import AttentionPath
from headway_experiments.arena.subject import FEW, Answer, Subject

T = TypeVar("T")

DIGITS = 3
"""Scores alike to so many digits are ties; the path of the smaller relation is
first.
"""

SIZES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Shares of all paths that are kept, as in the paper; the counts are rounded down."""

AGREES_AT = 0.2
"""The share of all paths that are kept when answers are compared with the model's
own.
"""


@dataclass(frozen=True)
class Curve:
    """A ranking as Mueller et al. 2025 (arXiv 2504.13151) score it.

    Faithfulness is how much of the margin (`Subject.margin`) between the model with
    every path cut and the model as it is stays with the first paths alone.

    Attributes:
        cpr: the area under faithfulness by the share of paths: more is better.
        cmd: the area between faithfulness and 1: less is better.
        agreement: the share of answers that are the model's own with the first fifth of
            the paths.
    """

    cpr: float
    cmd: float
    agreement: float


@torch.no_grad()
def curve(subject: Subject, order: Sequence[AttentionPath]) -> Curve:
    """The curve of paths in an order, the best first; attention along the others is
    zero.
    """
    counts = [int(share * len(order)) for share in SIZES]
    margins = {count: _margin(subject, order[:count]) for count in {0, *counts}}
    nothing = margins[0]
    gained = margins[len(order)] - nothing
    faithful = [(margins[count] - nothing) / gained for count in counts]
    missed = [abs(1 - share) for share in faithful]
    fifth = int(AGREES_AT * len(order))
    agreement = subject.agreement(subject.only(order[:fifth], FEW), FEW)
    return Curve(area(SIZES, faithful), area(SIZES, missed), agreement)


def _margin(subject: Subject, paths: Sequence[AttentionPath]) -> float:
    """The margin with some paths alone."""
    outputs = subject.outputs(subject.only(paths, FEW), part=FEW)
    return -subject.margin(outputs, FEW).item()


def area(places: Sequence[float], heights: Sequence[float]) -> float:
    """The area under straight lines between points."""
    points = zip(places, heights, strict=True)
    pieces = []
    for (left, low), (right, high) in pairwise(points):
        pieces.append((right - left) * (low + high) / 2)
    return sum(pieces)


@dataclass(frozen=True)
class Result:
    """The score of one method on one model; None, or no path, where the circuit is not
    known.

    Attributes:
        curve: of its ranking of paths.
        paths_all: to choose from.
        passes: forward and backward passes over all sequences.
        seconds: of processor time.
        paths_ap: average precision of paths: the mean over true ones of the precision
            at their scores.
        exact: whether the method's own choice is the circuit; of one that only ranks,
            whether its first paths are, at the circuit's size. Of heads, where only
            those are known.
        own_f1: of the method's own choice of paths; None if it only ranks.
        heads_f1: of the heads of its choice, or of its first paths.
        pairs_f1: of the pairs of positions of these, each counted as the head attends
            there; of the circuit's heads only queries that one of its paths leaves
            from.
        missing: the circuit's paths that are not chosen, or not among the first.
        extra: at most 20 of those that are and should not.
        paths_true: in the circuit.
        alone: see `Known`.
        alone_at_zero: the share of answers that are the model's own when the attention
            of all heads but the circuit's is zero, where heads are known.
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
    """Scores an answer. Of alternatives that work as well, those count that it fits
    best.
    """
    known = subject.known
    passes = answer.passes or subject.passes
    sizes = {path: subject.sizes[path.relation] for path in answer.paths}
    ranking = tied(answer.paths, sizes)
    order = sorted(ranking, key=lambda path: -ranking[path])
    its_curve = curve(subject, order)
    result = Result(its_curve, len(order), round(passes, 1), round(seconds, 3))
    if known.knows == "paths":
        return replace(result, **_by_paths(subject, answer, ranking))
    if known.knows == "heads":
        return replace(result, **_by_heads(subject, answer, order))
    return result


def _by_heads(
    subject: Subject, answer: Answer, order: Sequence[AttentionPath]
) -> dict[str, Any]:
    """Scores of an answer where only the circuit's heads are known."""
    known = subject.known
    model = subject.model
    if answer.chosen is None:
        ranked = list(dict.fromkeys(path.at for path in order))
        said = {*ranked[: len(known.heads)]}
    else:
        said = {path.at for path in answer.chosen}
    kept = torch.zeros(model.n_layers, model.n_heads, 1, 1, 1)
    for layer, head in known.heads:
        kept[layer, head] = 1
    at_zero = subject.agreement(lambda layer: kept[layer], slice(None))
    return {
        "exact": said == known.heads,
        "heads_f1": f1(said, known.heads),
        "alone": known.alone,
        "alone_at_zero": at_zero,
    }


def _by_paths(
    subject: Subject, answer: Answer, ranking: Mapping[AttentionPath, float]
) -> dict[str, Any]:
    """Scores of an answer where the circuit's paths are known."""
    truth = subject.known.nearest(answer.chosen, ranking)
    fair = _without_alternatives(subject, ranking, truth)
    ranked = sorted(fair, key=lambda path: -fair[path])
    first = frozenset(ranked[: len(truth)])
    said = first if answer.chosen is None else answer.chosen
    missing = sorted(truth - said)
    extra = sorted(said - truth)
    scores: dict[str, Any] = {"exact": said == truth, "paths_true": len(truth)}
    if answer.chosen is not None:
        scores["own_f1"] = f1(said, truth)
    scores["paths_ap"] = average_precision(fair, truth)
    heads = {path.at for path in said}
    scores["heads_f1"] = f1(heads, {path.at for path in truth})
    scores["pairs_f1"] = _pairs_f1(subject, answer.pairs, said, truth)
    scores["missing"] = tuple(map(str, missing))
    scores["extra"] = tuple(map(str, extra[:20]))
    return scores


def _without_alternatives(
    subject: Subject,
    ranking: Mapping[AttentionPath, float],
    truth: Collection[AttentionPath],
) -> dict[AttentionPath, float]:
    """A ranking without the paths of alternatives that an answer fits less."""
    spare = set()
    for group in subject.known.alternatives:
        spare = spare.union(*group)
    spare -= {*truth}
    return {path: rank for path, rank in ranking.items() if path not in spare}


def f1(said: Collection[T], true: Collection[T]) -> float:
    """The harmonic mean of precision and recall; 1 if both are empty."""
    both = len(said) + len(true)
    if not both:
        return 1.0
    hits = len({*said} & {*true})
    return 2 * hits / both


def _pairs_f1(
    subject: Subject, said: Tensor | None, *paths: Collection[AttentionPath]
) -> float:
    """F1 of the pairs of an answer, or of its paths if it has none, against the pairs
    of the circuit's paths.
    """
    first, truth = map(subject.pairs, paths)
    said = first if said is None else said
    is_of_no_path = ~truth.any((0, 3, 4), keepdim=True)
    asked = truth.any(-1, keepdim=True) | is_of_no_path
    attention = attention_patterns(subject.model, subject.batch.inputs)
    weights = attention * asked
    both = ((said + truth) * weights).sum()
    if not both > 0:
        return 1.0
    hits = (said * truth * weights).sum()
    return float(2 * hits / both)


def tied(scores: Mapping[T, float], sizes: Mapping[T, float]) -> dict[T, float]:
    """Scores as ranks. Of scores that are alike to a few digits the one of smaller
    size is better.
    """

    def rounded(score: float) -> float:
        if score == 0 or not math.isfinite(score):
            return score
        magnitude = math.floor(math.log10(abs(score)))
        return round(score, DIGITS - 1 - magnitude)

    keys = {}
    for thing, score in scores.items():
        size = sizes.get(thing, 0.0)
        keys[thing] = rounded(score), -size
    in_order = sorted(set(keys.values()))
    rank = {key: float(i) for i, key in enumerate(in_order)}
    return {thing: rank[key] for thing, key in keys.items()}


def average_precision(ranking: Mapping[T, float], true: Collection[T]) -> float | None:
    """The average precision of a ranking; None if all are true, or none is."""
    right = [rank for thing, rank in ranking.items() if thing in true]
    wrong = [rank for thing, rank in ranking.items() if thing not in true]
    if not right or not wrong:
        return None
    precisions = []
    for least in right:
        hits = sum(rank >= least for rank in right)
        misses = sum(rank >= least for rank in wrong)
        precisions.append(hits / (hits + misses))
    return sum(precisions) / len(precisions)
