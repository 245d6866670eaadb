"""What knocking heads out does to the answers, with intervals, against heads that were drawn."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from headway.language.accuracy import wilson
from headway.language.knockout import Kind, Trial
from headway.language.local import Answers, best, expectation
from headway.language.question import Question

MEASURES = ("argmax", "expectation", "log_p", "mass")
"""Whether the most probable acceptable answer is right; the probability that the paper's protocol
ends with the right one; the log-probability of the right one; the probability of an acceptable
one."""

RESAMPLES = 2000

Estimate = tuple[float, float, float]
"""A mean, and its interval, 95 %."""


def outcome_of(trial: Trial, answers: Answers, question: Question) -> dict[str, Any]:
    """What came of a trial on a question, as plain data."""
    right = question.acceptable.index(question.correct)
    return {
        "kind": trial.kind,
        "top": trial.top,
        "argmax": int(best(answers, question) == question.correct),
        "expectation": expectation(answers, question),
        "log_p": answers.ended[right],
        "mass": sum(map(math.exp, answers.ended)),
    }


@dataclass(frozen=True)
class Effect:
    """What came of the questions without some heads.

    Attributes:
        kind: of the trials.
        top: how many heads.
        questions: asked.
        sets: of heads that were out, a question.
        found: mean and interval by measure; Wilson's for `argmax`, else by drawing questions anew.
        top_less: by measure, how much larger it is without the top heads than without these, the
            same questions paired; none for `none` and `top`.
    """

    kind: Kind
    top: int
    questions: int
    sets: int
    found: dict[str, Estimate]
    top_less: dict[str, Estimate] | None

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def effects(lines: Sequence[Mapping[str, Any]], seed: int) -> list[Effect]:
    """Sums up what came of all questions: a row a kind and number of heads, as they were tried.

    Args:
        lines: a question each, with its `outcomes`.
        seed: of the intervals.
    """
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(lines), (RESAMPLES, len(lines)), generator=generator)
    groups = dict.fromkeys((one["kind"], one["top"]) for one in lines[0]["outcomes"])
    values = {
        (kind, top, measure): torch.tensor(
            [_mean(one[measure] for one in _of(line, kind, top)) for line in lines],
            dtype=torch.float64,
        )
        for kind, top in groups
        for measure in MEASURES
    }
    found = []
    for kind, top in groups:
        told, less = {}, {}
        for measure in MEASURES:
            here = values[kind, top, measure]
            told[measure] = _estimate(here, drawn, measure)
            if kind in ("matched", "random"):
                less[measure] = _resampled(values["top", top, measure] - here, drawn)
        sets = len(_of(lines[0], kind, top))
        found.append(Effect(kind, top, len(lines), sets, told, less or None))
    return found


def _of(line: Mapping[str, Any], kind: str, top: int) -> list[Mapping[str, Any]]:
    return [one for one in line["outcomes"] if (one["kind"], one["top"]) == (kind, top)]


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return sum(known) / len(known)


def _estimate(values: Tensor, drawn: Tensor, measure: str) -> Estimate:
    if measure == "argmax":
        return values.mean().item(), *wilson(values.sum().item(), len(values))
    return _resampled(values, drawn)


def _resampled(values: Tensor, drawn: Tensor) -> Estimate:
    """The mean, and the interval of the means of questions drawn anew."""
    means = values[drawn].mean(1).sort().values
    low, high = means[int(0.025 * len(means))], means[int(0.975 * len(means))]
    return values.mean().item(), low.item(), high.item()
