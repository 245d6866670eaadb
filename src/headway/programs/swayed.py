"""Where heads look when heads below them look elsewhere.

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
from headway.programs.expressions import Array, Expression, Mask, Scope
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

    def overlap(self, select: Expression, head: Head, rows: Array) -> float:
        """The share of a head's attention that a select tells, at some rows."""
        with self.scope.trying():
            keys = self.scope.value(select)
            return overlap(keys, self.attention, head, rows)


def overlap(keys: Mask, attention: Array, head: Head, rows: Array) -> float:
    """The share of a head's attention that even attention to keys tells, at some rows.

    Args:
        keys: of every query.
        attention: of all heads, [sequence, layer, head, query, key].
        head: whose attention it is.
        rows: the queries, [sequence, query].
    """
    layer, number = head
    at_rows = keys[rows]
    shares = at_rows / np.maximum(at_rows.sum(1, keepdims=True), 1)
    own = attention[:, layer, number][rows]
    return float(np.minimum(shares, own).sum(1).mean()) if len(own) else 0.0


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
        told = [
            sum(sway.overlap(select, head, rows) for sway in self._sways)
            for select in by_length
        ]
        least = max(told) - CLOSE * len(self._sways)
        likely = zip(by_length, told, strict=True)
        return next(select for select, share in likely if share >= least)
