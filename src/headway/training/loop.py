"""The training loop. There is one."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from headway.errors import HeadwayError
from headway.models import Transformer
from headway.tasks import Batch, RetrievalConfig, task_kind
from headway.training.config import RunConfig, TrainingConfig
from headway.training.data import Stream, held_out
from headway.training.environment import describe_environment
from headway.training.files import clear_content_errors
from headway.training.optimisers import flatten_state, make_optimisers, restore_state
from headway.training.run import Run, require_device

LEARNT = 0.5
"""The partial loss below which a hop counts as learnt (section 7.2)."""

Watch = Callable[[Run, int, int, dict[str, Any] | None], None]
"""Called after every step with the run, the step, the last step as planned now, and the metrics
if the step was evaluated."""


def train(config: RunConfig, folder: str | Path | None = None, watch: Watch | None = None) -> Run:
    """Trains a model from scratch in a new run folder.

    Args:
        config: what decides the run.
        folder: of the run; must not exist. None means `runs/` and a name made from the config.
        watch: told of every step, to show progress.

    Returns:
        The finished run.

    Raises:
        HeadwayError: if the folder exists, the disk does not take the files, or the loss stops
            being a number; all checkpoints until then are kept.
    """
    require_device(config.device)
    run = Run.create(Path(folder) if folder is not None else free_folder(config), config)
    return _continue(run, watch)


def resume(folder: str | Path, watch: Watch | None = None) -> Run:
    """Continues a run that was killed, interrupted or failed, as if it had never stopped.

    On the same machine with the same number of threads the final weights are the same to the
    last bit. A run that is done is returned as it is.

    Raises:
        HeadwayError: if there is no such run, another process is writing to it, or the state to
            resume from is missing, damaged or of another model.
    """
    run = Run.open(folder)
    if run.status == "done":
        return run
    require_device(run.config.device)
    return _continue(run, watch)


def _continue(run: Run, watch: Watch | None) -> Run:
    with run.writing(), run.computing():
        try:
            _Trainer(run).train(watch)
        except KeyboardInterrupt as stop:
            stop.add_note(f"continue with: headway train --resume {run.folder}")
            raise
    return run


def partial_losses(
    predicted: Float[Tensor, "batch query target"], targets: Float[Tensor, "batch query hop token"]
) -> Float[Tensor, " hop"]:
    """The mean squared error of every hop alone; their mean is the loss."""
    return (predicted.unflatten(-1, targets.shape[2:]) - targets).square().mean((0, 1, 3))


@torch.no_grad()
def evaluate(model: Transformer, batch: Batch, chunk: int = 512) -> Float[Tensor, " hop"]:
    """The partial losses on a batch, computed so many sequences at a time."""
    predicted = torch.cat([model(inputs) for inputs in batch.inputs.split(chunk)])
    return partial_losses(predicted, batch.targets)


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
class _Progress:
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


class _Trainer:
    """The moving parts of a run that is being trained."""

    def __init__(self, run: Run):
        self.run, self.config = run, run.config.training
        self.held_out = held_out(
            run.task, self.config.eval_examples, run.config.seed, run.config.device
        )
        saved = run.load_state()
        if saved is None:
            kept = run.checkpoint_steps()
            if kept and kept[-1] > self.config.save_every:
                path = run.folder / "state.safetensors"
                raise HeadwayError(f"{path} is missing: cannot resume; its checkpoints are kept")
            self._begin([], 0.0)
        else:
            self._restore(*saved)
        environment = describe_environment(run.config.device, run.config.threads)
        run.rewind(self.now.step, environment)

    def _begin(self, given_up: list[dict[str, Any]], seconds: float) -> None:
        """Sets up an attempt, the first or after others were given up."""
        config, attempt = self.run.config, len(given_up)
        self.model = self.run.new_model(config.device, attempt)
        self.optimisers = make_optimisers(self.model, self.config)
        self.stream = Stream(self.run.task, self.config, config.seed, config.device, attempt)
        self.now = _Progress(seconds=seconds, given_up=given_up)
        self.now.end = self.config.steps - self.now.spent
        self.now.cooling_from = self.now.end - self.config.cooldown_steps
        self._note_rates()

    def _note_rates(self) -> None:
        self.full_rates = [
            (group, group["lr"], group["weight_decay"])
            for optimiser in self.optimisers
            for group in optimiser.param_groups
        ]

    def train(self, watch: Watch | None) -> None:
        started = time.perf_counter() - self.now.seconds
        while self.now.step < self.now.end:
            if self.now.step == 0:
                self.run.save_checkpoint(0, self.model)
            self._step()
            step, metrics = self.now.step, None
            self.now.seconds = time.perf_counter() - started
            if step % self.config.eval_every == 0 or step == self.now.end:
                metrics = self._evaluate()
            if is_checkpoint(self.config, step, self.now.end):
                self.run.save_checkpoint(step, self.model)
            if step % self.config.save_every == 0 or step == self.now.end:
                self._save()
            if watch is not None:
                watch(self.run, step, self.now.end, metrics)
            if metrics is not None and self._is_stuck():
                self._start_again(metrics)
        self._finish("done", None)

    def _is_stuck(self) -> bool:
        """Whether nothing was learnt for too long, and another whole attempt still fits."""
        now, config = self.now, self.config
        if not config.patience or now.learnt == self.run.task.n_hops:
            return False
        left = config.steps - now.spent - now.step
        fits = left >= config.patience + config.cooldown_steps
        return fits and now.step < now.end and now.step - now.learnt_at >= config.patience

    def _start_again(self, metrics: dict[str, Any]) -> None:
        """Gives the attempt up; a kill at any moment leaves either it or the next one."""
        told = {"step": self.now.step, "partial": metrics["partial"]}
        self._begin([*self.now.given_up, told], self.now.seconds)
        self._save()
        self.run.rewind(0, {})

    def _step(self) -> None:
        step = self.now.step + 1
        batch = self.stream.batch(step)
        loss = F.mse_loss(self.model(batch.inputs), batch.targets.flatten(2))
        for optimiser in self.optimisers:
            optimiser.zero_grad()
        loss.backward()
        value = loss.item()
        if not math.isfinite(value):
            self._fail(step, value, bad=self.now.step)
        scale = rate_scale(self.config, step, self.now.cooling_from)
        for group, rate, decay in self.full_rates:
            group["lr"], group["weight_decay"] = rate * scale, decay * scale
        for optimiser in self.optimisers:
            optimiser.step()
        self.now.step = step
        self.now.losses.append(value)

    def _evaluate(self) -> dict[str, Any]:
        now, hops = self.now, evaluate(self.model, self.held_out).tolist()
        loss = sum(hops) / len(hops)
        if not math.isfinite(loss):
            self._fail(now.step, loss, bad=now.step)
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

    def _save(self) -> None:
        tensors = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        self.run.save_state({**tensors, **flatten_state(self.optimisers)}, vars(self.now))

    def _restore(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        with clear_content_errors(self.run.folder / "state.safetensors"):
            now = _Progress(**about)
            self._begin(now.given_up, now.seconds)
            self.now = now
            if now.step > 0:
                prefix = "model."
                weights = {
                    name.removeprefix(prefix): value
                    for name, value in tensors.items()
                    if name.startswith(prefix)
                }
                self.model.load_state_dict(weights)
                restore_state(self.optimisers, tensors)
                self._note_rates()

    def _fail(self, step: int, value: float, bad: int) -> None:
        """Ends the run as failed; the weights after step `bad` are the ones that gave the value."""
        kept = self.run.checkpoint_steps()
        good = [s for s in kept if s < bad]
        for spoilt in kept[len(good) :]:
            self.run.drop_checkpoint(spoilt)
        last = f"the last good checkpoint is step {good[-1]}" if good else "no checkpoint is good"
        message = (
            f"the loss is {value} at step {step}: lower training.learning_rate; {last}"
            f" in {self.run.folder}"
        )
        self._finish("failed", message)
        raise HeadwayError(message)

    def _finish(self, status: str, message: str | None) -> None:
        metrics = self.run.metrics()
        last = metrics[-1] if metrics else {}
        outcome = {
            "status": status,
            "message": message,
            "step": self.now.step,
            "val_loss": last.get("val_loss"),
            "partial": last.get("partial"),
            "seconds": round(self.now.seconds, 3),
            "given_up": self.now.given_up,
        }
        if status == "done":
            # When to stop was decided on the validation sample, so the end is judged on another.
            run, count = self.run, self.config.eval_examples
            sample = held_out(run.task, count, run.config.seed, run.config.device, "test")
            outcome["test_loss"] = evaluate(self.model, sample).mean().item()
        self.run.write("outcome.json", outcome)


def free_folder(config: RunConfig) -> Path:
    """A folder in `runs/` that is not taken, named after the task, its depth and the seed."""
    task = config.task
    size = f"D{task.depth}" if isinstance(task, RetrievalConfig) else f"M{task.n_values}"
    name = f"{task_kind(task)}-{size}-L{config.model.n_layers}-s{config.seed}"
    folder, attempt = Path("runs") / name, 1
    while folder.exists():
        attempt += 1
        folder = Path("runs") / f"{name}-{attempt}"
    return folder
