"""Keys of heads that are made to look elsewhere.

A query takes the keys of another query of its sequence that plays the same role. Of
heads that others read, two queries swap theirs, one pair in a sequence, so that what is
brought is still brought once, even where no query may see it. So the model sees rows of
attention that it might have, in the wrong place.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from headway.programs.expressions import Array, Expression, Mask, Scope
from headway.programs.sample import Sample
from headway.replace.heads import Head, head_of
from headway.replace.mechanism import Mechanism, Rows
from headway.replace.patterns import Patterns

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
    """Selects of the same keys that look elsewhere.

    Attributes:
        selects: that do.
        keys: of every query.
        where: the queries that look elsewhere.
    """

    selects: Sequence[Expression]
    keys: Mask
    where: Array

    @property
    def heads(self) -> tuple[str, ...]:
        """The heads that look elsewhere."""
        return tuple(name for select in self.selects for name in select.heads)

    def instead(self, scope: Scope) -> dict[Expression, Mask]:
        """The keys of the selects, with those of queries that look elsewhere."""
        forced = self.where[..., None]
        return {
            select: np.where(forced, self.keys, scope.value(select))
            for select in self.selects
        }

    def mechanisms(
        self, selects: Sequence[Expression], scope: Scope
    ) -> dict[Head, Mechanism]:
        """The heads as they then attend, evenly to what all their selects look at.

        Args:
            selects: of all heads.
            scope: their keys.
        """
        mechanisms = dict[Head, Mechanism]()
        for name in self.heads:
            times = self.keys.astype(int)
            for other in selects:
                if name in other.heads and other not in self.selects:
                    times += scope.value(other)
            rows = times / np.maximum(times.sum(2, keepdims=True), 1)
            forced = Forced(torch.from_numpy(rows), torch.from_numpy(self.where))
            mechanisms[head_of(name)] = forced
        return mechanisms


class Elsewhere:
    """The keys that heads are made to look at.

    Args:
        selects: of all heads that are read.
        sample: the sequences.
        seed: of where they look.

    Attributes:
        scope: the values of expressions, with all heads as they are.
    """

    def __init__(self, selects: Sequence[Expression], sample: Sample, seed: int):
        self.selects, self.sample = selects, sample
        self.scope = Scope(sample.inputs, sample.how)
        self._seed = seed
        self._roles = _roles_of(sample)

    def groups(self) -> list[list[Expression]]:
        """The selects, those together that look at the same keys."""
        left = list(self.selects)
        groups = list[list[Expression]]()
        while left:
            select = left.pop(0)
            alike = [another for another in left if self._are_alike(select, another)]
            left = [another for another in left if another not in alike]
            groups.append([select, *alike])
        return groups

    def _are_alike(self, first: Expression, second: Expression) -> bool:
        """True if heads of a layer look at the same keys nearly everywhere."""
        layers = {head_of(name)[0] for name in (*first.heads, *second.heads)}
        keys = self.scope.value(first), self.scope.value(second)
        rows = self.sample.matters & keys[0].any(2) & keys[1].any(2)
        same = (keys[0][rows] == keys[1][rows]).all(1)
        return len(layers) == 1 and len(same) > 0 and same.mean() >= ALIKE

    def moved(self, group: Sequence[Expression], rounds: int) -> Iterable[Moved]:
        """The selects of a group in other places, differently in every round."""
        generator = np.random.default_rng(self._seed)
        keys = self.scope.value(group[0])
        is_read = self._is_read(group[0])
        for _ in range(rounds):
            others = self._other_places(group[0])
            if others:
                moved, where = generator.choice(others), np.any(self.sample.asked, 2)
            elif is_read:
                moved, where = self._swapped(keys, generator)
            else:
                moved, where = self._taken(keys, generator)
            yield Moved(group, moved, where)

    def _other_places(self, select: Expression) -> list[Mask]:
        """The keys of the same head's other selects, where it has several."""
        return [
            self.scope.value(other)
            for other in self.selects
            if other is not select and set(other.heads) & set(select.heads)
        ]

    def _is_read(self, select: Expression) -> bool:
        """True if keys of other heads depend on what a select brings."""
        others = [each for each in self.selects if each is not select]
        return any(select in _below(other) for other in others)

    def _taken(self, keys: Mask, generator: np.random.Generator) -> tuple[Mask, Array]:
        """Queries that are asked take the keys of others; and which queries do."""
        asked = np.any(self.sample.asked, 2)
        are_several = asked.sum() > len(asked)
        rows = asked if are_several else self.sample.matters
        rows = rows & keys.any(2)
        at = np.arange(keys.shape[1])
        last = np.where(keys, at, 0).max(2)
        may_take = rows[:, None] & (at != at[:, None])
        if not self.sample.how.ahead:
            may_take &= last[:, None] <= at[:, None]
        may_take &= self._roles[:, :, None] == self._roles[:, None]
        looks_at_itself = (keys & np.eye(len(at), dtype=bool)).any()
        if not looks_at_itself:  # then none is made to
            may_take &= last[:, None] != at[:, None]
        chances = generator.random(keys.shape) * may_take
        chosen = chances.argmax(2)
        moved = np.take_along_axis(keys, chosen[..., None], 1)
        return moved, asked & may_take.any(2)

    def _swapped(
        self, keys: Mask, generator: np.random.Generator
    ) -> tuple[Mask, Array]:
        """Two queries of every sequence swap their keys, seen or not; and which queries
        do.
        """
        rows = self.sample.matters & (keys.sum(2) == 1)
        moved = np.zeros_like(keys)
        where = np.zeros_like(rows)
        for at in range(len(keys)):
            pair = self._pair(at, rows[at], generator)
            if pair is not None:
                moved[at, pair] = keys[at, pair[::-1]]
                where[at, pair] = True
        return moved, where

    def _pair(
        self, at: int, rows: Array, generator: np.random.Generator
    ) -> Array | None:
        """Two queries of a sequence that play one role, if it has any."""
        queries = np.nonzero(rows)[0]
        if len(queries) == 0:
            return None
        role = self._roles[at, generator.choice(queries)]
        alike = queries[self._roles[at, queries] == role]
        if len(alike) < 2:
            return None
        return generator.choice(alike, 2, replace=False)


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
