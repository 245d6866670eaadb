"""The course of one run: its data, its schedule, how far it is, and what it writes when."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from headway.errors import HeadwayError
from headway.training.config import TrainingConfig
from headway.training.data import Stream, held_out
from headway.training.files import clear_content_errors
from headway.training.learner import Learner, Single
from headway.training.run import Run
from headway.training.trained import stages_of

LEARNT = 0.5
"""The partial loss below which a hop counts as learnt (section 7.2)."""


def rate_scale(config: TrainingConfig, step: int, cooling_from: int) -> float:
    """The factor on the learning rates at a step: linear warm-up, constant, cool-down."""
    warm = min(1.0, step / config.warmup_steps) if config.warmup_steps else 1.0
    if not config.cooldown_steps:
        return warm
    left = cooling_from + config.cooldown_steps - step + 1
    return warm * min(1.0, max(0.0, left / config.cooldown_steps)) ** config.cooldown_power


def is_checkpoint(config: TrainingConfig, step: int, end: int) -> bool:
    """Whether the weights after a step are kept. The first and the last always are."""
    if step in (0, end):
        return True
    if config.checkpoints == "log":
        return step & (step - 1) == 0
    return config.checkpoint_every > 0 and step % config.checkpoint_every == 0


@dataclass
class Progress:
    """What changes in a run beside its tensors.

    Steps count from the start of the present attempt, seconds from the start of the first.
    """

    step: int = 0
    cooling_from: int = 0
    end: int = 0
    seconds: float = 0.0
    losses: list[float] = field(default_factory=list)
    learnt: int = 0
    learnt_at: int = 0
    given_up: list[dict[str, Any]] = field(default_factory=list)

    @property
    def spent(self) -> int:
        """Steps of the attempts that were given up."""
        return sum(attempt["step"] for attempt in self.given_up)


class Course:
    """A run that is being trained, but for its weights: they are a row of a learner.

    Attributes:
        run: the run.
        now: how far it is.
        stream: its training batches.
        held_out: what it is evaluated on.
        failure: why it cannot go on, if so.
    """

    stream: Stream

    def __init__(self, run: Run):
        self.run, self.config = run, run.config.training
        self.failure: str | None = None
        trained = self.config.trained
        self._factors = [1.0] if trained is None else [s.factor for s in stages_of(trained)]
        self.held_out = held_out(
            run.task, self.config.eval_examples, run.config.seed, run.config.device
        )

    def load(self) -> Single:
        """What learns: new, or as it was when the run was last saved. Changes nothing.

        Raises:
            HeadwayError: if something in the run's folder that is needed to go on is missing or
                damaged.
        """
        self.run.metrics()
        self.run.sessions()
        saved = self.run.load_state()
        if saved is None:
            kept = self.run.checkpoint_steps()
            if kept and kept[-1] > self.config.save_every:
                path = self.run.folder / "state.safetensors"
                raise HeadwayError(f"{path} is missing: cannot resume; its checkpoints are kept")
            learner = self._begin([], 0.0)
        else:
            tensors, about = saved
            with clear_content_errors(self.run.folder / "state.safetensors"):
                now = Progress(**about)
                learner = self._begin(now.given_up, now.seconds)
                self.now = now
                if now.step > 0:
                    learner.load(tensors)
        return learner

    def start(self, environment: dict[str, Any]) -> None:
        """Lets the run go on from what was loaded; what was written after that is forgotten.

        Args:
            environment: that computes from here on, for the record.
        """
        self.run.rewind(self.now.step, environment)
        if self.now.step == 0 and not self.now.given_up:
            self.run.write("environment.json", [environment])

    def _begin(self, given_up: list[dict[str, Any]], seconds: float) -> Single:
        """Sets up an attempt, the first or after others were given up."""
        config, attempt = self.run.config, len(given_up)
        self.stream = Stream(self.run.task, self.config, config.seed, config.device, attempt)
        self.now = Progress(seconds=seconds, given_up=given_up)
        self.now.end = self.config.steps - self.now.spent
        self.now.cooling_from = self.now.end - self.config.cooldown_steps
        return Single(self.run.new_model(config.device, attempt), self.config)

    @property
    def is_over(self) -> bool:
        """Whether there is no step left to make."""
        return self.failure is not None or self.now.step >= self.now.end

    @property
    def next_scale(self) -> float:
        """The factor on the rates at the next step."""
        scale = rate_scale(self.config, self.now.step + 1, self.now.cooling_from)
        return scale * self._factors[min(self.stage, len(self._factors) - 1)]

    @property
    def stage(self) -> int:
        """Which stage of `TrainingConfig.trained` the next step belongs to, from 0."""
        return self.now.step // self.config.rising_every

    def advance(self) -> None:
        """Counts a step that was made."""
        self.now.step += 1

    def spend(self, seconds: float) -> None:
        """Counts time."""
        self.now.seconds += seconds

    @property
    def is_evaluated(self) -> bool:
        """Whether the weights after this step are evaluated."""
        return self.now.step % self.config.eval_every == 0 or self.now.step == self.now.end

    @property
    def _is_checkpoint(self) -> bool:
        return is_checkpoint(self.config, self.now.step, self.now.end)

    @property
    def _is_saved(self) -> bool:
        return self.now.step % self.config.save_every == 0 or self.now.step == self.now.end

    @property
    def has_news(self) -> bool:
        """Whether anything is written after this step, so that the losses must be known."""
        return self.is_evaluated or self._is_checkpoint or self._is_saved

    def hear(self, losses: Sequence[float]) -> None:
        """Takes note of the losses of the last steps; fails at the first that is no number."""
        for step, loss in enumerate(losses, start=self.now.step - len(losses) + 1):
            if not math.isfinite(loss):
                self.now.step = step - 1
                return self._fail(step, loss, bad=step - 1)
            self.now.losses.append(loss)

    def judge(self, hops: list[float]) -> dict[str, Any] | None:
        """Takes note of an evaluation, and decides when to cool down and to end.

        Returns:
            The metrics that were written; none if the loss is no number, and the run failed.
        """
        now, loss = self.now, sum(hops) / len(hops)
        if not math.isfinite(loss):
            return self._fail(now.step, loss, bad=now.step)
        metrics = {
            "step": now.step,
            "train_loss": sum(now.losses) / len(now.losses),
            "val_loss": loss,
            "partial": dict(zip(self.run.task.hop_names, hops, strict=True)),
            "rate_scale": rate_scale(self.config, now.step, now.cooling_from),
            "seconds": round(now.seconds, 3),
            "examples_per_second": round(
                (now.spent + now.step) * self.config.batch_size / now.seconds, 1
            ),
        }
        now.losses = []
        self.run.append_metrics(metrics)
        if loss < self.config.cooldown_below and now.step < now.cooling_from:
            now.cooling_from = now.step
            now.end = now.step + self.config.cooldown_steps
        if loss < self.config.stop_below:
            now.end = now.step
        learnt = sum(hop < LEARNT for hop in hops)
        if learnt > now.learnt:
            now.learnt, now.learnt_at = learnt, now.step
        return metrics

    def write(self, learner: Learner, row: int) -> None:
        """Keeps the weights and saves the state, if it is time."""
        if self._is_checkpoint:
            self.run.save_checkpoint(self.now.step, learner.weights(row))
        if self.now.step > 0 and self._is_saved:
            self._save(learner, row)

    def _save(self, learner: Learner, row: int) -> None:
        self.run.save_state(learner.state(row), vars(self.now))

    @property
    def is_stuck(self) -> bool:
        """Whether nothing was learnt for too long, and another whole attempt still fits."""
        now, config = self.now, self.config
        if not config.patience or now.learnt == self.run.task.n_hops:
            return False
        left = config.steps - now.spent - now.step
        fits = left >= config.patience + config.cooldown_steps
        waiting = now.step - max(now.learnt_at, self.stream.full_from)
        return fits and now.step < now.end and waiting >= config.patience

    def start_again(self, metrics: dict[str, Any]) -> Single:
        """Gives the attempt up; a kill at any moment leaves either it or the next one.

        Returns:
            What learns in the next one.
        """
        told = {"step": self.now.step, "partial": metrics["partial"]}
        learner = self._begin([*self.now.given_up, told], self.now.seconds)
        self._save(learner, 0)
        self.run.rewind(0, {})
        return learner

    def _fail(self, step: int, value: float, bad: int) -> None:
        """Ends the run as failed; the weights after step `bad` are the ones that gave the value."""
        kept = self.run.checkpoint_steps()
        good = [s for s in kept if s < bad]
        for spoilt in kept[len(good) :]:
            self.run.drop_checkpoint(spoilt)
        last = f"the last good checkpoint is step {good[-1]}" if good else "no checkpoint is good"
        self.failure = (
            f"the loss is {value} at step {step}: lower training.learning_rate; {last}"
            f" in {self.run.folder}"
        )
        self._finish("failed", {})

    def finish(self, learner: Learner, row: int) -> None:
        """Ends the run as done.

        When to stop was decided on the validation sample, so the end is judged on another.
        """
        run, count = self.run, self.config.eval_examples
        sample = held_out(run.task, count, run.config.seed, run.config.device, "test")
        (hops,) = learner.evaluate([row], [sample])
        self._finish("done", {"test_loss": torch.tensor(hops).mean().item()})

    def _finish(self, status: str, more: dict[str, float]) -> None:
        metrics = self.run.metrics()
        last = metrics[-1] if metrics else {}
        outcome = {
            "status": status,
            "message": self.failure,
            "step": self.now.step,
            "val_loss": last.get("val_loss"),
            "partial": last.get("partial"),
            "seconds": round(self.now.seconds, 3),
            "given_up": self.now.given_up,
        }
        self.run.write("outcome.json", {**outcome, **more})
