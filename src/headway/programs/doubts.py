"""Rows at which a program's values say little of a model's, once heads are forced.

Where a query matches more keys than it did, or fewer, a model attends to no one place;
of two values that are the most frequent it may choose either.
"""

import numpy as np

from headway.programs.expressions import Array, Expression, Mask, Scope
from headway.programs.prelude import count, take


class Doubts:
    """The positions at which little is known of expressions.

    Args:
        before: values with all heads as they are.
        after: values with heads that look elsewhere.
    """

    def __init__(self, before: Scope, after: Scope):
        self.before, self.after = before, after
        self._known = dict[Expression, Array]()

    def of(self, expression: Expression) -> Array:
        """The positions, or queries, of which little is known, [sequence,
        position].
        """
        if expression not in self._known:
            self._known[expression] = self._of(expression)
        return self._known[expression]

    def _of(self, expression: Expression) -> Array:
        unsure = np.zeros(self.before.tokens.shape, bool)
        if expression in self.after.instead:
            return unsure
        form = expression.form
        if form.startswith("match("):
            was = self.before.value(expression).sum(2)
            now = self.after.value(expression).sum(2)
            _, query = expression.parts
            return self.of(query) | (was != now)
        if form.startswith(("take(", "holds(")):
            select, value = expression.parts
            taken = take(self.after.value(select), self.of(value))
            return self.of(select) | (taken == 1)
        if form.startswith("mode("):
            select, value = map(self.after.value, expression.parts)
            unsure = _are_tied(select, value)
        for part in expression.parts:
            unsure = unsure | self.of(part)
        return unsure


def _are_tied(select: Mask, values: Array) -> Array:
    """Queries at which two values are the most frequent."""
    known = np.unique(values)
    times = np.stack([count(select, values == value) for value in known])
    are_most = times == times.max(0)
    return are_most.sum(0) > 1
