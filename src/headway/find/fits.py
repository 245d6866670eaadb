"""Expressions that are fitted to a head's attention: classes and weights of tokens."""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from headway.find.screen import FEWEST, Screen
from headway.relations.composed import FEW_TOKENS
from headway.relations.expressions import (
    ENDS,
    MOVES,
    Else,
    Expression,
    For,
    Keys,
    Moved,
    Picked,
    Weighed,
)
from headway.relations.primitives import Tokens

MANY = 64
"""Of more tokens than these no classes are fitted."""

RANGES = 4
"""A class of tokens has at most so many ranges."""

OUTSIDE = 0.25
"""Tokens outside a class get at most this share of the attention that one of the class
may get.
"""

EVEN = 0.01
"""Keys that count less than others by this share or less count the same."""

ROUNDS = 8
"""Rounds in which weights are fitted."""


def classes(screen: Screen, layer: int) -> list[Expression]:
    """Tokens that get far more of a head's attention than others, or what is next to
    these.
    """
    relations = screen.relations
    has_few = 2 < len(relations.known) <= MANY
    if not relations.of_tokens or not has_few:
        return []
    seen = screen.keys(Keys("all so far"))
    own = screen.own[:, : relations.length]
    moves = (0, *MOVES.values()) if layer else (0,)
    expressions = list[Expression]()
    for by in moves:
        tokens = _class(screen, own, seen, by)
        if tokens is not None:
            expressions += _of_class(tokens, by)
    return expressions


def _of_class(tokens: Tokens, by: int) -> list[Expression]:
    """All of some tokens and the last of them at either end, or what is next to
    these.
    """
    all_of = Keys("token of {tokens}", (tokens,))
    expressions = [all_of, *(Picked(which, all_of) for which in ENDS)]
    if by == 0:
        return expressions
    return [Moved(keys, by) for keys in expressions]


def _class(screen: Screen, own: Tensor, seen: Tensor, by: int) -> Tokens | None:
    """The tokens that get most, each as far as it may get some, so many places off."""
    known = own.new_tensor(screen.relations.known)
    is_of = F.pad(_one_hot(screen.tokens, known), (0, 0, by, -by))
    went = torch.einsum("rk,rkt,r->t", own, is_of, screen.counts)
    could = torch.einsum("rk,rkt,r->t", seen, is_of, screen.counts)
    share = went / could.clamp(min=FEWEST)
    chosen = 2 * share >= share.max()
    numbers = known[chosen].long().tolist()
    tokens = Tokens.of(numbers)
    if chosen.all() or len(tokens.ranges) > RANGES:
        return None
    is_apart = share[~chosen].max() <= OUTSIDE * share.max()
    return tokens if is_apart else None


def weighed(screen: Screen, expression: Expression) -> Iterator[Expression]:
    """An expression whose keys weigh as a head weighs them, by their tokens.

    Once with the same weights for all queries, and once with weights of its own for
    each query's token.
    """
    relations = screen.relations
    if not relations.of_tokens or len(relations.known) > FEW_TOKENS:
        return
    keys = screen.keys(expression) > 0
    if (keys.sum(1) <= 1).all():
        return
    every = torch.ones_like(screen.counts, dtype=torch.bool)
    by_all = _weights(screen, keys, every)
    if by_all:
        yield Weighed(expression, by_all)
    query = screen.query_tokens
    by_query: Expression | None = None
    for token in query.unique().tolist():
        weights = _weights(screen, keys, query == token)
        part = For(expression, Tokens.of([token]))
        if weights:
            part = Weighed(part, weights)
        by_query = part if by_query is None else Else(part, by_query)
    if by_query is not None and by_query.parts > 2:
        yield by_query


def _weights(
    screen: Screen, keys: Tensor, among: Tensor
) -> tuple[tuple[int, float], ...]:
    """The weights of tokens that count less as keys than those that count most."""
    known = screen.relations.known
    own = screen.own[among, : screen.relations.length]
    is_of = _one_hot(screen.tokens[among], own.new_tensor(known))
    keys = keys[among].to(own.dtype)
    counts = screen.counts[among, None]
    weight = own.new_ones(len(known))
    for _ in range(ROUNDS):
        weight = _fitted_anew(weight, own, keys, is_of, counts)
    each = zip(known, weight.clamp(min=1e-3).tolist(), strict=True)
    return tuple((token, round(x, 3)) for token, x in each if x < 1 - EVEN)


def _fitted_anew(
    weight: Float[Tensor, " token"],
    own: Float[Tensor, "row key"],
    keys: Float[Tensor, "row key"],
    is_of: Float[Tensor, "row key token"],
    counts: Float[Tensor, "row one"],
) -> Float[Tensor, " token"]:
    """The weights of tokens after one round more of fitting, the largest 1."""
    total = (keys * (is_of @ weight)).sum(1, keepdim=True)
    went = _by_token(own * keys * total * counts, is_of)
    even = _by_token(keys * counts, is_of)
    fitted = torch.where(even > 0, went / even.clamp(min=FEWEST), 1.0)
    return fitted / fitted.max().clamp(min=FEWEST)


def _one_hot(
    tokens: Int[Tensor, "row key"], known: Float[Tensor, " token"]
) -> Float[Tensor, "row key token"]:
    """1 where a key is a token that is known, by its number, else 0."""
    return (tokens[..., None] == known).to(known.dtype)


def _by_token(
    keys: Float[Tensor, "row key"], is_of: Float[Tensor, "row key token"]
) -> Float[Tensor, " token"]:
    return torch.einsum("rk,rkt->t", keys, is_of)
