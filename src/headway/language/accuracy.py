"""Accuracies with their intervals, beside chance and the most common answer."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from headway.intervals import wilson


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
        drawn: questions that were also asked by the paper's protocol.
        sampled: share of right answers among the drawn questions that it answered; None if there
            are none.
        unanswered: share of the drawn questions without an acceptable answer; None likewise.
        draws: mean number of draws of those with one; None likewise.
        chance: of guessing among the acceptable answers.
        nearer: of guessing among those that belong to the asked function, person or the like.
        majority: share of the most common right answer, by its rank among the acceptable ones.
    """

    formulation: str
    depth: int
    chains: int
    count: int
    argmax: float
    expectation: float
    drawn: int
    sampled: float | None
    unanswered: float | None
    draws: float | None
    chance: float
    nearer: float
    majority: float

    def to_json(self) -> dict[str, Any]:
        """As plain data, with the intervals."""
        kinds = ("argmax", "expectation", "sampled")
        return {**asdict(self), "intervals": {kind: self.interval(kind) for kind in kinds}}

    def interval(self, name: str) -> tuple[float, float] | None:
        """Of `argmax`, `expectation` or `sampled`; None if there is none."""
        share = getattr(self, name)
        if share is None:
            return None
        count = self.count
        if name == "sampled":
            count = round(self.drawn * (1 - (self.unanswered or 0)))
        return wilson(share * count, count) if count else None


def cells(lines: Iterable[Mapping[str, Any]]) -> list[Cell]:
    """Sums up answered questions, cell by cell, in their order."""
    groups: dict[tuple[str, int, int], list[Mapping[str, Any]]] = {}
    for line in lines:
        place = line["formulation"], line["depth"], line["chains"]
        groups.setdefault(place, []).append(line)
    return [_cell(*place, group) for place, group in groups.items()]


def _cell(formulation: str, depth: int, chains: int, lines: Sequence[Mapping[str, Any]]) -> Cell:
    drawn = [line for line in lines if line.get("draws") is not None]
    answered = [line for line in drawn if line["sampled"] is not None]
    ranks = Counter(line["rank"] for line in lines)
    count = len(lines)
    return Cell(
        formulation=formulation,
        depth=depth,
        chains=chains,
        count=count,
        argmax=sum(line["argmax"] == line["correct"] for line in lines) / count,
        expectation=sum(line["expectation"] for line in lines) / count,
        drawn=len(drawn),
        sampled=_mean([line["sampled"] == line["correct"] for line in answered]),
        unanswered=_mean([line["sampled"] is None for line in drawn]),
        draws=_mean([line["draws"] for line in answered]),
        chance=sum(1 / line["acceptable"] for line in lines) / count,
        nearer=sum(1 / line["nearer"] for line in lines) / count,
        majority=max(ranks.values()) / count,
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
