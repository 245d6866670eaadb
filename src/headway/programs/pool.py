"""The variables of a model, layer by layer: what positions know of others."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np

from headway.programs.expressions import (
    PLACE,
    TOKEN,
    Array,
    Expression,
    Kind,
    constant,
)

FREQUENT = 9
"""Values of a variable that keys are counted by."""

DEAREST = 12.0
"""Variables of a higher price are left out."""

MOST_COUNTED = 200
"""Conditions that keys are counted by."""

MOST_PAIRS = 12
"""Variables that are compared with one another."""


@dataclass(frozen=True)
class Variable:
    """An expression with its values.

    Attributes:
        expression: of every position.
        values: [sequence, position].
    """

    expression: Expression
    values: Array

    @property
    def kind(self) -> Kind:
        """Its type."""
        return self.expression.kind


class Valued(Protocol):
    """Sequences on which expressions have values: a `Scope`, or several."""

    tokens: Array

    def value(self, expression: Expression) -> Array:
        """A value for every position, or the keys of every query."""
        ...


class Pool:
    """All variables so far; of those that are the same where it matters the cheapest.

    Args:
        scope: of the sequences.
        matters: positions up to the last that is asked.
        ordered: whether tokens have an order.
        like: another pool of the same heads, whose expressions this one shares.
    """

    def __init__(
        self,
        scope: Valued,
        matters: Array,
        ordered: bool,
        like: "Pool | None" = None,
    ):
        self.scope, self.matters, self.ordered = scope, matters, ordered
        self.variables = list[Variable]()
        self._by_code: dict[str, Expression] = like._by_code if like else {}
        self._names: dict[Expression, str] = like._names if like else {}
        self._known = set[tuple[str, bytes]]()
        self.add([TOKEN, PLACE])

    def of_kind(self, *kinds: Kind) -> list[Variable]:
        """The variables of some types."""
        return [variable for variable in self.variables if variable.kind in kinds]

    def add(self, expressions: Iterable[Expression]) -> None:
        """Adds those that are not known and differ between positions."""
        for expression in sorted(expressions, key=lambda each: each.price):
            values = self.scope.value(expression)
            here = values[self.matters]
            key = (expression.kind, here.astype(np.int32).tobytes())
            is_one = (here == here[0]).all()
            if is_one or key in self._known or expression.price > DEAREST:
                continue
            self._known.add(key)
            code = expression.code(self._names)
            same = self._by_code.setdefault(code, expression)
            self.variables.append(Variable(same, values))

    def add_layer(self, selects: Iterable[Expression]) -> None:
        """Adds what the heads of a layer bring from below."""
        selects = list(selects)
        for select in selects:
            self._names.setdefault(select, f"select{len(self._names)}")
        below = list(self.variables)
        counted = list(self._conditions())
        counted.sort(key=lambda each: each.price)
        brought = list[Expression]()
        for select in selects:
            brought += self._brought(select, below, counted[:MOST_COUNTED])
        self.add(brought)

    def _brought(
        self, select: Expression, below: list[Variable], counted: list[Expression]
    ) -> Iterator[Expression]:
        """The values that one head brings."""
        keys = self.scope.value(select)[self.matters]
        if not keys.any(1).all():
            yield Expression("has({})", "bool", (select,))
        if keys.sum(1).max() <= 1:
            yield Expression("place({})", "place", (select,))
            for variable in below:
                parts = (select, variable.expression)
                form = "holds" if variable.kind == "bool" else "take"
                yield Expression(f"{form}({{}}, {{}})", variable.kind, parts)
            return
        yield Expression("size({})", "count", (select,))
        for variable in below:
            if variable.kind == "token":
                for name in self._summaries():
                    form = f"{name}({{}}, {{}})"
                    parts = (select, variable.expression)
                    yield Expression(form, "token", parts, 2.0)
        if self.ordered:
            yield Expression("total({}, {})", "count", (select, TOKEN), 2.0)
        for condition in counted:
            yield Expression("count({}, {})", "count", (select, condition))

    def _summaries(self) -> tuple[str, ...]:
        """The values that tokens of several keys may become."""
        return ("mode", "least", "most") if self.ordered else ("mode",)

    def _conditions(self) -> Iterator[Expression]:
        """Conditions on a position, for heads to count."""
        tokens = self.of_kind("token")
        for variable in self.of_kind("bool"):
            yield variable.expression
        for variable in tokens:
            values, times = np.unique(variable.values[self.matters], return_counts=True)
            for value in values[np.argsort(-times)][:FREQUENT]:
                yield is_value(variable, int(value))
        for first, second in combinations(tokens[:MOST_PAIRS], 2):
            yield compared("==", first, second)
            if self.ordered:
                yield compared("<", first, second)


def is_value(variable: Variable, value: int, price: float = 0.0) -> Expression:
    """The condition that a variable has a value."""
    parts = (variable.expression, constant(value))
    return Expression("({} == {})", "bool", parts, price)


def compared(sign: str, first: Variable, second: Variable) -> Expression:
    """The condition that two variables compare so."""
    parts = (first.expression, second.expression)
    return Expression(f"({{}} {sign} {{}})", "bool", parts, 0.0)
