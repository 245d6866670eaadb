"""A model's replies to questions, and its accuracies with their intervals, beside
chance.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

from headway.fields import AtLeastOne
from headway.intervals import wilson


@dataclass(frozen=True)
class Reply:
    """A model's answer to one question, as it is kept.

    Attributes:
        formulation: its name.
        depth: look-ups to the answer.
        chains: interleaved.
        number: of the question, from 0.
        correct: the right answer.
        rank: which of the acceptable answers that is.
        acceptable: how many acceptable answers there are.
        nearer: how many of them belong to the asked function, person or the like.
        argmax: the most probable acceptable answer.
        expectation: the probability of ending right by the paper's protocol.
        said: log-probabilities of the acceptable answers.
        ended: the same, and that the answer ends there.
        seconds: that the answer took.
    """

    formulation: str
    depth: int
    chains: int
    number: int
    correct: str
    rank: int
    acceptable: AtLeastOne
    nearer: AtLeastOne
    argmax: str
    expectation: float
    said: list[float]
    ended: list[float]
    seconds: float

    @property
    def place(self) -> tuple[str, int, int]:
        """The cell that the question is of."""
        return self.formulation, self.depth, self.chains


@dataclass(frozen=True)
class Cell:
    """The results of the questions of one formulation and depth.

    Attributes:
        formulation: its name.
        depth: look-ups to the answer.
        chains: interleaved.
        count: questions.
        argmax: share in which the most probable acceptable answer is right.
        expectation: the mean probability of ending right by the paper's protocol.
        chance: of guessing among the acceptable answers.
        nearer: of guessing among those that belong to the asked function, person or the
            like.
        majority: share of the most common right answer, by its rank among the
            acceptable ones.
    """

    formulation: str
    depth: int
    chains: int
    count: int
    argmax: float
    expectation: float
    chance: float
    nearer: float
    majority: float

    def to_json(self) -> dict[str, Any]:
        """Plain data, with the intervals."""
        kinds = ("argmax", "expectation")
        return {
            **asdict(self),
            "intervals": {kind: self.interval(kind) for kind in kinds},
        }

    def interval(self, name: str) -> tuple[float, float]:
        """The 95 % interval of `argmax` or `expectation`."""
        return wilson(getattr(self, name) * self.count, self.count)


def cells(replies: Iterable[Reply]) -> list[Cell]:
    """Sums up replies; those of a cell follow each other."""
    by_place = groupby(replies, attrgetter("place"))
    return [_cell(list(group)) for _, group in by_place]


def _cell(replies: Sequence[Reply]) -> Cell:
    """The cell of replies that are all of one place."""
    count = len(replies)
    is_right = [reply.argmax == reply.correct for reply in replies]
    expectations = [reply.expectation for reply in replies]
    chances = [1 / reply.acceptable for reply in replies]
    nearer = [1 / reply.nearer for reply in replies]
    ranks = Counter(reply.rank for reply in replies)
    commonest = max(ranks.values())
    return Cell(
        *replies[0].place,
        count=count,
        argmax=mean(is_right),
        expectation=mean(expectations),
        chance=mean(chances),
        nearer=mean(nearer),
        majority=commonest / count,
    )


def mean(values: Sequence[float]) -> float:
    """The mean of some values, at least one."""
    return sum(values) / len(values)
