"""What files of a run must say: an evaluation, a session, an attempt given up, an outcome."""

from dataclasses import dataclass, field
from typing import Literal

from headway.fields import NotBelowZero, NotNegative

FOUND_OUT = (
    *("circuit.json", "circuits.json", "circuit_given.json", "emergence.json"),
    *("dependence.json", "certificate.json"),
)
"""The files of a run's folder that are about the weights of the last step."""


@dataclass(frozen=True)
class Evaluation:
    """What a line of `metrics.jsonl` must say."""

    step: NotNegative
    train_loss: float
    val_loss: float
    partial: dict[str, float]
    seconds: NotBelowZero
    rate_scale: float = 1.0
    examples_per_second: float = 0.0


@dataclass(frozen=True)
class Session:
    """What an entry of `environment.json` must say, if it says it."""

    command: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class GivenUp:
    """The record of an attempt that was given up."""

    step: NotNegative
    partial: dict[str, float]


@dataclass(frozen=True)
class Outcome:
    """What `outcome.json` must say; a figure that was never known is None, or left out."""

    status: Literal["done", "failed"]
    message: str | None = None
    step: NotNegative | None = None
    val_loss: float | None = None
    partial: dict[str, float] | None = None
    seconds: NotBelowZero | None = None
    given_up: list[GivenUp] = field(default_factory=list)
    test_loss: float | None = None
