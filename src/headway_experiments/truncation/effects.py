"""The effect of truncation on how a language model goes on: means over texts, with intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from typing import Any

import torch
from torch import Tensor

from headway.intervals import wilson
from headway.training import generator_for
from headway_experiments.truncation.cuts import INTACT, Cut
from headway_experiments.truncation.models import Lines
from headway_experiments.truncation.texts import Completion

SHARES = ("prefers", "says")
MEASURES = ("answer", "generic", "log_odds", *SHARES)
"""Probability of the answer and of the generic word, log p(answer) − log p(generic) in nats,
whether that is above 0, and whether the answer's telling token is the likeliest of all tokens; each
averaged over texts."""

RESAMPLES, CENTRE, SEED = 10_000, 0.95, 0
"""Of the bootstrap: its resamples, the share inside its intervals, and its seed."""


@dataclass(frozen=True)
class Mean:
    """A mean over texts, and how far it is from the intact model's.

    Attributes:
        value: the mean.
        low: of its 95 % interval: percentiles of the bootstrap over texts, Wilson's for a share.
        high: likewise.
        change: the mean of the differences to the intact model, text by text.
        change_low: of its interval, by the bootstrap; 0 with the others for the intact model.
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
    found: Effects = {}
    for kind in dict.fromkeys(text.kind for text in texts):
        rows = [i for i, text in enumerate(texts) if text.kind == kind]
        generator = generator_for("cpu", "truncate", SEED, kind)
        drawn = torch.randint(len(rows), (RESAMPLES, len(rows)), generator=generator)
        often = torch.zeros(RESAMPLES, len(rows), dtype=torch.float64)
        often.scatter_add_(1, drawn, torch.ones_like(drawn, dtype=torch.float64))
        draws = often / len(rows)
        values = dict[Cut, Tensor]()
        for cut, odds in lines.items():
            three = [(odds[i].answer, odds[i].generic, odds[i].top) for i in rows]
            answer, generic, top = torch.tensor(three, dtype=torch.float64).T
            shares = (answer > generic).double(), (answer >= top).double()
            values[cut] = torch.stack([answer.exp(), generic.exp(), answer - generic, *shares], 1)
        before = values[INTACT]
        found[kind] = {cut: _means(here, before, draws) for cut, here in values.items()}
    return found


def to_json(found: Effects, counts: Mapping[str, int], about: Mapping[str, Any]) -> dict[str, Any]:
    """Effects as plain data, every mean as six numbers.

    Args:
        found: by kind of text.
        counts: how many texts there are of a kind.
        about: what was asked, and where it was computed.
    """
    told = [
        {"kind": kind, **asdict(cut), "count": counts[kind]}
        | {name: [round(number, 4) for number in astuple(m)] for name, m in means.items()}
        for kind, rows in found.items()
        for cut, means in rows.items()
    ]
    return {
        **about,
        "bootstrap": {"resamples": RESAMPLES, "interval": CENTRE, "seed": SEED},
        "numbers": [field.name for field in fields(Mean)],
        "effects": told,
    }


def _means(values: Tensor, before: Tensor, draws: Tensor) -> dict[str, Mean]:
    low, high = _interval(draws @ values)
    change_low, change_high = _interval(draws @ (values - before))
    mean = values.mean(0).tolist()
    change = (values - before).mean(0).tolist()
    found = {}
    for i, name in enumerate(MEASURES):
        ends = (low[i], high[i])
        if name in SHARES:
            ends = wilson(values[:, i].sum().item(), len(values))
        found[name] = Mean(mean[i], *ends, change[i], change_low[i], change_high[i])
    return found


def _interval(resampled: Tensor) -> tuple[list[float], list[float]]:
    """The percentiles between which the middle of the resampled means lies, by measure."""
    outside = (1 - CENTRE) / 2
    ends = torch.tensor([outside, 1 - outside], dtype=torch.float64)
    low, high = resampled.quantile(ends, dim=0).tolist()
    return low, high
