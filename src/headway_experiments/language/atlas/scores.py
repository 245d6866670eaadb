"""Scores of patterns: intersection over union with attention, sinks or not."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headway_experiments.language.atlas.fitting import Sample, overlap

Layers = Float[Tensor, "layer head text query key"]
Told = Callable[[int], Tensor]
"""Of a layer, what stands for its attention, [head, text, query, key]."""

RESAMPLED = 500
"""Draws of the bootstrap over texts."""


@dataclass(frozen=True)
class Score:
    """Intersection over union, averaged over heads; rows of the first position, which
    have no choice, do not count.

    Attributes:
        whole: of a text, averaged over texts.
        interval: of it, 95 %, by a bootstrap over texts.
        off: over keys that are no sinks, of all texts together.
        off_interval: likewise.
        pooled: over keys that are no sinks, of all texts and heads together.
        heads: `whole` and `off` of every head, layer by layer.
    """

    whole: float
    interval: tuple[float, float]
    off: float
    off_interval: tuple[float, float]
    pooled: float
    heads: list[tuple[float, float]]

    def __str__(self):
        whole = with_interval(self.whole, self.interval)
        off = with_interval(self.off, self.off_interval)
        return f"{whole}; off the sinks {off}"


def with_interval(value: float, interval: tuple[float, float]) -> str:
    """A number and its interval in a line."""
    low, high = interval
    return f"{value:.3f} ({low:.3f} to {high:.3f})"


def score(attention: Layers, told: Told, sample: Sample, seed: int) -> Score:
    """The score of patterns on some texts.

    Args:
        attention: of the model.
        told: gives what is to tell it.
        sample: the texts.
        seed: of the bootstrap.
    """
    rows = sample.at.seen.clone()
    rows[:, 0] = False
    wholes, boths, eithers = [], [], []
    for layer, truth in enumerate(attention):
        pattern = told(layer)
        both, either = overlap(truth, pattern, rows)
        wholes.append(both / either)
        both, either = overlap(truth, pattern, sample.off)
        boths.append(both)
        eithers.append(either)
    whole = torch.cat(wholes)
    both, either = torch.cat(boths), torch.cat(eithers)
    drawn = list(_draws(whole.shape[1], seed))
    off = _ratio(both, either)
    of_heads = torch.stack([whole.mean(1), off], 1)
    wholes_drawn = [whole[:, texts].mean() for texts in drawn]
    offs_drawn = [_ratio(both[:, texts], either[:, texts]).mean() for texts in drawn]
    pooled = both.sum() / either.sum()
    return Score(
        whole.mean().item(),
        _interval(wholes_drawn),
        off.mean().item(),
        _interval(offs_drawn),
        pooled.item(),
        [(of_whole, of_off) for of_whole, of_off in of_heads.tolist()],
    )


def _ratio(both: Tensor, either: Tensor) -> Float[Tensor, " head"]:
    return both.sum(1) / either.sum(1).clamp(min=1e-9)


def _draws(count: int, seed: int) -> Iterator[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    for _ in range(RESAMPLED):
        yield torch.randint(count, (count,), generator=generator)


def _interval(values: list[Tensor]) -> tuple[float, float]:
    ends = torch.tensor([0.025, 0.975])
    low, high = torch.stack(values).quantile(ends).tolist()
    return low, high
