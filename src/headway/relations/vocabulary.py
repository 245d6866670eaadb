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

ANCHORED = (
    "mirror across token {number}",
    "aligned past token {number}",
    "twice past token {number}",
)
"""Places that a token of the sequence decides: tried when moved, too."""


def distinct(
    expressions: Iterable[Expression], at: Composed, matters: Mask | None = None
) -> list[Expression]:
    """The expressions that lead somewhere, and to other keys than all before them."""
    tried = list(expressions)
    keys = [_Digest() for _ in tried]
    for rows, block in blocks(at):
        for key, expression in zip(keys, tried, strict=True):
            mask = block.mask(expression)
            if matters is not None:
                mask = mask & matters[rows]
            key.add(mask)
    first = dict[bytes, Expression]()
    for key, expression in zip(keys, tried, strict=True):
        if key.leads:
            first.setdefault(key.digest, expression)
    return list(first.values())


class _Digest:
    """A digest of the keys that an expression leads to.

    Attributes:
        leads: whether there are any.
    """

    def __init__(self):
        self._hash = hashlib.blake2b(digest_size=16)
        self.leads = False

    @property
    def digest(self) -> bytes:
        """The digest of all that was added."""
        return self._hash.digest()

    def add(self, mask: Mask) -> None:
        """Take the keys in some more sequences into account."""
        self.leads |= bool(mask.any())
        self._hash.update(mask.cpu().numpy().tobytes())


def blocks(at: Composed, size: int = BLOCK) -> Iterator[tuple[slice, Composed]]:
    """The sequences, some at a time."""
    for start in range(0, len(at.inputs), size):
        rows = slice(start, start + size)
        yield rows, at.part(rows)


def candidates(at: Composed, layer: int) -> Iterator[Expression]:
    """The expressions of one part that have a meaning in a layer, the simplest first.

    In the first layer a position holds its own token and place alone, so nothing can be
    looked for there by what stands next to it or came before it.
    """
    primitives = list(_primitives(at, layer))
    sets = [keys for keys in primitives if keys.primitive.picked]
    picks = list(_picked(at, sets))
    for name in at.given:
        yield Given(name)
    yield from primitives
    yield from picks
    if at.of_tokens:
        places = [keys for keys in primitives if keys.form in PER_PLACE]
        for keys in places:
            for same in CONDITIONS.values():
                yield If(keys, same)
    if layer:
        by_place = [pick for pick in picks if not _by_value(pick)]
        anchored = [keys for keys in primitives if keys.form in ANCHORED]
        yield from _moved([*sets, *by_place, *anchored])


def _primitives(at: Composed, layer: int) -> Iterator[Keys]:
    for primitive in PRIMITIVES.values():
        if primitive.layer <= layer and at.has(primitive.needs):
            for arguments in primitive.tried(at):
                yield Keys(primitive.form, arguments)


def _picked(at: Composed, sets: Sequence[Keys]) -> Iterator[Expression]:
    for which in ENDS:
        for keys in sets:
            yield Picked(which, keys)
    ranked = [keys for keys in sets if keys.form in RANKED]
    for which in ENDS:
        for keys in ranked:
            yield Picked(which, keys, 2)
            yield Picked(which, keys, 3)
    for keys in ranked:
        yield Run(keys)
    if at.has("order"):
        for which in ("smallest", "largest"):
            for keys in sets:
                yield Picked(which, keys)
            yield Picked(which, Keys("any token"), 2)


def _moved(movable: Sequence[Expression]) -> Iterator[Expression]:
    for by in MOVES.values():
        for keys in movable:
            yield Moved(keys, by)


def _by_value(pick: Expression) -> bool:
    return isinstance(pick, Picked) and pick.which not in ENDS
