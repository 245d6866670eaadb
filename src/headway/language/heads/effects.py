"""The effect of knocking heads out on the answers, with intervals, against random heads."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from headway.intervals import wilson
from headway.language.heads.knockout import Kind

MEASURES = ("argmax", "expectation", "margin", "log_p", "mass")
"""Whether the most probable acceptable answer is right; the probability that the paper's protocol
ends with the right one; how much larger its log-probability is than the mean of the wrong ones',
which is zero for a model that does not know, whichever answer it prefers; the log-probability of
the right one; the probability of an acceptable one."""

RESAMPLES = 2000

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
        found: mean and interval by measure; Wilson's for `argmax`, else by drawing anew among the
            questions with the same right answer, of which there are as many by design.
        top_less: by measure, how much larger it is without the top heads than without these, the
            same questions paired; None for `none` and `top`.
    """

    kind: Kind
    top: int
    questions: int
    sets: int
    found: dict[str, Estimate]
    top_less: dict[str, Estimate] | None


def effects(lines: Sequence[Mapping[str, Any]], ranks: Sequence[int], seed: int) -> list[Effect]:
    """Sums up all questions: a row per kind and number of heads, as they were tried.

    Args:
        lines: one per question, with its `outcomes`.
        ranks: of the right answer of each among the acceptable ones.
        seed: of the intervals.
    """
    drawn = _drawn_anew(ranks, seed)
    told = [
        [(one["kind"], one["top"], measure(one, rank)) for one in line["outcomes"]]
        for line, rank in zip(lines, ranks, strict=True)
    ]
    groups = dict.fromkeys((kind, top) for kind, top, _ in told[0])
    sets = Counter((kind, top) for kind, top, _ in told[0])
    values = {
        (*group, name): torch.tensor(
            [_mean(one[name] for *which, one in line if tuple(which) == group) for line in told],
            dtype=torch.float64,
        )
        for group in groups
        for name in MEASURES
    }
    found = []
    for kind, top in groups:
        here = {name: values[kind, top, name] for name in MEASURES}
        means = {name: _estimate(some, drawn, name) for name, some in here.items()}
        less = None
        if kind in ("matched", "random"):
            less = {
                name: _resampled(values["top", top, name] - some, drawn)
                for name, some in here.items()
            }
        found.append(Effect(kind, top, len(lines), sets[kind, top], means, less))
    return found


def _drawn_anew(ranks: Sequence[int], seed: int) -> Tensor:
    """Numbers of questions, [resample, question]: for each, one with the same right answer."""
    generator = torch.Generator().manual_seed(seed)
    given = torch.tensor(ranks)
    drawn = torch.empty(RESAMPLES, len(given), dtype=torch.long)
    for rank in given.unique():
        same = (given == rank).nonzero()[:, 0]
        size = RESAMPLES, len(same)
        drawn[:, same] = same[torch.randint(len(same), size, generator=generator)]
    return drawn


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return sum(known) / len(known)


def _estimate(values: Tensor, drawn: Tensor, name: str) -> Estimate:
    if name == "argmax":
        return values.mean().item(), *wilson(values.sum().item(), len(values))
    return _resampled(values, drawn)


def _resampled(values: Tensor, drawn: Tensor) -> Estimate:
    """The mean, and the interval of the means of questions drawn anew."""
    means = values[drawn].mean(1).sort().values
    low, high = means[int(0.025 * len(means))], means[int(0.975 * len(means))]
    return values.mean().item(), low.item(), high.item()
