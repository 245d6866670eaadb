"""Sequences with a model as it is, and with heads that look elsewhere.

Of programs that give a model's answers as it is, some differ once a head looks
elsewhere. So rows of both are what a program is found on.
"""

from collections.abc import Sequence

import numpy as np

from headway.programs.elsewhere import Elsewhere
from headway.programs.expressions import Array, Expression, Scope
from headway.programs.sample import Sample

SEQUENCES = 200
"""Sequences in which heads look elsewhere, of all heads together."""

WEIGHT = 0.25
"""The weight of an answer when a head looks elsewhere, beside one when none does."""


class Trials:
    """A model's answers in several trials of sequences, one trial after the other.

    Args:
        sample: the sequences.
        selects: of all heads that are read.

    Attributes:
        answers: of the model, [sequence, position, hop].
        asked: where a hop is asked.
        matters: positions up to the last that is asked.
        weights: of sequences.
        tokens: by number.
    """

    def __init__(self, sample: Sample, selects: Sequence[Expression]):
        elsewhere = Elsewhere(selects, sample, 0)
        self._scopes = [elsewhere.scope]
        answers = [sample.answers()]
        groups = elsewhere.groups()
        count = min(len(sample.inputs), SEQUENCES // max(1, len(groups)))
        for group in groups:
            for moved in elsewhere.moved(group, 1):
                keys = moved.instead(elsewhere.scope)
                instead = {select: keys[select][:count] for select in group}
                scope = Scope(sample.inputs[:count], sample.how, instead)
                self._scopes.append(scope)
                answers.append(sample.answers(moved.mechanisms)[:count])
        sequences = np.arange(len(sample.inputs))
        which = [sequences, *[sequences[:count]] * len(groups)]
        self.answers = np.concatenate(answers)
        self.asked = np.concatenate([sample.asked[some] for some in which])
        self.matters = np.concatenate([sample.matters[some] for some in which])
        self.tokens = np.concatenate([scope.tokens for scope in self._scopes])
        self.weights = np.full(len(self.tokens), WEIGHT)
        self.weights[: len(sequences)] = 1

    def value(self, expression: Expression) -> Array:
        """A value for every position, or the keys of every query, in all trials."""
        return np.concatenate([scope.value(expression) for scope in self._scopes])
