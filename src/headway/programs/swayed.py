"""Attention of heads when heads below them look elsewhere.

Selects that have the same keys in a model as it is may differ once a lower head looks
elsewhere: whether a head looks for the query's token or for what was brought to the
query shows in its attention then.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from headway.models.tapped import attention_patterns
from headway.programs.elsewhere import Elsewhere, Moved
from headway.programs.expressions import Array, Expression, Scope
from headway.programs.sample import Sample
from headway.replace.heads import Head
from headway.replace.patterns import tap_of

CLOSE = 0.02
"""Selects that tell attention so nearly as well as the best: the shortest is taken."""

MOST = 24
"""Selects that are compared, the shortest first."""


@dataclass(frozen=True)
class Sway:
    """Sequences in which some heads look elsewhere.

    Attributes:
        scope: the values of expressions then.
        attention: of all heads, [sequence, layer, head, query, key].
    """

    scope: Scope
    attention: Array

    def told(
        self, selects: Sequence[Expression], head: Head, rows: Array
    ) -> tuple[Array, int]:
        """The attention of a head that each select tells, added up over those of some
        rows at which the selects differ; and how many these are.
        """
        with self.scope.trying():
            masks = [self.scope.value(select)[rows] for select in selects]
        keys = np.stack(masks)
        differ = (keys != keys[0]).any((0, 2))
        attention = self.attention[:, *head][rows][differ]
        told = [told_by(each[differ], attention).sum() for each in keys]
        return np.array(told), int(differ.sum())


def told_by(keys: Array, attention: Array) -> Array:
    """The share of attention that even attention to keys tells, of every row."""
    counts = keys.sum(1, keepdims=True)
    shares = keys / np.maximum(counts, 1)
    return np.minimum(shares, attention).sum(1)


class Swayed:
    """A model's attention when the heads of lower layers look elsewhere.

    Args:
        sample: the sequences.
    """

    def __init__(self, sample: Sample):
        self.sample = sample
        self._sways = list[Sway]()

    def add_layer(self, selects: Sequence[Expression]) -> None:
        """Makes the heads of a layer look elsewhere."""
        elsewhere = Elsewhere(selects, self.sample, 0)
        for group in elsewhere.groups:
            for moved in elsewhere.in_both_ways(group):
                self._sways.append(self._sway(elsewhere, moved))

    def _sway(self, elsewhere: Elsewhere, moved: Moved) -> Sway:
        bench = self.sample.bench
        tap = tap_of(bench.patterns, [moved.mechanisms], slice(None))
        with torch.no_grad():
            attention = attention_patterns(bench.model, bench.batch.inputs, tap)
        length = self.sample.tokens.shape[1]
        instead = moved.instead(elsewhere.scope)
        scope = Scope(self.sample.inputs, self.sample.how, instead)
        return Sway(scope, attention[..., :length, :length].cpu().numpy())

    def best(
        self, selects: Sequence[Expression], head: Head, rows: Array
    ) -> Expression:
        """The select that tells a head's attention best; of several the shortest.

        Args:
            selects: that have the same keys as it is.
            head: whose attention it is.
            rows: at which it matters, [sequence, query].
        """
        by_length = sorted(selects, key=lambda select: len(select.code()))[:MOST]
        if len(by_length) == 1 or not self._sways:
            return by_length[0]
        every = [sway.told(by_length, head, rows) for sway in self._sways]
        shares, counts = zip(*every, strict=True)
        told = np.sum(shares, axis=0)
        least = told.max() - CLOSE * sum(counts)
        likely = zip(by_length, told, strict=True)
        return next(select for select, share in likely if share >= least)
