"""The selects of heads: relations in words, or by what lower heads bring."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice, permutations

import numpy as np

from headway.programs.expressions import Array, Expression, Mask, Scope
from headway.programs.pool import FREQUENT, Pool, Variable, is_value
from headway.programs.sample import Sample
from headway.programs.selects import UnreadError, code_of
from headway.programs.swayed import Swayed
from headway.relations.expressions import ELSE
from headway.replace.circuit import Circuit
from headway.replace.heads import Head, head_of, name_of
from headway.replace.mechanism import Mean, Mechanism, Paths, Tabled, Uniform

PLACES = [
    *("previous token", "own position", "first position", "2 back", "3 back"),
    *(f"every {k} back" for k in (2, 3, 4)),
    *(f"position {k}" for k in range(1, 5)),
    "all so far",
]
"""Places that a head whose mean pattern suffices may look at."""

ALIKE = 0.7
"""The least share of its mean attention there."""

PLACES_FIRST = [
    *("previous token", "next token", "2 ahead", "3 ahead"),
    *(f"{k} back" for k in range(2, 9)),
]
"""Words for relations between roles of a task that a head may tell by itself."""

NEARBY = [
    *("same token", "latest same token", "earliest same token", "other token"),
    *("after latest same token", "after earliest same token", "after same token"),
    *("smaller token", "larger token", "all so far", "all before"),
]
"""Words for other relations between roles, where no lower head tells them."""

PICKS = (
    *("{}", "{} & (j != i)", "latest({})", "earliest({})"),
    *("{} & (j != 0)", "{} | (seen & (j == 0))"),
)
MOST_MATCHED = 40
"""Variables that keys are matched by, those of the lowest heads first."""

MOST_COUNTED = 12
"""Numbers that keys are matched by, those of the lowest heads first."""

MOST_PAIRS = 24
"""Pairs of values that keys are matched by, the first that serve."""

MOST_PLACES = 3
"""Places that one head looks at, each by itself."""

MOST_HELD = 8
"""Variables of lower heads that keys may be told by alone, without the query's."""

LOOKS_ABOUT = ("beside(", "has(", "once(")
"""Starts of conditions that only values from lower heads can tell."""


@dataclass(frozen=True)
class Target:
    """The keys of a head in its circuit.

    Attributes:
        name: of the head.
        keys: by mask.
        words: its relations.
    """

    name: str
    keys: Mask
    words: str

    @property
    def rows(self) -> Array:
        """The queries that have a key."""
        return np.any(self.keys, 2)


class Heads:
    """Reads the selects of a circuit's heads.

    Args:
        sample: sequences.
        circuit: a mechanism for every head.
        pool: of variables on the sequences, which grows layer by layer.
        are_numbers: whether tokens may be compared with places and counts.

    Attributes:
        scope: the values of selects.
        unread: heads that no expression stands for, and why.
    """

    def __init__(self, sample: Sample, circuit: Circuit, pool: Pool, are_numbers: bool):
        self.sample, self.circuit, self.pool = sample, circuit, pool
        self.numeric = (
            ("place", "count", "token") if are_numbers else ("place", "count")
        )
        self.scope = Scope(sample.inputs, sample.how)
        self.swayed = Swayed(sample)
        self.unread = dict[str, str]()

    def layer(self, layer: int) -> list[Expression]:
        """The selects of a layer; heads that look at the same keys share one."""
        expressions = list[Expression]()
        for head, mechanism in self.circuit.in_order:
            if head[0] == layer:
                for select in self._selects(head, mechanism):
                    self._share(select, expressions)
        if expressions and layer < max(self.circuit.mechanisms)[0]:
            self.swayed.add_layer(expressions)
        return expressions

    def _share(self, select: Expression, others: list[Expression]) -> None:
        """Adds a select to others, or its heads to one of the same keys."""
        matters = self.sample.matters
        keys = self.scope.value(select)[matters]
        for at, other in enumerate(others):
            if np.array_equal(self.scope.value(other)[matters], keys):
                heads = other.heads + select.heads
                others[at] = replace(other, heads=heads)
                return
        others.append(select)

    def _selects(self, head: Head, mechanism: Mechanism) -> Iterator[Expression]:
        """The selects of one head; none if it is idle."""
        name = name_of(head)
        match mechanism:
            case Paths() if mechanism.relations:
                words = tuple(sorted(mechanism.relations))
                yield from self._by_relations(head, words)
            case Uniform() | Tabled():
                yield _named("seen", name, str(mechanism))
            case Mean():
                yield from self._by_place(head)
            case _:
                return

    def _by_relations(self, head: Head, words: tuple[str, ...]) -> Iterator[Expression]:
        """The select of relations, all at once or one by one."""
        name = name_of(head)
        if "token" in self.numeric:
            several = self._several_places(self._target(name, *words))
            if several:
                yield from several
                return
        if len(words) > 1:
            every = self._of_role(self._target(name, *words))
            if every is not None:
                yield every
                return
        selects = [self._relation(name, word) for word in words]
        read = tuple(select for select in selects if select is not None)
        if len(read) < len(selects):
            self.unread[name] = "  ".join(words)
        elif len(read) == 1:
            yield read[0]
        else:
            form = " | ".join(["{}"] * len(read))
            inner = tuple(replace(select, heads=()) for select in read)
            yield _named(f"({form})", name, "  ".join(words), inner)

    def _several_places(self, target: Target) -> list[Expression]:
        """The selects of a few places, where all that are asked look at the same ones:
        numbers there may be added.
        """
        asked = target.keys[np.any(self.sample.asked, 2)]
        is_one = len(asked) > 0 and (asked == asked[0]).all()
        places = np.nonzero(asked[0])[0] if is_one else np.array([], int)
        if not 2 <= len(places) <= MOST_PLACES:
            return []
        forms = [f"(seen & (j == {place}))" for place in places]
        return [_named(form, target.name, target.words) for form in forms]

    def _target(self, name: str, *words: str) -> Target:
        """The keys of some relations of a head."""
        patterns = self.sample.bench.patterns
        length = self.sample.tokens.shape[1]
        shares = patterns.one_hot(frozenset(words))[..., :length]
        return Target(name, shares.cpu().numpy() > 0, "  ".join(words))

    def _relation(self, name: str, word: str) -> Expression | None:
        """The select of one relation, part by part."""
        *firsts, last = [self._part(name, part) for part in word.split(ELSE)]
        for first in reversed(firsts):
            if first is None or last is None:
                return None
            parts = (replace(first, heads=()), replace(last, heads=()))
            last = _named("otherwise({}, {})", name, word, parts)
        return last

    def _part(self, name: str, word: str) -> Expression | None:
        """The select of a relation without an `else`: as lower heads tell it, or in
        words.
        """
        try:
            written = _named(code_of(word), name, word)
        except UnreadError:
            return self._of_role(self._target(name, word))
        if not any(looks in written.form for looks in LOOKS_ABOUT):
            return written
        target = Target(name, self.scope.value(written), word)
        return self._best([*self._serving(target), written], target)

    def _of_role(self, target: Target) -> Expression | None:
        """A relation between roles, by what lower heads tell, or by place and
        symbol.
        """
        return (
            self._in_words(PLACES_FIRST, target)
            or self._best(self._serving(target), target)
            or self._in_words(NEARBY, target)
        )

    def _in_words(self, words: Sequence[str], target: Target) -> Expression | None:
        """The keys of a head by the first words that tell them."""
        told = [Expression(code_of(word), "select") for word in words]
        return next(self._picked(told, target), None)

    def _best(self, serving: Sequence[Expression], target: Target) -> Expression | None:
        """Of selects with the keys of a head the one that holds when lower heads look
        elsewhere.
        """
        rows = target.rows & self.sample.matters
        head = head_of(target.name)
        return self.swayed.best(serving, head, rows) if serving else None

    def _serving(self, target: Target) -> list[Expression]:
        """The selects with the keys of a head, by values that lower heads have brought
        to them or to the query.
        """
        reaching = list(self._reaching(target))
        return (
            list(self._picked(reaching, target))
            or list(self._picked(self._counted(target), target))
            or list(islice(self._both(reaching, target), MOST_PAIRS))
            or list(self._picked(self._held(), target))
        )

    def _reaching(self, target: Target) -> Iterator[Expression]:
        """The matches of two values that have all keys of a head among theirs."""
        tokens = self.pool.of_kind("token")[:MOST_MATCHED]
        of_keys, of_queries = self._at(target, tokens)
        for first, of_key in enumerate(of_keys):
            alike = (of_key == of_queries).all(1)
            for second in np.nonzero(alike)[0]:
                if first or second:  # not the token of both
                    parts = tokens[first].expression, tokens[second].expression
                    yield Expression("match(seen, {}, {})", "select", parts)

    def _counted(self, target: Target) -> Iterator[Expression]:
        """The matches of a number with another, or a sum of two, but for a constant."""
        numbers = self.pool.of_kind(*self.numeric)[:MOST_COUNTED]
        of_keys, of_queries = self._at(target, numbers)
        sums = [
            (number.expression, values)
            for number, values in zip(numbers, of_queries, strict=True)
        ]
        for (first, of_first), (second, of_second) in permutations(sums[:], 2):
            parts = first, second
            sums.append((Expression("({} - {})", "count", parts), of_first - of_second))
            sums.append((Expression("({} + {})", "count", parts), of_first + of_second))
        for number, of_key in zip(numbers, of_keys, strict=True):
            for query, of_query in sums:
                apart = np.unique(of_key - of_query)
                if len(apart) == 1 and query is not number.expression:
                    yield _shifted(number.expression, query, int(apart[0]))

    def _at(self, target: Target, variables: Sequence[Variable]) -> tuple[Array, Array]:
        """Values at the keys of a head and at its queries, [variable, cell]."""
        matters = target.keys & self.sample.matters[..., None]
        sequences, queries, keys = np.nonzero(matters)
        values = np.stack([variable.values for variable in variables])
        return values[:, sequences, keys], values[:, sequences, queries]

    def _picked(
        self, matches: Iterable[Expression], target: Target
    ) -> Iterator[Expression]:
        """The selects that pick the keys of a head from those of others."""
        forms = [*PICKS, *self._by_places_of_keys(target)]
        for matched in matches:
            with self.scope.trying():
                picks = [
                    _named(form, target.name, target.words, (matched,))
                    for form in forms
                ]
                serving = [pick for pick in picks if self._serves(pick, target)]
            for select in serving:
                yield self._narrowed(select, target)

    def _by_places_of_keys(self, target: Target) -> Iterator[str]:
        """The pick of the places that keys stand at, where these are not all."""
        rows = target.keys & self.sample.matters[..., None]
        words = _places_in_words("j", np.nonzero(rows.any((0, 1)))[0])
        if words is not None:
            yield f"({{}} & {words})"

    def _held(self) -> Iterator[Expression]:
        """The keys at which something holds that lower heads tell."""
        told = [variable.expression for variable in self.pool.of_kind("bool")]
        for variable in self.pool.of_kind("place"):
            if variable.expression.parts:
                told += [_than(sign, variable, "j") for sign in ("==", "!=")]
        for variable in self.pool.of_kind("token")[1:MOST_HELD]:
            told += [_than(sign, variable, "t") for sign in ("==", "!=")]
            values, times = np.unique(variable.values, return_counts=True)
            frequent = values[np.argsort(-times)][:FREQUENT]
            told += [is_value(variable, int(value)) for value in frequent]
        for condition in told:
            yield Expression("(seen & at_keys({}, seen))", "select", (condition,))

    def _both(
        self, nearly: Sequence[Expression], target: Target
    ) -> Iterator[Expression]:
        """The selects of keys that two values match."""
        for first, second in combinations(nearly, 2):
            both = _named("({} & {})", target.name, target.words, (first, second))
            with self.scope.trying():
                serves = self._serves(both, target)
            if serves:
                yield self._narrowed(both, target)

    def _serves(self, select: Expression, target: Target) -> bool:
        """True if a select has the keys of a head at all its rows."""
        rows = target.rows & self.sample.matters
        keys = self.scope.value(select)
        return bool((keys[rows] == target.keys[rows]).all())

    def _narrowed(self, select: Expression, target: Target) -> Expression:
        """A select for the rows of a head alone, if these are places."""
        others = ~target.rows & self.sample.matters
        if not self.scope.value(select)[others].any():
            return select
        rows = _rows_in_words(target.rows)
        if rows is None:
            return select
        inner = replace(select, heads=())
        return _named(f"({{}} & {rows})", target.name, select.says, (inner,))

    def _by_place(self, head: Head) -> Iterator[Expression]:
        """The select of a head that attends by place: one, or one for every place."""
        name = name_of(head)
        length = self.sample.tokens.shape[1]
        mean = self.sample.bench.patterns.means[head][:, :length].cpu().numpy()
        rows = self.sample.asked.any(2)
        for place in PLACES:
            select = _named(code_of(place), name, f"{place} (by place)")
            keys = self.scope.value(select)
            shares = keys / np.maximum(keys.sum(2, keepdims=True), 1)
            alike = np.minimum(shares, mean).sum(2)[rows & keys.any(2)]
            if len(alike) and alike.mean() >= ALIKE:
                yield select
                return
        seen = mean[rows.any(0)].mean(0)
        for place in np.nonzero(seen >= 0.1)[0]:
            yield _named(f"(seen & (j == {place}))", name, f"position {place}")


def _named(
    form: str, head: str, says: str, parts: tuple[Expression, ...] = ()
) -> Expression:
    """The select of a head."""
    return Expression(form, "select", parts, 1.0, (head,), says)


def _shifted(key: Expression, query: Expression, by: int) -> Expression:
    """The match of a number with another that is so much smaller."""
    sign = "-" if by < 0 else "+"
    form = f"match(seen, {{}}, {{}} {sign} {abs(by)})" if by else "match(seen, {}, {})"
    return Expression(form, "select", (key, query))


def _than(sign: str, variable: Variable, own: str) -> Expression:
    """The condition that a value compares so with the own token or place."""
    form = f"({{}} {sign} {own})"
    return Expression(form, "bool", (variable.expression,), 0.0)


def _rows_in_words(rows: Array) -> str | None:
    """The places of queries as code, if they are the same in all sequences."""
    if not (rows == rows[0]).all():
        return None
    return _places_in_words("i", np.nonzero(rows[0])[0])


def _places_in_words(name: str, places: Array) -> str | None:
    """Evenly spaced places as code; None if they are not."""
    steps = np.unique(np.diff(places))
    if len(places) == 0 or len(steps) > 1:
        return None
    first, last = int(places[0]), int(places[-1])
    step = int(steps[0]) if len(steps) else 1
    within = f"({first} <= {name}) & ({name} <= {last})"
    return within if step == 1 else f"{within} & (({name} - {first}) % {step} == 0)"
