"""Heads ranked by how well they follow the chain, and whether hops are followed in their order.

A head *follows* a relation by how much more it attends to its own chain than to the others. Heads
are ranked on one half of the questions by the relation that they follow best, and measured on the
other half.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import torch
from torch import Tensor

from headway.intervals import rank_correlation
from headway_experiments.language_models.following import Relation
from headway_experiments.language_models.knockout import Head
from headway_experiments.language_models.student import quantile


@dataclass(frozen=True)
class Measured:
    """Attention on many questions.

    Attributes:
        relations: measured.
        own: to one's own chain, [question, relation, layer, head].
        others: to the others, likewise; not a number where a relation is not compared.
        ranked_on: how many of the questions, from the first, the ranking may look at.
    """

    relations: Sequence[Relation]
    own: Tensor
    others: Tensor
    ranked_on: int

    @property
    def more(self) -> Tensor:
        """How much more attention one's own chain gets, [question, relation, layer, head]."""
        return self.own - self.others

    def following(self) -> list[int]:
        """The relations that follow the chain, by their numbers."""
        return [i for i, relation in enumerate(self.relations) if relation.follows]


@dataclass(frozen=True)
class Ranked:
    """A head, and the relation that it follows best.

    Attributes:
        layer: of the head.
        head: its number in the layer.
        relation: by name, chosen on the first questions.
        score: by which it is ranked: the difference on these.
        attention: to its own chain, on the other questions.
        others: to the other chains, on the other questions.
        more: the difference on the other questions.
        interval: of that difference, 95 % (Student's).
    """

    layer: int
    head: int
    relation: str
    score: float
    attention: float
    others: float
    more: float
    interval: tuple[float, float]


def ranking(measured: Measured) -> list[Ranked]:
    """All heads, the best first."""
    following, split = measured.following(), measured.ranked_on
    best, which = measured.more[:split, following].mean(0).max(0)
    layers, heads = best.shape
    order = sorted(
        ((layer, head) for layer in range(layers) for head in range(heads)),
        key=lambda place: (-best[place].item(), place),
    )
    t = quantile(0.95, len(measured.own) - split - 1)
    found = []
    for place in order:
        relation = following[int(which[place])]
        at = slice(split, None), relation, *place
        mean, error = mean_and_error(measured.more[at])
        found.append(
            Ranked(
                *place,
                measured.relations[relation].name,
                best[place].item(),
                measured.own[at].mean().item(),
                measured.others[at].mean().item(),
                mean.item(),
                (mean.item() - t * error.item(), mean.item() + t * error.item()),
            )
        )
    return found


def mean_and_error(values: Tensor) -> tuple[Tensor, Tensor]:
    """The mean over questions, the first axis, and its standard error."""
    return values.mean(0), values.std(0) / math.sqrt(len(values))


@dataclass(frozen=True)
class Hop:
    """Which heads follow a hop, and where.

    Attributes:
        hop: its number, from 1.
        heads: that follow it beyond doubt.
        layer: their mean layer, weighted by how well they follow; None if there are no heads.
        best: the head that follows it best.
        best_more: how much more attention that head gives to its own chain.
    """

    hop: int
    heads: tuple[Head, ...]
    layer: float | None
    best: Head
    best_more: float


@dataclass(frozen=True)
class Order:
    """Whether hops are followed in order of depth through the layers.

    Attributes:
        name: `text`: symbols attend to those that they lead to (`look-up`, `induction`);
            `answer`: the place of the answer does (`read-out`).
        hops: each of them.
        correlation: Spearman's, of hop and layer over the heads that follow a hop; None if these
            are too few.
        interval: of the correlation, 95 %, by drawing heads anew, each with all its hops.
    """

    name: str
    hops: list[Hop]
    correlation: float | None
    interval: tuple[float, float] | None


LEAST = 3
"""The order of two hops is not judged unless each has so many heads that follow it."""
LEAST_MORE = 0.02
"""A head whose own chain gets less than this more attention does not follow it, however small the
error."""

SIDES = {"text": ("look-up", "induction"), "answer": ("read-out",)}


def orders(measured: Measured) -> list[Order]:
    """The order of hops against that of layers, for symbols in the text and for the answer.

    A head follows a hop if it gives at least `LEAST_MORE` more attention to its own chain along one
    of the hop's relations in all questions, and more beyond doubt: 95 % for all heads and relations
    together (Bonferroni, Student's t).
    """
    return [_order(measured, name, kinds) for name, kinds in SIDES.items()]


def _order(measured: Measured, name: str, kinds: tuple[str, ...]) -> Order:
    numbers = [i for i, relation in enumerate(measured.relations) if relation.kind in kinds]
    mean, error = mean_and_error(measured.more[:, numbers])
    doubt = quantile(1 - 0.05 / mean.numel(), len(measured.own) - 1)
    hops, points = [], dict[Head, list[tuple[float, float]]]()
    for hop in sorted({measured.relations[i].hop for i in numbers}):
        rows = [row for row, i in enumerate(numbers) if measured.relations[i].hop == hop]
        sure = (mean[rows] > doubt * error[rows]) & (mean[rows] >= LEAST_MORE)
        best = mean[rows].max(0).values
        weight = torch.where(sure, mean[rows], 0.0).max(0).values
        heads = [(layer, head) for layer, head in (weight > 0).nonzero().tolist()]
        depth = torch.arange(len(weight), dtype=weight.dtype)[:, None]
        layer = (weight * depth).sum() / weight.sum()
        top: Head = divmod(int(best.argmax()), best.shape[1])
        hops.append(Hop(hop, tuple(heads), layer.item() if heads else None, top, best.max().item()))
        for head in heads:
            points.setdefault(head, []).append((hop, head[0]))
    if sum(len(hop.heads) >= LEAST for hop in hops) < 2:
        return Order(name, hops, None, None)
    followers = list(points.values())
    return Order(
        name,
        hops,
        _correlation(followers),
        _interval(followers, name),
    )


def _correlation(followers: Sequence[list[tuple[float, float]]]) -> float:
    """Of hop and layer, over all that heads follow."""
    hops, layers = zip(*(point for head in followers for point in head), strict=True)
    return rank_correlation(hops, layers)


def _interval(followers: Sequence[list[tuple[float, float]]], name: str) -> tuple[float, float]:
    """Of the correlation, by drawing heads anew, each with all hops that it follows."""
    random = Random(f"order/{name}")
    drawn = []
    for _ in range(1000):
        heads = random.choices(followers, k=len(followers))
        drawn.append(_correlation(heads))
    drawn.sort()
    return drawn[24], drawn[974]


def to_json(order: Order) -> dict[str, Any]:
    """An order as plain data."""
    return {
        "name": order.name,
        "hops": [
            {
                "hop": hop.hop,
                "heads": [f"{layer}.{head}" for layer, head in hop.heads],
                "layer": hop.layer,
                "best": f"{hop.best[0]}.{hop.best[1]}",
                "best_more": hop.best_more,
            }
            for hop in order.hops
        ],
        "correlation": order.correlation,
        "interval": order.interval,
    }
