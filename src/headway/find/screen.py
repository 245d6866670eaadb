"""The bits of a head's attention under expressions, without a pass of the model.

A row of attention costs as many bits as a mixture needs to tell it: of what the
expression says, and of what the head attends to whatever stands in the sequence. The
share of the mixture is fitted, so that soft attention along a relation costs little. A
row counts by what changing it moves.

Rows without a key of an expression are told by the second part of the mixture alone.
So the cost of `one, else another` is a sum over rows of what each of both costs there,
and that of `one for some tokens, else another` a sum over the query's tokens. All pairs
are priced at once, before any is evaluated.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import log

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headway.relations.composed import Composed
from headway.relations.expressions import Both, Else, Expression, For, parse
from headway.relations.primitives import Tokens
from headway.relations.rows import AttentionRows
from headway.relations.vocabulary import distinct

SHARES = (0.3, 0.6, 0.85, 0.98)
"""The shares of an expression in the mixture, of which the best is taken."""

SURE = 0.98
"""The part of the mixture that is the head's own average; the rest is even."""

FEWEST = 1e-9
"""The least attention whose logarithm is taken."""

BEST = 8
"""Expressions that are extended by one more part."""

FIRSTS = 40
"""Expressions to which every `else` is tried."""

OTHERS = 3
"""Expressions that are proposed as the `else` of one."""

PROPOSED = 40
"""Extensions of each kind that are evaluated."""

FEW_QUERIES = 64
"""Of more tokens than these, no query's token is told apart."""

ALSO = ("first position", "own position")
"""Places that heads look at beside others, as they may rest there."""


@dataclass(frozen=True)
class Told:
    """The bits of a head's attention under some expressions.

    Attributes:
        expressions: that tell it.
        costs: in bits of every row, by the expression's share of the mixture.
        has_key: the rows in which expressions have a key.
    """

    expressions: list[Expression]
    costs: Float[Tensor, "expression share row"]
    has_key: Bool[Tensor, "expression row"]


class Screen(AttentionRows):
    """The attention of a head, to be told by expressions.

    Args:
        relations: the sequences on which expressions are evaluated.
        own: the head's attention.
        average: what it attends to whatever stands in a sequence.
        rows: how much every row counts.
        bits: what a bit in every row costs.
    """

    def __init__(
        self,
        relations: Composed,
        own: Float[Tensor, "sequence query key"],
        average: Float[Tensor, "query key"],
        rows: Float[Tensor, "sequence query"],
        bits: float,
    ):
        super().__init__(relations, own, rows)
        self.bits = bits
        average = average.expand_as(own[0])[self.query].float()
        n_keys = (average > 0).sum(1, keepdim=True).clamp(min=1)
        self.average = SURE * average + (1 - SURE) / n_keys * (average > 0)
        self.entropy = _information(self.own, self.own)

    @cached_property
    def groups(self) -> Float[Tensor, "row group"]:
        """The weight of every row in its group: rows of one token of the query.

        Attention may be sharp for some of these and soft for others. Of many tokens, or
        of none, all rows are one group.
        """
        is_many = len(self.relations.known) > FEW_QUERIES
        if not self.relations.of_tokens or is_many:
            return self.counts[:, None]
        tokens, token = self.query_tokens.unique(return_inverse=True)
        is_of = torch.nn.functional.one_hot(token, max(1, len(tokens)))
        return is_of * self.counts[:, None]

    def untold(self) -> float:
        """The bits of attention that the head's average does not tell."""
        apart = self.entropy - _information(self.own, self.average)
        return self.bits * (apart @ self.counts).item()

    def explained(self, expression: Expression) -> float:
        """The share of the attention that lies where an expression would have it."""
        keys = self.keys(expression)
        even = keys / keys.sum(1, keepdim=True).clamp(min=FEWEST)
        common = self.own[:, : keys.shape[1]].minimum(even)
        return (common.sum(1) @ self.counts).item()

    def price(self, told: Told) -> Float[Tensor, " expression"]:
        """The bits of each expression and of the attention under it."""
        by_group = told.costs @ self.groups  # [expression, share, group]
        return self.bits * by_group.amin(1).sum(1) + self._words(told.expressions)

    def _words(self, expressions: Sequence[Expression]) -> Float[Tensor, " each"]:
        return self.counts.new_tensor([each.price for each in expressions])

    def told(self, expressions: Sequence[Expression]) -> Told:
        """Price the head's attention under expressions, row by row."""
        n_rows = len(self.counts)
        costs = self.own.new_zeros(len(expressions), len(SHARES), n_rows)
        has_key = self.own.new_zeros(len(expressions), n_rows, dtype=torch.bool)
        for within, each in self.evaluated(expressions):
            for number, keys in enumerate(each):
                costs[number][:, within] = self._costs(keys, within)
                has_key[number, within] = keys.any(1)
        return Told(list(expressions), costs, has_key)

    def _costs(
        self, keys: Float[Tensor, "some key"], within: Bool[Tensor, " row"]
    ) -> Float[Tensor, "share some"]:
        """The bits of some rows, given the weights of keys."""
        own, average = self.own[within], self.average[within]
        beyond = own.shape[1] - keys.shape[1]  # keys that are no position, as a sink
        keys = torch.nn.functional.pad(keys, (0, beyond))
        total = keys.sum(1, keepdim=True)
        even = keys / total.clamp(min=FEWEST)
        has_key = total > 0
        told = [
            torch.where(has_key, share * even + (1 - share) * average, average)
            for share in SHARES
        ]
        entropy = self.entropy[within]
        return torch.stack([entropy - _information(own, mixture) for mixture in told])

    def best(self, told: Told, count: int) -> list[int]:
        """The numbers of the cheapest expressions."""
        price = self.price(told)
        return price.topk(min(count, len(price)), largest=False).indices.tolist()

    def cheapest(self, told: Told, count: int) -> dict[Expression, float]:
        """The cheapest expressions, with the bits of words and attention."""
        if not told.expressions:
            return {}
        price = self.price(told)
        return {
            told.expressions[number]: price[number].item()
            for number in self.best(told, count)
        }

    def extended(self, told: Told) -> list[Expression]:
        """Expressions of more parts that may be cheaper than any of one part."""
        if not told.expressions:
            return []
        firsts = self.best(told, BEST)
        expressions = [
            *self._with_else(told),
            *self._by_query(told),
            *self._with_rest([told.expressions[number] for number in firsts]),
        ]
        expressions.sort(key=lambda each: each.price)
        return distinct(expressions, self.relations, self.matters)

    def _with_else(self, told: Told) -> list[Expression]:
        """Pairs with an `else`, the cheapest."""
        saved = (self.entropy - _information(self.own, self.average)) - told.costs
        gain = ((saved * told.has_key[:, None]) @ self.counts).amax(1)
        value = self.bits * gain - self._words(told.expressions)
        firsts = value.topk(min(FIRSTS, len(value))).indices
        has_key = told.has_key[firsts]
        own_rows = (has_key[:, None] * told.costs[firsts]) @ self.groups
        words = self._words(told.expressions)
        both = list[Tensor]()
        for number, first in enumerate(firsts.tolist()):
            left = ~has_key[number][:, None] * self.groups
            bits = (own_rows[number] + told.costs @ left).amin(1).sum(1)
            # An `else` that is never asked adds nothing.
            asks = (told.has_key & ~has_key[number]).any(1)
            bits = self.bits * bits + words + words[first]
            both.append(bits.where(asks, torch.inf))
        known = told.expressions
        cheapest = _best_of_each(torch.stack(both), OTHERS)
        return [
            Else(known[firsts[first]], known[other])
            for first, other in _cheapest(cheapest, PROPOSED)
        ]

    def _by_query(self, told: Told) -> list[Expression]:
        """Two or three expressions, each for queries of some tokens."""
        if self.groups.shape[1] < 2:
            return []
        tokens = self.query_tokens.unique()
        likely = self.best(told, 2 * PROPOSED)
        by_token = self.bits * (told.costs[likely] @ self.groups).amin(1)
        known = [told.expressions[number] for number in likely]
        words = self._words(known)
        both = by_token[:, None].minimum(by_token).sum(2) + words[:, None] + words
        # A split must tell more of the attention than each of its parts alone.
        alone = by_token.sum(1) + words
        both = both.where(both < alone.minimum(alone[:, None]), torch.inf)
        expressions = list[Expression]()
        for pair in _cheapest(both, PROPOSED):
            expressions += _split(by_token, tokens, pair, known)
            rest = by_token[list(pair)].amin(0).minimum(by_token).sum(1) + words
            third = int(rest.argmin())
            expressions += _split(by_token, tokens, (*pair, third), known)
        return expressions

    def _with_rest(self, firsts: Sequence[Expression]) -> list[Expression]:
        """Expressions together with a place to rest at."""
        also = [parse(name) for name in ALSO]
        both = Both(also[1], also[0])
        return [
            Both(first, rest)
            for first, rest in product(firsts, [*also, both])
            if isinstance(first, Expression) and str(first) not in ALSO
        ]


def _information(own: Tensor, told: Tensor) -> Float[Tensor, " row"]:
    """Minus the bits that it takes to tell rows of attention by others."""
    return (own * told.clamp(min=FEWEST).log()).sum(1) / log(2)


def _best_of_each(bits: Float[Tensor, "a b"], count: int) -> Float[Tensor, "a b"]:
    """The smallest numbers of each row; the others are infinite."""
    least = bits.topk(min(count, bits.shape[1]), dim=1, largest=False)
    others = torch.full_like(bits, torch.inf)
    return others.scatter(1, least.indices, least.values)


def _cheapest(bits: Float[Tensor, "a b"], count: int) -> list[tuple[int, int]]:
    """The places of the smallest numbers."""
    least = bits.flatten().topk(min(count, bits.numel()), largest=False)
    finite = least.indices[least.values.isfinite()].tolist()
    return [divmod(place, bits.shape[1]) for place in finite]


def _split(
    by_token: Float[Tensor, "expression token"],
    tokens: Int[Tensor, " token"],
    numbers: Iterable[int],
    known: Sequence[Expression],
) -> list[Expression]:
    """One expression for each query's token: the cheapest of some for that.

    The one for most tokens comes last, for all that are left.
    """
    chosen = list(dict.fromkeys(numbers))
    best = by_token[chosen].argmin(0)
    parts = list[tuple[Expression, list[int]]]()
    for number, expression in enumerate(chosen):
        parts.append((known[expression], tokens[best == number].tolist()))
    parts = sorted((part for part in parts if part[1]), key=lambda part: len(part[1]))
    if len(parts) < 2:
        return []
    *conditional, (last, _) = parts
    for expression, of in reversed(conditional):
        last = Else(For(expression, Tokens.of(of)), last)
    return [last]
