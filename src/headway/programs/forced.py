"""Heads that are made to look elsewhere, in the model and in a program.

A query takes the keys of another query of its sequence that plays the same role. Of
heads that others read, two queries swap theirs, one pair in a sequence, so that what is
brought is still brought once. So the model sees rows of attention that it might have,
in the wrong place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from headway.programs.doubts import Doubts
from headway.programs.expressions import Array, Expression, Mask, Scope
from headway.programs.printed import Program
from headway.programs.sample import Sample
from headway.replace.heads import head_of
from headway.replace.mechanism import Mechanism, Rows
from headway.replace.patterns import Patterns

LEAST_ROWS = 20
"""Answers that must move, so that a share of them says something."""

ROUNDS = 3
"""Times that every sequence is forced, each with another fallback."""

ALIKE = 0.95
"""Heads of a layer that look at the same keys in this share of the rows are forced
together."""


@dataclass(frozen=True, eq=False)
class Forced(Mechanism):
    """A head that attends to given keys in some rows, evenly, and as it does in others.

    Attributes:
        rows: the attention, [sequence, query, key].
        where: the rows that are forced, [sequence, query].
    """

    rows: Tensor
    where: Tensor

    def needs_own(self, patterns: Patterns) -> bool:
        """The other rows do."""
        return True

    def edit(self, patterns: Patterns, own: Rows, start: int, part: slice) -> Rows:
        """Given rows, and the head's own."""
        is_forced = self.where[part, start:, None].to(own.device)
        rows = self.rows[part, start:].to(own)
        return torch.where(is_forced, rows, own)


@dataclass(frozen=True)
class Moved:
    """The keys of a select that look elsewhere.

    Attributes:
        keys: of every query.
        where: the queries that look elsewhere.
    """

    keys: Mask
    where: Array

    def instead_of(self, keys: Mask) -> Mask:
        """These keys, with those of queries that look elsewhere."""
        return np.where(self.where[..., None], self.keys, keys)

    @property
    def mechanism(self) -> Forced:
        """The head that does."""
        times = self.keys.sum(2, keepdims=True)
        rows = self.keys / np.maximum(times, 1)
        return Forced(torch.from_numpy(rows), torch.from_numpy(self.where))


@dataclass(frozen=True)
class Followed:
    """The share of moved answers in which a program follows the model.

    Attributes:
        heads: that were made to look elsewhere.
        moved: answers of model or program that moved.
        share: of those, the share that are the same; None if hardly any moved.
    """

    heads: tuple[str, ...]
    moved: int
    share: float | None


class Forcing:
    """Makes heads look elsewhere, on sequences that the program was not found on.

    Args:
        program: that is judged.
        selects: of all heads that are read.
        sample: the sequences.
        seed: of where heads are made to look.
    """

    def __init__(
        self,
        program: Program,
        selects: Sequence[Expression],
        sample: Sample,
        seed: int,
    ):
        self.program, self.selects, self.sample = program, selects, sample
        self.seed = seed
        self.scope = Scope(sample.inputs, program.how)
        self.own = sample.answers()
        self.told = program(sample.inputs)
        self._roles = _roles_of(sample)

    def follows(self) -> list[Followed]:
        """Every head of the circuit, one select after the other."""
        left = list(self.selects)
        followed = list[Followed]()
        while left:
            select = left.pop(0)
            together = [another for another in left if self._are_alike(select, another)]
            left = [another for another in left if another not in together]
            followed.append(self._followed([select, *together]))
        return followed

    def _are_alike(self, first: Expression, second: Expression) -> bool:
        """True if heads of a layer look at the same keys nearly everywhere."""
        layers = {head_of(name)[0] for name in (*first.heads, *second.heads)}
        keys = self.scope.value(first), self.scope.value(second)
        rows = self.sample.matters & keys[0].any(2) & keys[1].any(2)
        same = (keys[0][rows] == keys[1][rows]).all(1)
        return len(layers) == 1 and len(same) > 0 and same.mean() >= ALIKE

    def _followed(self, selects: Sequence[Expression]) -> Followed:
        """Forces heads that look at the same keys."""
        heads = tuple(name for select in selects for name in select.heads)
        generator = np.random.default_rng(self.seed)
        follows = list[Array]()
        for turn in range(ROUNDS):
            elsewhere = self._elsewhere(selects[0], turn, generator)
            follows.append(self._forced(selects, heads, elsewhere))
        every = np.concatenate(follows)
        share = float(every.mean()) if len(every) >= LEAST_ROWS else None
        return Followed(heads, len(every), share)

    def _forced(
        self, selects: Sequence[Expression], heads: Sequence[str], elsewhere: Moved
    ) -> Array:
        """Tell, of every answer that moves, if the program follows."""
        together = dict.fromkeys(map(head_of, heads), elsewhere.mechanism)
        forced = self.sample.answers(together)
        instead = {
            select: elsewhere.instead_of(self.scope.value(select)) for select in selects
        }
        told = self.program(self.sample.inputs, instead)
        moves = (forced != self.own) | (told != self.told)
        moves &= self._is_sure(instead)
        return (forced == told)[moves]

    def _is_sure(self, instead: Mapping[Expression, Array]) -> Array:
        """Answers that are asked, are the model's as it is, and that nothing casts
        doubt on when heads look elsewhere (see `Doubts`).
        """
        told = self.program(self.sample.inputs, instead)
        occur = np.isin(told, self.own[self.sample.asked])
        sure = self.sample.asked & (self.told == self.own) & occur
        doubts = Doubts(
            self.scope, Scope(self.sample.inputs, self.program.how, instead)
        )
        unsure = [doubts.of(hop) for hop in self.program.hops.values()]
        return sure & ~np.stack(unsure, 2)

    def _is_read(self, select: Expression) -> bool:
        """True if keys of other heads depend on what a select brings."""
        others = [each for each in self.selects if each is not select]
        return any(select in _below(other) for other in others)

    def _elsewhere(
        self, select: Expression, turn: int, generator: np.random.Generator
    ) -> Moved:
        """The keys of a select in another place."""
        keys = self.scope.value(select)
        if self._is_read(select):
            return self._swapped(keys, turn, generator)
        asked = np.any(self.sample.asked, 2)
        are_several = asked.sum() > len(asked)
        rows = asked if are_several else self.sample.matters
        rows = rows & keys.any(2)
        at = np.arange(keys.shape[1])
        last = np.where(keys, at, 0).max(2)
        may_take = rows[:, None] & (at != at[:, None])
        if not self.program.how.ahead:
            may_take &= last[:, None] <= at[:, None]
        may_take &= self._roles[:, :, None] == self._roles[:, None]
        looks_at_itself = (keys & np.eye(len(at), dtype=bool)).any()
        if not looks_at_itself:  # then none is made to
            may_take &= last[:, None] != at[:, None]
        chances = generator.random(keys.shape) * may_take
        chosen = chances.argmax(2)
        moved = np.take_along_axis(keys, chosen[..., None], 1)
        return Moved(moved, asked & may_take.any(2))

    def _swapped(self, keys: Mask, turn: int, generator: np.random.Generator) -> Moved:
        """Two queries of every sequence swap their keys.

        If the first may not see the second's, it looks at itself, or at the key of
        another query.
        """
        rows = self.sample.matters & (keys.sum(2) == 1)
        moved = np.zeros_like(keys)
        where = np.zeros_like(rows)
        for at in range(len(keys)):
            pair = self._pair(at, rows[at], generator)
            if pair is None:
                continue
            first, second = pair
            places = keys[at].argmax(1)
            known = places[rows[at]]
            others = known[known <= first]
            other = generator.choice(others) if turn % 2 else first
            is_seen = self.scope.seen[at, first, places[second]]
            moved[at, first, places[second] if is_seen else other] = True
            moved[at, second, places[first]] = True
            where[at, [first, second]] = True
        return Moved(moved, where)

    def _pair(
        self, at: int, rows: Array, generator: np.random.Generator
    ) -> tuple[int, int] | None:
        """Two queries of a sequence that play one role, if it has any."""
        queries = np.nonzero(rows)[0]
        if len(queries) == 0:
            return None
        role = self._roles[at, generator.choice(queries)]
        alike = queries[self._roles[at, queries] == role]
        if len(alike) < 2:
            return None
        first, second = sorted(generator.choice(alike, 2, replace=False))
        return first, second


def _roles_of(sample: Sample) -> Array:
    """The role that every position plays; -1 if none."""
    roles = sample.bench.batch.roles.cpu().numpy()
    places = np.full(sample.tokens.shape, -1)
    for role in range(roles.shape[1]):
        np.put_along_axis(places, roles[:, role], role, 1)
    return places


def _below(expression: Expression) -> list[Expression]:
    """The expressions that one is made of."""
    below = list[Expression]()
    for part in expression.parts:
        below += [*_below(part), part]
    return below
