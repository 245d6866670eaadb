"""Conditions and expressions for an answer, at the rows that are asked."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Literal

import numpy as np
from jaxtyping import Float

from headway.programs.expressions import Array, Expression, constant
from headway.programs.pool import Pool, Variable, compared, is_value

FREQUENT = 12
"""Values that a variable is compared with: so many frequent ones, and the largest."""

LARGEST = 4
THRESHOLDS = 12
"""Numbers that a count is compared with, from its least up."""

DEAR = 1.0
"""The extra price of a place by its number: it may fit by accident."""

MOST_COUNTS = 60
MOST_TOKENS = 40
MOST_CONDITIONS = 2_500
RARELY = 0.002
"""Expressions that are right in fewer rows are no answers."""

Columns = Float[np.ndarray, "expression row"]


@dataclass(frozen=True)
class Rows:
    """The rows at which a hop is asked.

    Attributes:
        at: sequence and position of each.
        answers: of the model.
        weights: of each.
        tokens_are: symbols, ordered, or numbers.
        answers_are: tokens, as the sequence has them; classes, which are none; or
            symbols, of which none is known by itself.
    """

    at: tuple[Array, Array]
    answers: Array
    weights: Array
    tokens_are: str
    answers_are: Literal["tokens", "classes", "symbols"]

    def __len__(self):
        return len(self.answers)

    def of(self, values: Array) -> Array:
        """Values of positions at these rows."""
        return values[self.at]


@dataclass(frozen=True)
class Candidates:
    """Expressions with where they hold, or are right.

    Attributes:
        expressions: the cheapest first.
        columns: 1 where each holds.
        prices: of each.
    """

    expressions: list[Expression]
    columns: Columns
    prices: Array

    @classmethod
    def of(
        cls, possible: Iterable[tuple[Expression, Array]], rows: int
    ) -> "Candidates":
        """The expressions that differ from all cheaper ones; conditions differ from
        the negations of cheaper ones, too.
        """
        known = set[bytes]()
        kept = list[tuple[Expression, Array]]()
        for expression, holds in sorted(possible, key=lambda pair: pair[0].price):
            key = holds.tobytes()
            if holds.any() and key not in known:
                known.add(key)
                if expression.kind == "bool":
                    known.add((~holds).tobytes())
                kept.append((expression, holds))
        kept = kept[:MOST_CONDITIONS]
        columns = np.zeros((len(kept), rows), np.float32)
        for at, (_, holds) in enumerate(kept):
            columns[at] = holds
        prices = np.array([expression.price for expression, _ in kept])
        return cls([expression for expression, _ in kept], columns, prices)


def conditions(
    pool: Pool, rows: Rows, more: Iterable[tuple[Expression, Array]]
) -> Candidates:
    """Conditions on a row: those of the pool's variables, and some more."""
    known = list(more)
    for expression in _conditions(pool, rows):
        holds = rows.of(pool.scope.value(expression))
        if not holds.all():
            known.append((expression, holds))
    return Candidates.of(known, len(rows))


def _conditions(pool: Pool, rows: Rows) -> Iterator[Expression]:
    tokens = pool.of_kind("token")
    places = pool.of_kind("place")
    for variable in pool.of_kind("bool"):
        yield variable.expression
    for variable in tokens:
        values, times = np.unique(rows.of(variable.values), return_counts=True)
        frequent = values[np.argsort(-times)][:FREQUENT]
        for value in {*frequent.tolist(), *values[-LARGEST:].tolist()}:
            yield is_value(variable, value)
    for first, second in combinations(tokens[:MOST_TOKENS], 2):
        yield compared("==", first, second)
    if pool.ordered:
        for first, second in permutations(tokens[:FREQUENT], 2):
            yield compared("<", first, second)
    for variable in places:
        for value in np.unique(rows.of(variable.values))[:LARGEST]:
            yield is_value(variable, int(value), DEAR)
    for first, second in combinations(places, 2):
        yield compared("==", first, second)
    yield from _of_counts(pool, rows)


def _of_counts(pool: Pool, rows: Rows) -> Iterator[Expression]:
    counts = sorted(pool.of_kind("count"), key=lambda counted: counted.expression.price)
    counts = counts[:MOST_COUNTS]
    for counted in counts:
        values = rows.of(counted.values)
        low, high = int(values.min()), int(values.max())
        for least in range(low + 1, min(high, low + THRESHOLDS) + 1):
            yield at_least(counted.expression, least)
    for first, second in permutations(counts[:FREQUENT], 2):
        yield compared(">", first, second)
        yield compared(">=", first, second)
        yield _twice(first, second)


def at_least(expression: Expression, least: int) -> Expression:
    """The condition that a count is at least so large."""
    parts = (expression, constant(least))
    return Expression("({} >= {})", "bool", parts, 0.0)


def _twice(first: Variable, second: Variable) -> Expression:
    """The condition that a count is more than half of another."""
    parts = (first.expression, second.expression)
    return Expression("(2 * {} > {})", "bool", parts)


def leaves(pool: Pool, rows: Rows) -> Candidates:
    """Expressions that the answer may be."""
    possible = list[tuple[Expression, Array]]()
    if rows.answers_are != "symbols":
        for value in np.unique(rows.answers):
            right = rows.answers == value
            possible.append((constant(int(value)), right))
    brought = () if rows.answers_are == "classes" else _leaves(pool, rows)
    for expression in brought:
        right = rows.of(pool.scope.value(expression)) == rows.answers
        if right.mean() > RARELY:
            possible.append((expression, right))
    if not possible:  # nothing that is known here is ever the answer
        possible.append((constant(-1), np.ones(len(rows), bool)))
    return Candidates.of(possible, len(rows))


def _leaves(pool: Pool, rows: Rows) -> Iterator[Expression]:
    tokens = [variable.expression for variable in pool.of_kind("token")]
    yield from tokens
    if rows.tokens_are == "symbols":
        return
    for token in tokens:
        yield Expression("({} + 1)", "token", (token,))
        yield Expression("({} - 1)", "token", (token,))
    if rows.tokens_are == "numbers":
        modulo = int(rows.answers.max()) + 1
        for variable in pool.of_kind("count"):
            if variable.expression.form.startswith("total("):
                yield Expression(f"({{}} % {modulo})", "token", (variable.expression,))
        for first, second in combinations(tokens, 2):
            both = (first, second)
            yield Expression("({} + {})", "token", both)
            yield Expression("({} - {})", "token", both)
            yield Expression(f"(({{}} + {{}}) % {modulo})", "token", both)
            yield Expression(f"(({{}} - {{}}) % {modulo})", "token", both)
            yield Expression(f"(({{}} - {{}}) % {modulo})", "token", both[::-1])
