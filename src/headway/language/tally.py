"""The results of many questions, as shares with their intervals, beside those of guessing."""

from collections.abc import Sequence
from dataclasses import dataclass

from headway.intervals import wilson


@dataclass(frozen=True)
class Outcome:
    """The result of one question.

    Attributes:
        depth: look-ups to the answer.
        answered: whether an acceptable answer came.
        right: whether that was the right one.
        draws: how often it was asked.
        chance: of guessing among the acceptable answers.
        nearer: of guessing among those that belong to the asked function, person or the like.
    """

    depth: int
    answered: bool
    right: bool
    draws: int
    chance: float
    nearer: float


def tally(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """All questions together, then every depth that there is, its keys begun with `D=…`.

    `accuracy` is the share right of all, `of_answered` the share right of those that got an
    acceptable answer, missing if none did; `_low` and `_high` are the ends of the 95 % interval of
    each (Wilson). `unanswered` is the share that never got one, `draws` the mean number of draws
    per question, given up or not. `nearer_chance` is there if it differs from `chance`.
    """
    found = _shares(outcomes)
    for depth in sorted({outcome.depth for outcome in outcomes}):
        own = _shares([outcome for outcome in outcomes if outcome.depth == depth])
        found |= {f"D={depth} {name}": value for name, value in own.items()}
    return found


def _shares(outcomes: Sequence[Outcome]) -> dict[str, float]:
    count = len(outcomes)
    if count == 0:
        return {"questions": 0.0}
    right = sum(outcome.right for outcome in outcomes)
    answered = sum(outcome.answered for outcome in outcomes)
    found = _with_interval("accuracy", right, count)
    if answered:
        found |= _with_interval("of_answered", right, answered)
    found["unanswered"] = (count - answered) / count
    found["draws"] = sum(outcome.draws for outcome in outcomes) / count
    found["chance"] = sum(outcome.chance for outcome in outcomes) / count
    nearer = sum(outcome.nearer for outcome in outcomes) / count
    if nearer != found["chance"]:
        found["nearer_chance"] = nearer
    return found | {"questions": float(count)}


def _with_interval(name: str, right: int, count: int) -> dict[str, float]:
    low, high = wilson(right, count)
    return {name: right / count, f"{name}_low": low, f"{name}_high": high}
