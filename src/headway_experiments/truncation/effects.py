"""The effect of truncation on how a language model goes on: means over texts, with
intervals.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from typing import Any

import torch
from torch import Tensor

from headway.intervals import wilson
from headway.training import generator_for
from headway_experiments.truncation.cuts import INTACT, Cut
from headway_experiments.truncation.models import Lines, Odds
from headway_experiments.truncation.texts import Completion

SHARES = ("prefers", "says")
MEASURES = ("answer", "generic", "log_odds", *SHARES)
"""Probability of the answer and of the generic word, log p(answer) − log p(generic) in
nats, whether that is above 0, and whether the answer's telling token is the likeliest
of all tokens; each averaged over texts."""

RESAMPLES, CENTRE, SEED = 10_000, 0.95, 0
"""Of the bootstrap: its resamples, the share inside its intervals, and its seed."""


@dataclass(frozen=True)
class Mean:
    """A mean over texts, and how far it is from the intact model's.

    Attributes:
        value: the mean.
        low: of its 95 % interval: percentiles of the bootstrap over texts, Wilson's for
            a share.
        high: likewise.
        change: the mean of the differences to the intact model, text by text.
        change_low: of its interval, by the bootstrap; 0 with the others for the intact
            model.
        change_high: likewise.
    """

    value: float
    low: float
    high: float
    change: float
    change_low: float
    change_high: float


Effects = dict[str, dict[Cut, dict[str, Mean]]]
"""The means by kind of text, cut and measure (`MEASURES`)."""


def effects(texts: Sequence[Completion], lines: Lines) -> Effects:
    """Means over the texts of every kind at every cut.

    All cuts are resampled with the same draws of texts, so that differences are paired.

    Args:
        texts: in the order of every line's odds.
        lines: the intact model among them.
    """
    effects: Effects = {}
    for kind in dict.fromkeys(text.kind for text in texts):
        rows = [i for i, text in enumerate(texts) if text.kind == kind]
        draws = _draws(kind, len(rows))
        before = _values(lines[INTACT], rows)
        effects[kind] = {}
        for cut, odds in lines.items():
            effects[kind][cut] = _means(_values(odds, rows), before, draws)
    return effects


def _draws(kind: str, count: int) -> Tensor:
    """The weight of every text in every resample, [resample, text]."""
    generator = generator_for("cpu", "truncate", SEED, kind)
    drawn = torch.randint(count, (RESAMPLES, count), generator=generator)
    often = torch.zeros(RESAMPLES, count, dtype=torch.float64)
    often.scatter_add_(1, drawn, torch.ones_like(drawn, dtype=torch.float64))
    return often / count


def _values(odds: Sequence[Odds], rows: Sequence[int]) -> Tensor:
    """The measures of some texts, [text, measure]."""
    some = [odds[i] for i in rows]
    three = [(each.answer, each.generic, each.top) for each in some]
    answer, generic, top = torch.tensor(three, dtype=torch.float64).T
    is_likelier = (answer > generic).double()
    is_likeliest = (answer >= top).double()
    measures = [
        answer.exp(),
        generic.exp(),
        answer - generic,
        is_likelier,
        is_likeliest,
    ]
    return torch.stack(measures, 1)


def to_json(
    measured: Effects, counts: Mapping[str, int], about: Mapping[str, Any]
) -> dict[str, Any]:
    """Effects as plain data, every mean as six numbers.

    Args:
        measured: by kind of text.
        counts: how many texts there are of a kind.
        about: what was asked, and where it was computed.
    """
    effects = []
    for kind, rows in measured.items():
        for cut, means in rows.items():
            line = {"kind": kind, **asdict(cut), "count": counts[kind]}
            for name, mean in means.items():
                line[name] = [round(number, 4) for number in astuple(mean)]
            effects.append(line)
    return {
        **about,
        "bootstrap": {"resamples": RESAMPLES, "interval": CENTRE, "seed": SEED},
        "numbers": [field.name for field in fields(Mean)],
        "effects": effects,
    }


def _means(values: Tensor, before: Tensor, draws: Tensor) -> dict[str, Mean]:
    measured = _with_ends(values, draws)
    changes = _with_ends(values - before, draws)
    means = {}
    for i, name in enumerate(MEASURES):
        middle, low, high = measured[i]
        if name in SHARES:
            total = values[:, i].sum().item()
            low, high = wilson(total, len(values))
        means[name] = Mean(middle, low, high, *changes[i])
    return means


def _with_ends(values: Tensor, draws: Tensor) -> list[tuple[float, float, float]]:
    """The mean of every measure, and the ends of its interval."""
    middles = values.mean(0).tolist()
    lows, highs = _interval(draws @ values)
    return list(zip(middles, lows, highs, strict=True))


def _interval(resampled: Tensor) -> tuple[list[float], list[float]]:
    """The percentiles between which the middle of the resampled means lies, by
    measure.
    """
    outside = (1 - CENTRE) / 2
    ends = torch.tensor([outside, 1 - outside], dtype=torch.float64)
    low, high = resampled.quantile(ends, dim=0).tolist()
    return low, high
