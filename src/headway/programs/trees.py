"""The shortest expression of an answer: conditions as splits, expressions as leaves.

A part of the expression costs as much as some rows that it gets wrong (description
length, in rows).
"""

from dataclasses import dataclass

import numpy as np

from headway.programs.candidates import Candidates
from headway.programs.expressions import Array, Expression

DEEPEST = 8
LOOKED_AT = 12
"""Splits that are judged by what the best splits below them then get right."""

OF_A_SPLIT = 2.0
"""The price of a split beside that of its condition."""


@dataclass(frozen=True)
class Grown:
    """An expression, and the rows that it gets right less its price in rows."""

    expression: Expression
    worth: float


@dataclass(frozen=True)
class Split:
    """A condition with the best leaf on either side.

    Attributes:
        condition: its number.
        yes: the leaf where it holds.
        no: the leaf where not.
        worth: the rows that they get right less their price.
        purity: how far few leaves are right on either side.
    """

    condition: int
    yes: int
    no: int
    worth: float
    purity: float


class Search:
    """Searches the expression of an answer.

    Args:
        conditions: that it may depend on.
        leaves: that it may be.
        weights: of the rows.
        unit: rows that one part of it costs.
    """

    def __init__(
        self,
        conditions: Candidates,
        leaves: Candidates,
        weights: Array,
        unit: float,
    ):
        self.conditions, self.leaves, self.unit = conditions, leaves, unit
        self._weights = weights.astype(np.float32)
        self._split_price = unit * (conditions.prices + OF_A_SPLIT)
        self._leaf_price = unit * leaves.prices

    def best(self) -> Expression:
        """The expression that is worth most."""
        return self._grow(self._weights, DEEPEST).expression

    def _grow(self, rows: Array, depth: int) -> Grown:
        leaf, wrong = self._leaf(rows)
        if depth == 0 or wrong <= self.unit or not self.conditions.expressions:
            return leaf
        split = self._chosen(rows, depth)
        is_yes = self.conditions.columns[split.condition]
        yes = self._grow(rows * is_yes, depth - 1)
        no = self._grow(rows * (1 - is_yes), depth - 1)
        price = float(self._split_price[split.condition])
        whole = yes.worth + no.worth - price
        if whole <= leaf.worth:
            return leaf
        condition = self.conditions.expressions[split.condition]
        parts = (condition, yes.expression, no.expression)
        where = Expression("np.where({}, {}, {})", "token", parts, OF_A_SPLIT)
        return Grown(where, whole)

    def _leaf(self, rows: Array) -> tuple[Grown, float]:
        """The best leaf, and the rows that it gets wrong."""
        right = self.leaves.columns @ rows
        worth = right - self._leaf_price
        at = int(worth.argmax())
        leaf = Grown(self.leaves.expressions[at], float(worth[at]))
        return leaf, float(rows.sum() - right[at])

    def _chosen(self, rows: Array, depth: int) -> Split:
        """The best split; if two leaves do not do, by what a split of each side then
        gets.
        """
        splits = self._splits(rows, LOOKED_AT)
        first = splits[0]
        wrong = rows.sum() - self._right(first, rows)
        if wrong <= self.unit or depth == 1:
            return first
        return max(
            splits, key=lambda split: (self._looked_ahead(split, rows), split.purity)
        )

    def _right(self, split: Split, rows: Array) -> float:
        """The rows that two leaves get right."""
        is_yes = self.conditions.columns[split.condition]
        yes = self.leaves.columns[split.yes] @ (rows * is_yes)
        no = self.leaves.columns[split.no] @ (rows * (1 - is_yes))
        return float(yes + no)

    def _looked_ahead(self, split: Split, rows: Array) -> float:
        """The worth of a split if each side is split once more where that pays."""
        is_yes = self.conditions.columns[split.condition]
        worth = -float(self._split_price[split.condition])
        sides = ((rows * is_yes, split.yes), (rows * (1 - is_yes), split.no))
        for side, leaf in sides:
            right = float(self.leaves.columns[leaf] @ side)
            as_leaf = right - float(self._leaf_price[leaf])
            more = self._splits(side, 1)[0].worth
            worth += max(as_leaf, more)
        return worth

    def _splits(self, rows: Array, count: int) -> list[Split]:
        """The splits after which two leaves are worth most, and some of the purest:
        where more splits are needed, the first may get nothing right by itself.
        """
        right = self.leaves.columns * rows
        if_yes = self.conditions.columns @ right.T
        if_no = right.sum(1) - if_yes
        of_yes = self.conditions.columns @ rows
        of_no = rows.sum() - of_yes
        purity = _purity(if_yes, of_yes) + _purity(if_no, of_no)
        if_yes -= self._leaf_price
        if_no -= self._leaf_price
        worth = if_yes.max(1) + if_no.max(1) - self._split_price
        best = np.argsort(-worth, kind="stable")[:count]
        purest = np.argsort(-purity, kind="stable")[: count // 2]
        return [
            Split(
                at,
                int(if_yes[at].argmax()),
                int(if_no[at].argmax()),
                float(worth[at]),
                float(purity[at]),
            )
            for at in dict.fromkeys([*best.tolist(), *purest.tolist()])
        ]


def _purity(right: Array, rows: Array) -> Array:
    """The rows that every leaf gets right, squared, by those that there are (Gini)."""
    return np.square(right).sum(1) / np.maximum(rows, 1.0)
