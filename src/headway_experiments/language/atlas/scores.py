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
        whole = f"{self.whole:.3f} ({self.interval[0]:.3f} to {self.interval[1]:.3f})"
        off = (
            f"{self.off:.3f} ({self.off_interval[0]:.3f} to {self.off_interval[1]:.3f})"
        )
        return f"{whole}; off the sinks {off}"


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
    of_heads = torch.stack([whole.mean(1), _ratio(both, either)], 1)
    return Score(
        whole.mean().item(),
        _interval([whole[:, texts].mean() for texts in drawn]),
        _ratio(both, either).mean().item(),
        _interval([_ratio(both[:, texts], either[:, texts]).mean() for texts in drawn]),
        (both.sum() / either.sum()).item(),
        [(first, second) for first, second in of_heads.tolist()],
    )


def _ratio(both: Tensor, either: Tensor) -> Float[Tensor, " head"]:
    return both.sum(1) / either.sum(1).clamp(min=1e-9)


def _draws(count: int, seed: int) -> Iterator[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    for _ in range(RESAMPLED):
        yield torch.randint(count, (count,), generator=generator)


def _interval(values: list[Tensor]) -> tuple[float, float]:
    low, high = torch.stack(values).quantile(torch.tensor([0.025, 0.975])).tolist()
    return low, high
