"""Heads that are made to look elsewhere.

A query takes the attention of another query of its sequence that plays the same role.
Of heads that others read, two queries swap theirs, one pair in a sequence, so that what
is brought is still brought once, even where no query may see it. So the model sees rows
of attention that it has, in the wrong place.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations

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

DECIDES = 0.5
"""A head that changes a smaller share of the answers that it and another change
together does not decide them alone."""

MOSTLY = 0.5
"""The least share of queries that must have another one to take attention from."""

TRIES = 4
"""Sequences that a query looks for other keys in."""

LEAST = 20
"""Answers that two heads change together, so that a share of them says something."""


@dataclass(frozen=True, eq=False)
class Forced(Mechanism):
    """A head that attends in given rows as it is told, and in others as it does.

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
    """Selects that look elsewhere together.

    Attributes:
        keys: of every query, by select.
        where: the queries that look elsewhere.
        rows: the attention of their heads then.
    """

    keys: dict[Expression, Mask]
    where: Array
    rows: dict[Head, Tensor]

    @property
    def heads(self) -> tuple[str, ...]:
        """The heads that look elsewhere."""
        return heads_of(self.keys)

    def instead(self, scope: Scope) -> dict[Expression, Mask]:
        """The keys of the selects, with those of queries that look elsewhere."""
        forced = self.where[..., None]
        return {
            select: np.where(forced, keys, scope.value(select))
            for select, keys in self.keys.items()
        }

    def only(self, selects: Sequence[Expression]) -> "Moved":
        """Some of the selects, with the others as they are."""
        keys = {select: self.keys[select] for select in selects}
        heads = map(head_of, heads_of(selects))
        return Moved(keys, self.where, {head: self.rows[head] for head in heads})

    @property
    def mechanisms(self) -> dict[Head, Mechanism]:
        """The heads as they then attend."""
        where = torch.from_numpy(self.where)
        return {head: Forced(rows, where) for head, rows in self.rows.items()}


class Elsewhere:
    """The keys that heads are made to look at.

    Args:
        selects: of all heads that are read.
        sample: the sequences.
        seed: of where they look.

    Attributes:
        scope: the values of expressions, with all heads as they are.
        own: the model's answers.
    """

    def __init__(self, selects: Sequence[Expression], sample: Sample, seed: int):
        self.selects, self.sample = selects, sample
        self.scope = Scope(sample.inputs, sample.how)
        self.own = sample.answers()
        self._seed = seed
        self._roles = _roles_of(sample)

    @cached_property
    def groups(self) -> list[list[Expression]]:
        """The selects, those together that look at the same keys or are redundant."""
        left = list(self.selects)
        groups = list[list[Expression]]()
        while left:
            select = left.pop(0)
            alike = [another for another in left if self._are_alike(select, another)]
            left = [another for another in left if another not in alike]
            groups.append([select, *alike])
        while merged := self._redundant(groups):
            first, second = merged
            groups.remove(second)
            groups[groups.index(first)] = [*first, *second]
        return groups

    def _redundant(
        self, groups: Sequence[list[Expression]]
    ) -> tuple[list[Expression], list[Expression]] | None:
        """Two groups of a layer of which each alone decides few of the answers that
        both together do; None if there are no such two.
        """
        for first, second in combinations(groups, 2):
            layers = {layer for layer, _ in map(head_of, heads_of([*first, *second]))}
            if len(layers) > 1 or set(heads_of(first)) & set(heads_of(second)):
                continue
            (moved,) = self.moved([*first, *second], 1)
            together = self._changed(moved)
            alone = [self._changed(moved.only(group)) for group in (first, second)]
            if together.sum() >= LEAST and all(
                each[together].mean() < DECIDES for each in alone
            ):
                return first, second
        return None

    def _changed(self, moved: Moved) -> Array:
        """Answers of the model that change."""
        answers = self.sample.answers(moved.mechanisms)
        return (answers != self.own) & self.sample.asked

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
        others = self._other_places(group[0])
        asked = np.any(self.sample.asked, 2)
        is_read = any(map(self._is_read, group))
        for _ in range(rounds):
            if others:
                another_place: Mask = generator.choice(others)
                yield self._evenly(dict.fromkeys(group, another_place), asked)
            else:
                choose = self._swapped if is_read else self._taken
                yield self._from(group, choose(group, generator))

    def in_both_ways(self, group: Sequence[Expression]) -> Iterable[Moved]:
        """The selects of a group in other places, as if they were read above, and as if
        answers alone came from them.
        """
        generator = np.random.default_rng(self._seed)
        for choose in (self._swapped, self._taken):
            yield self._from(group, choose(group, generator))

    def hard(self, group: Sequence[Expression]) -> Moved:
        """The heads of a group made to attend evenly to what their selects say."""
        keys = {select: self.scope.value(select) for select in group}
        where = np.all([each.any(2) for each in keys.values()], axis=0)
        return self._evenly(keys, where)

    def _evenly(self, keys: dict[Expression, Mask], where: Array) -> Moved:
        """Heads that attend evenly to given keys, and to what their other selects look
        at.

        Args:
            keys: by select.
            where: the queries that do.
        """
        rows = dict[Head, Tensor]()
        for name in heads_of(keys):
            of_head = [select for select in self.selects if name in select.heads]
            masks = [keys.get(each, self.scope.value(each)) for each in of_head]
            times = np.sum(masks, axis=0)
            shares = times / np.maximum(times.sum(2, keepdims=True), 1)
            rows[head_of(name)] = torch.from_numpy(shares)
        return Moved(keys, where, rows)

    def _from(self, group: Sequence[Expression], sources: Array) -> Moved:
        """Heads that attend at some queries as they do at others; to a single key
        where their select has one there.

        Args:
            group: of selects.
            sources: the other query of every query, [sequence, query], numbered through
                all sequences; -1 if none.
        """
        length = self.sample.tokens.shape[1]
        of_rows = np.maximum(sources, 0)
        keys = {
            select: self.scope.value(select).reshape(-1, length)[of_rows]
            for select in group
        }
        own = self.sample.bench.patterns.own[..., :length, :length].cpu()
        rows = dict[Head, Tensor]()
        for select in group:
            to_keys = torch.from_numpy(keys[select])
            points = to_keys.sum(2, keepdim=True) == 1
            for layer, head in map(head_of, select.heads):
                of_all = own[:, layer, head].flatten(0, 1)
                attention = of_all[torch.from_numpy(of_rows)]
                rows[layer, head] = torch.where(points, to_keys.float(), attention)
        return Moved(keys, sources >= 0, rows)

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
        return any(select in other.below for other in others)

    def _keys_of(self, group: Sequence[Expression]) -> Mask:
        """The keys that some select of a group looks at."""
        keys = [self.scope.value(select) for select in group]
        return reduce(np.logical_or, keys)

    def _taken(
        self, group: Sequence[Expression], generator: np.random.Generator
    ) -> Array:
        """The query whose attention every query that is asked takes: another one that
        is asked in its sequence, else the same one of another sequence, else any other.
        """
        keys = self._keys_of(group)
        asked = np.any(self.sample.asked, 2) & keys.any(2)
        sources = self._of_other_queries(keys, asked, generator)
        enough = MOSTLY * asked.sum()
        if (sources >= 0).sum() < enough:
            sources = self._of_other_sequences(keys, asked, generator)
        if (sources >= 0).sum() < enough:
            rows = self.sample.matters & keys.any(2)
            sources = self._of_other_queries(keys, rows, generator)
        return sources

    def _of_other_sequences(
        self, keys: Mask, asked: Array, generator: np.random.Generator
    ) -> Array:
        """Queries of other sequences, at the same position and with other keys."""
        count, length = asked.shape
        at = np.arange(length)
        sources = np.full(asked.shape, -1)
        for _ in range(TRIES):
            other = generator.integers(count, size=asked.shape)
            of_other = keys[other, at]
            is_unseen = (of_other & ~self.scope.seen).any(2)
            may = asked & of_other.any(2) & ~is_unseen
            may &= (of_other != keys).any(2)
            may &= self._roles[other, at] == self._roles
            sources = np.where(may & (sources < 0), other * length + at, sources)
        return sources

    def _of_other_queries(
        self, keys: Mask, rows: Array, generator: np.random.Generator
    ) -> Array:
        """Another query of the same sequence, one of some rows."""
        asked = np.any(self.sample.asked, 2)
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
        may = asked & may_take.any(2)
        return np.where(may, self._numbered(chances.argmax(2)), -1)

    def _numbered(self, queries: Array) -> Array:
        """Queries of every sequence, numbered through all sequences."""
        count, length = self.sample.tokens.shape
        starts = np.arange(count) * length
        return starts[:, None] + queries

    def _swapped(
        self, group: Sequence[Expression], generator: np.random.Generator
    ) -> Array:
        """Two queries of every sequence with one another's attention, seen or not."""
        counts = np.stack([self.scope.value(select).sum(2) for select in group])
        rows = self.sample.matters & (counts == 1).all(0)
        length = rows.shape[1]
        looks_at_itself = np.diagonal(self._keys_of(group), axis1=1, axis2=2)
        rows &= ~looks_at_itself  # these bring nothing from elsewhere
        sources = np.full(rows.shape, -1)
        for at in range(len(rows)):
            pair = self._pair(at, rows[at], generator)
            if pair is not None:
                sources[at, pair] = at * length + pair[::-1]
        return sources

    def _pair(
        self, at: int, rows: Array, generator: np.random.Generator
    ) -> Array | None:
        """Two queries of a sequence that play one role, if it has any: next to one
        another, as what a head brings may tell the place that it is from.
        """
        queries = np.nonzero(rows)[0]
        if len(queries) == 0:
            return None
        role = self._roles[at, generator.choice(queries)]
        alike = queries[self._roles[at, queries] == role]
        if len(alike) < 2:
            return None
        first = generator.integers(len(alike) - 1)
        return alike[first : first + 2]


def heads_of(selects: Iterable[Expression]) -> tuple[str, ...]:
    """The heads of some selects, by name."""
    return tuple(dict.fromkeys(name for select in selects for name in select.heads))


def _roles_of(sample: Sample) -> Array:
    """The role that every position plays; -1 if none."""
    roles = sample.bench.batch.roles.cpu().numpy()
    places = np.full(sample.tokens.shape, -1)
    for role in range(roles.shape[1]):
        np.put_along_axis(places, roles[:, role], role, 1)
    return places
