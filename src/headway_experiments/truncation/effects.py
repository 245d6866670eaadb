"""The effect of truncation on how a language model goes on: means over texts, with intervals."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from typing import Any, Literal

import torch
from torch import Tensor

from headway.intervals import wilson
from headway.training import generator_for
from headway_experiments.truncation.cuts import Row, Table
from headway_experiments.truncation.models import Line
from headway_experiments.truncation.odds import Odds
from headway_experiments.truncation.texts import Completion

Reading = Literal["token", "whole"]
"""Which tokens of the two ways to go on are read: the telling one or all; see `Odds`."""

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


Means = Row[dict[str, Mean]]
"""The means over the texts of a kind at one cut, by measure (`MEASURES`)."""


def effects(
    texts: Sequence[Completion], lines: Sequence[Line], reading: Reading = "token"
) -> dict[str, Table[dict[str, Mean]]]:
    """Means over the texts of every kind at every cut, by one reading.

    All cuts are resampled with the same draws of texts, so that differences are paired.

    Args:
        texts: in the order of every line's odds.
        lines: the intact model among them.
        reading: of the two ways to go on.
    """
    intact, found = Table(lines).intact, {}
    for kind in dict.fromkeys(text.kind for text in texts):
        rows = [i for i, text in enumerate(texts) if text.kind == kind]
        draws = _draws(len(rows), kind)
        before = _values([intact.found[i] for i in rows], reading)
        values = [_values([line.found[i] for i in rows], reading) for line in lines]
        found[kind] = Table(
            [
                Row(line.cut, line.kept, _means(here, before, draws))
                for line, here in zip(lines, values, strict=True)
            ]
        )
    return found


def document(
    found: Mapping[str, Table[dict[str, Mean]]],
    counts: Mapping[str, int],
    reading: Reading,
    about: Mapping[str, Any],
) -> str:
    """Effects of one reading as JSON, one per line, every mean as six numbers.

    Args:
        found: by kind of text.
        counts: how many texts there are of a kind.
        reading: of the two ways to go on.
        about: what was asked, and where it was computed.
    """
    head = {
        **about,
        "reading": reading,
        "bootstrap": {"resamples": RESAMPLES, "interval": CENTRE, "seed": SEED},
        "numbers": [field.name for field in fields(Mean)],
    }
    lines = []
    for kind, table in found.items():
        for row in table.rows:
            means = {
                name: [round(number, 4) for number in astuple(mean)]
                for name, mean in row.found.items()
            }
            which = {"kind": kind, **asdict(row.cut), "kept": round(row.kept, 4)}
            lines.append({**which, "count": counts[kind], **means})
    parts = [f'"{name}": {json.dumps(value, ensure_ascii=False)}' for name, value in head.items()]
    told = ",\n  ".join(json.dumps(line, ensure_ascii=False) for line in lines)
    return "{\n " + ",\n ".join([*parts, f'"effects": [\n  {told}\n ]']) + "\n}\n"


def _draws(count: int, kind: str) -> Tensor:
    """How often each text is in every resample, as weights that sum to 1, [resample, text]."""
    generator = generator_for("cpu", "truncate", SEED, kind)
    drawn = torch.randint(count, (RESAMPLES, count), generator=generator)
    often = torch.zeros(RESAMPLES, count, dtype=torch.float64)
    often.scatter_add_(1, drawn, torch.ones_like(drawn, dtype=torch.float64))
    return often / count


def _values(odds: Sequence[Odds], reading: Reading) -> Tensor:
    """The measures of every text, [text, measure]."""
    rows = []
    for one in odds:
        answer, generic = one.answer, one.generic
        if reading == "whole":
            answer, generic = one.answer_whole, one.generic_whole
        above = answer - generic
        shares = float(above > 0), float(one.answer >= one.top)
        rows.append([math.exp(answer), math.exp(generic), above, *shares])
    return torch.tensor(rows, dtype=torch.float64)


def _means(values: Tensor, before: Tensor, draws: Tensor) -> dict[str, Mean]:
    low, high = _interval(draws @ values)
    change_low, change_high = _interval(draws @ (values - before))
    mean, change = values.mean(0).tolist(), (values - before).mean(0).tolist()
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
