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
        is_attended = average > 0
        n_keys = is_attended.sum(1, keepdim=True).clamp(min=1)
        even = (1 - SURE) / n_keys * is_attended
        self.average = SURE * average + even
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

    def rows_told(self, expressions: Sequence[Expression]) -> list[float]:
        """The share of rows that each expression tells: `AttentionRows.share_told`."""
        common = self.counts.new_zeros(len(expressions), len(self.counts))
        for within, each in self.evaluated(expressions):
            own = self.own[within]
            for number, keys in enumerate(each):
                even = keys / keys.sum(1, keepdim=True).clamp(min=FEWEST)
                shared = own[:, : keys.shape[1]].minimum(even)
                common[number, within] = shared.sum(1)
        return [self.share_told(of_rows) for of_rows in common]

    def price(self, told: Told) -> Float[Tensor, " expression"]:
        """The bits of each expression and of the attention under it."""
        by_group = told.costs @ self.groups  # [expression, share, group]
        attention = by_group.amin(1).sum(1)
        return self.bits * attention + self._words(told.expressions)

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
        own = self.own[within]
        average = self.average[within]
        entropy = self.entropy[within]
        beyond = own.shape[1] - keys.shape[1]  # keys that are no position, as a sink
        keys = torch.nn.functional.pad(keys, (0, beyond))
        return entropy - _information(own, _mixtures(keys, average))

    def best(self, told: Told, count: int) -> list[int]:
        """The numbers of the cheapest expressions."""
        price = self.price(told)
        cheapest = price.topk(min(count, len(price)), largest=False)
        return cheapest.indices.tolist()

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
        best = self.best(told, BEST)
        firsts = [told.expressions[number] for number in best]
        expressions = [
            *self._with_else(told),
            *self._by_query(told),
            *_with_rest(firsts),
        ]
        expressions.sort(key=lambda each: each.price)
        return distinct(expressions, self.relations, self.matters)

    def _with_else(self, told: Told) -> list[Expression]:
        """Pairs with an `else`, the cheapest."""
        words = self._words(told.expressions)
        firsts = self._firsts(told, words)
        bits = self._bits_with_else(told, words, firsts)
        cheapest = _best_of_each(bits, OTHERS)
        known = told.expressions
        return [
            Else(known[firsts[number]], known[other])
            for number, other in _cheapest(cheapest, PROPOSED)
        ]

    def _firsts(self, told: Told, words: Float[Tensor, " expression"]) -> list[int]:
        """The numbers of the expressions that save most in rows where they have a
        key.
        """
        by_average = self.entropy - _information(self.own, self.average)
        saved = (by_average - told.costs) * told.has_key[:, None]
        gain = (saved @ self.counts).amax(1)
        value = self.bits * gain - words
        return value.topk(min(FIRSTS, len(value))).indices.tolist()

    def _bits_with_else(
        self, told: Told, words: Float[Tensor, " expression"], firsts: list[int]
    ) -> Float[Tensor, "first expression"]:
        """The bits of some expressions, each with every other as its `else`."""
        has_key = told.has_key[firsts]
        in_own_rows = (has_key[:, None] * told.costs[firsts]) @ self.groups
        both = list[Tensor]()
        for number, first in enumerate(firsts):
            attention = self._with_any_else(told, has_key[number], in_own_rows[number])
            both.append(attention + words + words[first])
        return torch.stack(both)

    def _with_any_else(
        self,
        told: Told,
        has_key: Bool[Tensor, " row"],
        in_own_rows: Float[Tensor, "share group"],
    ) -> Float[Tensor, " expression"]:
        """The bits of attention under one expression with every other as its `else`.

        Args:
            told: the others.
            has_key: the rows in which the one has a key.
            in_own_rows: its costs there.
        """
        rows_left = ~has_key[:, None] * self.groups
        by_group = in_own_rows + told.costs @ rows_left
        bits = self.bits * by_group.amin(1).sum(1)
        # An `else` that is never asked adds nothing.
        is_asked = (told.has_key & ~has_key).any(1)
        return bits.where(is_asked, torch.inf)

    def _by_query(self, told: Told) -> list[Expression]:
        """Two or three expressions, each for queries of some tokens."""
        if self.groups.shape[1] < 2:
            return []
        tokens = self.query_tokens.unique()
        likely = self.best(told, 2 * PROPOSED)
        known = [told.expressions[number] for number in likely]
        words = self._words(known)
        by_token = self.bits * (told.costs[likely] @ self.groups).amin(1)
        expressions = list[Expression]()
        for pair in _cheapest(_split_in_two(by_token, words), PROPOSED):
            expressions += _split(by_token, tokens, pair, known)
            third = _third(by_token, words, pair)
            expressions += _split(by_token, tokens, (*pair, third), known)
        return expressions


def _mixtures(
    keys: Float[Tensor, "row key"], average: Float[Tensor, "row key"]
) -> Float[Tensor, "share row key"]:
    """The attention that keys tell, for each share of it that they may have.

    Rows without a key are told by the average alone.
    """
    total = keys.sum(1, keepdim=True)
    even = keys / total.clamp(min=FEWEST)
    has_key = total > 0
    shares = keys.new_tensor(SHARES)[:, None, None]
    left = keys.new_tensor([1 - share for share in SHARES])[:, None, None]
    mixed = shares * even + left * average
    return torch.where(has_key, mixed, average)


def _with_rest(firsts: Sequence[Expression]) -> list[Expression]:
    """Expressions together with a place to rest at."""
    first_position, own_position = (parse(name) for name in ALSO)
    places = [first_position, own_position, Both(own_position, first_position)]
    others = [first for first in firsts if str(first) not in ALSO]
    return [Both(first, place) for first, place in product(others, places)]


def _split_in_two(
    by_token: Float[Tensor, "expression token"], words: Float[Tensor, " expression"]
) -> Float[Tensor, "expression expression"]:
    """The bits of two expressions, of which each query's token has the cheaper one.

    Infinite where that tells no more of the attention than one of the two alone.
    """
    attention = by_token[:, None].minimum(by_token).sum(2)
    both = attention + words[:, None] + words
    alone = by_token.sum(1) + words
    cheaper_alone = alone.minimum(alone[:, None])
    return both.where(both < cheaper_alone, torch.inf)


def _third(
    by_token: Float[Tensor, "expression token"],
    words: Float[Tensor, " expression"],
    pair: tuple[int, int],
) -> int:
    """The number of the expression that tells most beside two others."""
    least = by_token[list(pair)].amin(0)
    bits = least.minimum(by_token).sum(1) + words
    return int(bits.argmin())


def _information(
    own: Float[Tensor, "row key"], told: Float[Tensor, "*share row key"]
) -> Float[Tensor, "*share row"]:
    """Minus the bits that it takes to tell rows of attention by others."""
    return (own * told.clamp(min=FEWEST).log()).sum(-1) / log(2)


def _best_of_each(bits: Float[Tensor, "a b"], count: int) -> Float[Tensor, "a b"]:
    """The smallest numbers of each row; the others are infinite."""
    least = bits.topk(min(count, bits.shape[1]), dim=1, largest=False)
    others = torch.full_like(bits, torch.inf)
    return others.scatter(1, least.indices, least.values)


def _cheapest(bits: Float[Tensor, "a b"], count: int) -> list[tuple[int, int]]:
    """The places of the smallest numbers."""
    least = bits.flatten().topk(min(count, bits.numel()), largest=False)
    is_finite = least.values.isfinite()
    finite = least.indices[is_finite].tolist()
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
        its_tokens = tokens[best == number].tolist()
        if its_tokens:
            parts.append((known[expression], its_tokens))
    parts.sort(key=lambda part: len(part[1]))
    if len(parts) < 2:
        return []
    *conditional, (split, _) = parts
    for part, its_tokens in reversed(conditional):
        split = Else(For(part, Tokens.of(its_tokens)), split)
    return [split]
