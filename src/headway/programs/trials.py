"""Sequences with a model as it is, and with heads that look elsewhere.

Of programs that give a model's answers as it is, some differ once a head looks
elsewhere. Rows of both tell them apart.
"""

import numpy as np

from headway.programs.expressions import Array, Expression, Scope
from headway.programs.forced import Forcing

SEQUENCES = 200
"""Sequences at most in which heads are as they are, and in which they look elsewhere,
all heads together."""

WEIGHT = 0.25
"""The weight of an answer when a head looks elsewhere, beside one when none does."""


class Trials:
    """A model's answers in several trials of sequences, one trial after the other.

    Args:
        forcing: of heads, on these sequences.

    Attributes:
        answers: of the model, [sequence, position, hop].
        weights: of answers; 0 where none is asked, or little follows from it.
        matters: positions up to the last that is asked.
        tokens: by number.
    """

    def __init__(self, forcing: Forcing):
        sample, elsewhere = forcing.sample, forcing.elsewhere
        self._scopes = [Scope(sample.inputs[:SEQUENCES], sample.how)]
        answers = [forcing.own[:SEQUENCES]]
        weights = [sample.asked[:SEQUENCES].astype(float)]
        groups = elsewhere.groups
        count = min(len(sample.inputs), SEQUENCES // max(1, len(groups)))
        for group in groups:
            (moved,) = elsewhere.moved(group, 1)
            keys = moved.instead(elsewhere.scope)
            instead = {select: keys[select][:count] for select in group}
            self._scopes.append(Scope(sample.inputs[:count], sample.how, instead))
            answers.append(sample.answers(moved.mechanisms)[:count])
            weights.append(WEIGHT * forcing.is_sure(keys)[:count])
        self.answers = np.concatenate(answers)
        self.weights = np.concatenate(weights)
        some = [sample.matters[:count]] * len(groups)
        self.matters = np.concatenate([sample.matters[:SEQUENCES], *some])
        self.tokens = np.concatenate([scope.tokens for scope in self._scopes])

    def value(self, expression: Expression) -> Array:
        """A value for every position, or the keys of every query, in all trials."""
        return np.concatenate([scope.value(expression) for scope in self._scopes])
