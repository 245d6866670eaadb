"""The expressions that are worth trying on some sequences."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from headway.relations.composed import Composed
from headway.relations.expressions import (
    CONDITIONS,
    ENDS,
    MOVES,
    Expression,
    Given,
    If,
    Keys,
    Mask,
    Moved,
    Picked,
    Run,
)
from headway.relations.primitives import PRIMITIVES

BLOCK = 16
"""Sequences on which expressions are evaluated at once."""

RANKED = ("same token", "token {number}")
"""Sets of which the second and the third key are tried, too."""

PER_PLACE = ("mirror position", "previous token")
"""Places that are tried under a condition."""


def vocabulary(
    at: Composed, layer: int, matters: Mask | None = None
) -> list[Expression]:
    """The expressions of one part to try in a layer, the simplest first.

    In the first layer a position holds its own token and place alone, so nothing can be
    looked for there by what stands next to it or came before it. Of several expressions
    that lead to the same keys the first alone is tried.

    Args:
        at: the sequences.
        layer: from 0.
        matters: queries whose keys matter, [batch, query, 1]; by default all.
    """
    return distinct(candidates(at, layer), at, matters)


def distinct(
    expressions: Iterable[Expression], at: Composed, matters: Mask | None = None
) -> list[Expression]:
    """Those of some expressions that lead somewhere, each to other keys than those
    before.
    """
    tried = list(expressions)
    keys = [hashlib.blake2b(digest_size=16) for _ in tried]
    lead = [False] * len(tried)
    for rows, block in blocks(at):
        for number, expression in enumerate(tried):
            mask = block.mask(expression)
            if matters is not None:
                mask = mask & matters[rows]
            lead[number] |= bool(mask.any())
            keys[number].update(mask.cpu().numpy().tobytes())
    first: dict[bytes, Expression] = {}
    for expression, key, leads in zip(tried, keys, lead, strict=True):
        if leads:
            first.setdefault(key.digest(), expression)
    return list(first.values())


def blocks(at: Composed, size: int = BLOCK) -> Iterator[tuple[slice, Composed]]:
    """The sequences, some at a time."""
    for start in range(0, len(at.inputs), size):
        rows = slice(start, start + size)
        yield rows, at.part(rows)


def candidates(at: Composed, layer: int) -> Iterator[Expression]:
    """The expressions of one part that have a meaning in a layer, the simplest
    first.
    """
    primitives = list(_primitives(at, layer))
    sets = [keys for keys in primitives if keys.primitive.picked]
    picks = [*_picked(at, sets)]
    yield from (Given(name) for name in at.given)
    yield from primitives
    yield from picks
    if at.of_tokens:
        for keys in primitives:
            if keys.form in PER_PLACE:
                yield from (If(keys, same) for same in CONDITIONS.values())
    if layer:
        anchored = [keys for keys in primitives if keys.primitive.words == 3]
        movable = [pick for pick in picks if not _by_value(pick)]
        movable = [*sets, *movable, *anchored]
        for by in MOVES.values():
            yield from (Moved(pick, by) for pick in movable)


def _primitives(at: Composed, layer: int) -> Iterator[Keys]:
    for primitive in PRIMITIVES.values():
        if primitive.layer <= layer and at.has(primitive.needs):
            for arguments in primitive.tried(at):
                yield Keys(primitive.form, arguments)


def _picked(at: Composed, sets: Sequence[Keys]) -> Iterator[Expression]:
    for which in ENDS:
        yield from (Picked(which, keys) for keys in sets)
    ranked = [keys for keys in sets if keys.form in RANKED]
    for which in ENDS:
        yield from (Picked(which, keys, rank) for keys in ranked for rank in (2, 3))
    yield from (Run(keys) for keys in sets if keys.form in RANKED)
    if at.has("order"):
        for which in ("smallest", "largest"):
            for keys in sets:
                yield Picked(which, keys)
            yield Picked(which, Keys("any token"), 2)


def _by_value(pick: Expression) -> bool:
    return isinstance(pick, Picked) and pick.which not in ENDS
