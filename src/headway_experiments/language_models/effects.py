"""The effect of knocking heads out on the answers, with intervals, against random heads."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from headway.intervals import wilson
from headway_experiments.language_models.knockout import Kind
from headway_experiments.language_models.student import quantile

MEASURES = ("argmax", "expectation", "margin", "log_p", "mass")
"""Whether the most probable acceptable answer is right; the probability that the paper's protocol
ends with the right one; how much larger its log-probability is than the mean of the wrong ones',
which is zero for a model that does not know, whichever answer it prefers; the log-probability of
the right one; the probability of an acceptable one."""

Estimate = tuple[float, float, float]
"""A mean, and its interval, 95 %."""


def measure(outcome: Mapping[str, Any], right: int) -> dict[str, float]:
    """All measures of an outcome (see `without`), `right` being the number of the right answer."""
    said, ended = outcome["said"], outcome["ended"]
    chances = [math.exp(log_p) for log_p in ended]
    wrong = [log_p for number, log_p in enumerate(ended) if number != right]
    return {
        "argmax": float(max(range(len(said)), key=said.__getitem__) == right),
        "expectation": chances[right] / sum(chances) if sum(chances) else 0.0,
        "margin": ended[right] - sum(wrong) / len(wrong),
        "log_p": ended[right],
        "mass": sum(chances),
    }


@dataclass(frozen=True)
class Effect:
    """The results of the questions without some heads.

    Attributes:
        kind: of the trials.
        top: how many heads.
        questions: asked.
        sets: of heads that were knocked out, per question.
        found: mean and interval by measure; Wilson's for `argmax`, else Student's, from the spread
            among questions with the same right answer, of which there are as many by design.
        top_less: by measure, how much larger it is without the top heads than without these, the
            same questions paired; None for `none` and `top`.
    """

    kind: Kind
    top: int
    questions: int
    sets: int
    found: dict[str, Estimate]
    top_less: dict[str, Estimate] | None


def effects(lines: Sequence[Mapping[str, Any]], ranks: Sequence[int]) -> list[Effect]:
    """Sums up all questions: a row per kind and number of heads, as they were tried.

    Args:
        lines: one per question, with its `outcomes`.
        ranks: of the right answer of each among the acceptable ones; fewer than there are lines.
    """
    given = torch.tensor(ranks)
    told = [
        [(one["kind"], one["top"], measure(one, rank)) for one in line["outcomes"]]
        for line, rank in zip(lines, ranks, strict=True)
    ]
    groups = dict.fromkeys((kind, top) for kind, top, _ in told[0])
    sets = Counter((kind, top) for kind, top, _ in told[0])
    values = {
        (*group, name): torch.tensor(
            [fmean(one[name] for *which, one in line if tuple(which) == group) for line in told],
            dtype=torch.float64,
        )
        for group in groups
        for name in MEASURES
    }
    found = []
    for kind, top in groups:
        here = {name: values[kind, top, name] for name in MEASURES}
        means = {name: _estimate(some, given, name) for name, some in here.items()}
        less = None
        if kind in ("matched", "random"):
            less = {
                name: _student(values["top", top, name] - some, given)
                for name, some in here.items()
            }
        found.append(Effect(kind, top, len(lines), sets[kind, top], means, less))
    return found


def _estimate(values: Tensor, ranks: Tensor, name: str) -> Estimate:
    if name == "argmax":
        return values.mean().item(), *wilson(values.sum().item(), len(values))
    return _student(values, ranks)


def _student(values: Tensor, ranks: Tensor) -> Estimate:
    """The mean, and its interval if questions differ by chance, but for their right answers."""
    same = torch.nn.functional.one_hot(ranks.unique(return_inverse=True)[1]).double()
    means = values @ same / same.sum(0)
    freedom = len(values) - len(means)
    error = ((values - same @ means).square().sum() / freedom / len(values)).sqrt().item()
    mean, half = values.mean().item(), quantile(0.95, freedom) * error
    return mean, mean - half, mean + half
