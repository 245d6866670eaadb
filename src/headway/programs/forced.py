"""Heads that are made to look elsewhere, in the model and in a program."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headway.programs.doubts import Doubts
from headway.programs.elsewhere import Elsewhere, Moved
from headway.programs.expressions import Array, Expression, Scope
from headway.programs.printed import Program
from headway.programs.sample import Sample

LEAST_ROWS = 20
"""Answers that must move, so that a share of them says something."""

LEAST_SHARE = 0.02
"""Answers that must move for every query that looks elsewhere: a head that moves fewer
tells hardly any."""

ROUNDS = 3
"""Times that every sequence is forced, each time elsewhere."""


@dataclass(frozen=True)
class Followed:
    """The share of some answers in which a model and a program that is changed agree.

    Attributes:
        heads: that were made to look elsewhere.
        forced: queries that then looked at other keys; of several selects those of the
            one that was moved least.
        moved: answers of model or program that moved.
        share: of those, the share that are the same; None if hardly any moved.
    """

    heads: tuple[str, ...]
    forced: int
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
        self.program, self.sample = program, sample
        self.elsewhere = Elsewhere(selects, sample, seed)
        self.own = self.elsewhere.own
        self.told = program(sample.inputs)

    def follows(self) -> list[Followed]:
        """Every head of the circuit, one select after the other."""
        return [self.followed(group) for group in self.elsewhere.groups]

    def repairs(self) -> list[Followed]:
        """The answers in which program and model part that become the program's when a
        head is made to attend as the program says, evenly and to nothing else.
        """
        parts = (self.told != self.own) & self.sample.asked
        if not parts.any():
            return []
        repairs = list[Followed]()
        for group in self.elsewhere.groups:
            hard = self.elsewhere.hard(group)
            answers = self.sample.answers(hard.mechanisms)
            share = float((answers == self.told)[parts].mean())
            count = int(parts.sum())
            repairs.append(Followed(hard.heads, count, count, share))
        return repairs

    def followed(self, selects: Sequence[Expression]) -> Followed:
        """Forces heads that look at the same keys."""
        rounds = list(self.elsewhere.moved(selects, ROUNDS))
        follows = np.concatenate([self._forced(moved) for moved in rounds])
        other_rows = np.sum([self._other_rows(moved) for moved in rounds], axis=0)
        least = max(LEAST_ROWS, LEAST_SHARE * other_rows.max())
        share = float(follows.mean()) if len(follows) >= least else None
        forced = int(other_rows.min())
        return Followed(rounds[0].heads, forced, len(follows), share)

    def _other_rows(self, moved: Moved) -> Array:
        """The number of queries that look at other keys than their own, by select."""
        scope = self.elsewhere.scope
        others = [
            (keys != scope.value(select)).any(2).sum()
            for select, keys in moved.instead(scope).items()
        ]
        return np.array(others)

    def _forced(self, moved: Moved) -> Array:
        """Tell, of every answer that moves, if the program follows."""
        forced = self.sample.answers(moved.mechanisms)
        instead = moved.instead(self.elsewhere.scope)
        told = self.program(self.sample.inputs, instead)
        moves = (forced != self.own) | (told != self.told)
        moves &= self.is_sure(instead)
        return (forced == told)[moves]

    def is_sure(self, instead: Mapping[Expression, Array]) -> Array:
        """Answers that are asked, are the model's as it is, and that nothing casts
        doubt on when heads look elsewhere (see `Doubts`).
        """
        told = self.program(self.sample.inputs, instead)
        occur = np.isin(told, self.own[self.sample.asked])
        sure = self.sample.asked & (self.told == self.own) & occur
        after = Scope(self.sample.inputs, self.program.how, instead)
        doubts = Doubts(self.elsewhere.scope, after)
        unsure = [doubts.of(hop) for hop in self.program.hops.values()]
        return sure & ~np.stack(unsure, 2)
