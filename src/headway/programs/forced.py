"""Heads that are made to look elsewhere, in the model and in a program."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headway.programs.doubts import Doubts
from headway.programs.elsewhere import Elsewhere, Moved
from headway.programs.expressions import Array, Expression, Scope
from headway.programs.printed import Program
from headway.programs.sample import Sample
from headway.replace.heads import Head
from headway.replace.mechanism import Mechanism

LEAST_ROWS = 20
"""Answers that must move, so that a share of them says something."""

ROUNDS = 3
"""Times that every sequence is forced, each time elsewhere."""


@dataclass(frozen=True)
class Followed:
    """The share of some answers in which a model and a program that is changed agree.

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
        self.program, self.sample = program, sample
        self.elsewhere = Elsewhere(selects, sample, seed)
        self.own = sample.answers()
        self.told = program(sample.inputs)

    def follows(self) -> list[Followed]:
        """Every head of the circuit, one select after the other."""
        return [self._followed(group) for group in self.elsewhere.groups()]

    def repairs(self) -> list[Followed]:
        """The answers in which program and model part that become the program's when a
        head is made to attend as the program says, evenly and to nothing else.
        """
        parts = (self.told != self.own) & self.sample.asked
        if not parts.any():
            return []
        repairs = list[Followed]()
        for group in self.elsewhere.groups():
            keys = self.elsewhere.scope.value(group[0])
            hard = Moved(group, keys, np.asarray(keys.any(2)))
            answers = self.sample.answers(self.mechanisms(hard))
            share = float((answers == self.told)[parts].mean())
            repairs.append(Followed(hard.heads, int(parts.sum()), share))
        return repairs

    def _followed(self, selects: Sequence[Expression]) -> Followed:
        """Forces heads that look at the same keys."""
        rounds = list(self.elsewhere.moved(selects, ROUNDS))
        every = np.concatenate([self._forced(moved) for moved in rounds])
        share = float(every.mean()) if len(every) >= LEAST_ROWS else None
        return Followed(rounds[0].heads, len(every), share)

    def _forced(self, moved: Moved) -> Array:
        """Tell, of every answer that moves, if the program follows."""
        forced = self.sample.answers(self.mechanisms(moved))
        instead = moved.instead(self.elsewhere.scope)
        told = self.program(self.sample.inputs, instead)
        moves = (forced != self.own) | (told != self.told)
        moves &= self.is_sure(instead)
        return (forced == told)[moves]

    def mechanisms(self, moved: Moved) -> dict[Head, Mechanism]:
        """The heads that look elsewhere, as they then attend."""
        return moved.mechanisms(self.elsewhere.selects, self.elsewhere.scope)

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
