"""The state of training, beside weights and optimisers: progress, and what is due."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, count, takewhile
from typing import Any

from headway.errors import HeadwayError
from headway.fields import NotBelowZero, NotNegative
from headway.training.config import TrainingConfig

LEARNT = 0.5
"""The loss below which a hop counts as learnt (section 7.2)."""


def scheduled(config: TrainingConfig, last: int, is_done: bool) -> Iterator[int]:
    """The steps whose weights are kept so far, rising (`State.is_checkpoint`).

    Args:
        config: how the run is trained.
        last: the step of the evaluation, whose own weights are kept if training is
            done.
        is_done: whether it is.
    """
    if config.checkpoints == "log":
        powers = takewhile(lambda step: step < last, (1 << n for n in count()))
        steps: Iterable[int] = chain([0], powers) if last else []
    elif config.checkpoint_every:
        steps = range(0, last, config.checkpoint_every)
    else:
        steps = [0] if last else []
    yield from steps
    if is_done:
        yield last


class DivergedError(HeadwayError):
    """The loss is not finite; `State.step` is the first with useless weights."""


@dataclass
class State:
    """The progress of training; it is saved with the weights and the optimisers.

    Attributes:
        step: optimiser steps of the present attempt that were made.
        end: its last step, as planned now; before it the rates fall.
        seconds: since the start of the first attempt.
        losses: of the steps since the last evaluation.
        learnt: the most hops that were learnt at an evaluation, if only of a fixed
            training set.
        learnt_at: the step at which so many first were.
        stage: of the curriculum, from 0.
        given_up: for every attempt before, its last `step` and its `partial` losses
            there.
    """

    step: NotNegative = 0
    end: NotNegative = 0
    seconds: NotBelowZero = 0.0
    losses: list[float] = field(default_factory=list)
    learnt: int = 0
    learnt_at: int = 0
    stage: int = 0
    given_up: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def at_start(
        cls,
        config: TrainingConfig,
        given_up: Sequence[dict[str, Any]] = (),
        seconds: float = 0.0,
    ) -> "State":
        """Before the first step of an attempt, be it the first or a later one."""
        end = config.steps - sum(attempt["step"] for attempt in given_up)
        return cls(0, end, seconds, given_up=list(given_up))

    @property
    def spent(self) -> int:
        """Steps of the attempts that were given up."""
        return sum(attempt["step"] for attempt in self.given_up)

    def is_due(self, every: int) -> bool:
        """Tell whether what is due every so many steps, and last, is due now."""
        return self.step % every == 0 or self.step == self.end

    def is_checkpoint(self, config: TrainingConfig) -> bool:
        """Tell whether a step's weights are kept: always the first and the last."""
        if self.step in (0, self.end):
            return True
        if config.checkpoints == "log":
            return self.step & (self.step - 1) == 0
        return config.checkpoint_every > 0 and self.step % config.checkpoint_every == 0

    def rate_scale(self, config: TrainingConfig, step: int) -> float:
        """The factor on the learning rates: linear warm-up, constant, cool-down."""
        warm = config.warmup_steps
        left = self.end - step + 1
        falling = (
            min(1.0, left / config.cooldown_steps) if config.cooldown_steps else 1.0
        )
        if warm:
            return min(1.0, step / warm) * falling
        return falling

    def add_losses(self, losses: Sequence[float]) -> None:
        """Takes note of the losses of the last steps.

        Raises:
            DivergedError: at the first that is no number.
        """
        for step, loss in enumerate(losses, start=self.step - len(losses) + 1):
            if not math.isfinite(loss):
                self.step = step - 1
                raise self._diverged(step, loss)
            self.losses.append(loss)

    def add_evaluation(
        self, config: TrainingConfig, scores: dict[str, Any]
    ) -> dict[str, Any]:
        """Takes note of an evaluation, and decides when to cool down and when to end.

        Args:
            config: how the run is trained.
            scores: the losses (see `scores`).

        Returns:
            The metrics, as a line of `metrics.jsonl` has them.

        Raises:
            DivergedError: if the loss is no number.
        """
        loss = scores["val_loss"]
        self.require_number(loss)
        examples = (self.spent + self.step) * config.batch_size
        metrics = {
            "step": self.step,
            "train_loss": sum(self.losses) / len(self.losses),
            **scores,
            "rate_scale": self.rate_scale(config, self.step),
            "seconds": round(self.seconds, 3),
            "examples_per_second": round(examples / self.seconds, 1),
        }
        self.losses = []
        if loss < config.cooldown_below:
            self.end = min(self.end, self.step + config.cooldown_steps)
        if loss < config.stop_below:
            self.end = self.step
        learnt = _learnt_hops(scores)
        if "training_set" in scores:  # what is known by heart may be understood later
            learnt = max(learnt, _learnt_hops(scores["training_set"]))
        if learnt > self.learnt:
            self.learnt = learnt
            self.learnt_at = self.step
        return metrics

    def require_number(self, loss: float) -> None:
        """Makes sure that a loss at this step is a number.

        Raises:
            DivergedError: if it is none.
        """
        if not math.isfinite(loss):
            raise self._diverged(self.step, loss)

    def is_stuck(self, config: TrainingConfig, n_hops: int, full_from: int) -> bool:
        """Tell whether nothing was learnt for too long, with attempts left.

        Args:
            config: how the run is trained.
            n_hops: how many there are to learn.
            full_from: the last step before the first that may ask for all of them.
        """
        if not config.patience or self.learnt == n_hops or self.step >= self.end:
            return False
        left = config.steps - self.spent - self.step
        fits = left >= config.patience + config.cooldown_steps
        return fits and self.step - max(self.learnt_at, full_from) >= config.patience

    def _diverged(self, step: int, loss: float) -> DivergedError:
        return DivergedError(
            f"the loss is {loss} at step {step}: lower training.learning_rate"
        )


def _learnt_hops(scores: dict[str, Any]) -> int:
    """The number of hops whose loss counts as learnt."""
    return sum(loss < LEARNT for loss in scores["partial"].values())
