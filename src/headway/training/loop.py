"""The training of one run, from top to bottom."""

import re
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headway.errors import HeadwayError, require
from headway.fields import found_in
from headway.settings import computes_as_usual
from headway.tasks import Batch, Task
from headway.text import command
from headway.training.clamp import blocked
from headway.training.config import RunConfig, TrainingConfig
from headway.training.curriculum import Ask
from headway.training.data import (
    Stream,
    batch_of,
    held_out,
    require_held_out,
    training_set,
)
from headway.training.environment import describe_environment, generator_for, resolved
from headway.training.files import (
    is_there,
    read_header,
    read_tensors,
    write_tensors,
)
from headway.training.graphs import Passes, Recorded
from headway.training.losses import Reader, scores
from headway.training.optimisers import Optimisers
from headway.training.run import Run, require_device
from headway.training.size import require_size
from headway.training.state import DivergedError, State

STATE = "state.safetensors"
"""The file from which a killed run resumes."""

STAGE_EXAMPLES = 256
"""Held-out sequences by which a stage of a curriculum is judged."""

Watch = Callable[[Run, int, int, dict[str, Any] | None], None]
"""Called after every step with the run, the step, the last step as planned now, and the
metrics if the step was evaluated."""


@computes_as_usual
def train(
    config: RunConfig, folder: str | Path | None = None, watch: Watch | None = None
) -> Run:
    """Trains a model from scratch in a new run folder.

    Args:
        config: what decides the run.
        folder: of the run; must not exist. By default a new one in `runs/`, named after
            the config.
        watch: called after every step, to show progress.

    Returns:
        The finished run.

    Raises:
        HeadwayError: if the config is none, the folder exists, the disk does not take
            the files, or the loss stops being a number; all checkpoints until then are
            kept.
    """
    require(
        isinstance(config, RunConfig),
        "config",
        config,
        "a RunConfig, such as fast(depth=3)",
    )
    require_device(config.device)
    require_size(config)
    require_held_out(config)
    place = free_folder(config) if folder is None else Path(folder)
    run = Run.create(place, config)
    fit(run, watch)
    return run


def free_folder(config: RunConfig) -> Path:
    """A free folder in `runs/`, named after the task, its size and the seed."""
    label = re.sub(r"[^A-Za-z0-9.,_-]", "", config.task.label)
    words = [config.task.kind, label, f"L{config.model.n_layers}", f"s{config.seed}"]
    name = "-".join(filter(None, words))
    folder = Path("runs") / name
    numbers = count(2)
    while folder.exists():
        folder = Path("runs") / f"{name}-{next(numbers)}"
    return folder


@computes_as_usual
def resume(
    folder: str | Path, watch: Watch | None = None, changed_task: bool = False
) -> Run:
    """Continues a run that was killed or failed, as if it had never stopped.

    On the same machine with the same number of threads the final weights are the same
    to the last bit. A run that is done is returned as it is.

    Args:
        folder: of the run.
        watch: called after every step, to show progress.
        changed_task: whether to go on although the file of the run's task has changed.

    Raises:
        HeadwayError: if there is no such run, its device is not available or too small,
            its task has changed, another process is writing to it, or the state to
            resume from is missing, damaged or of another model.
    """
    run = Run.open(folder)
    if run.status == "done":
        run.metrics()
    else:
        require_device(run.config.device)
        require_size(run.config)
        if run.changed and not changed_task:
            what = (
                "put the file back as it was,"
                " or resume with changed_task to go on with the task"
            )
            raise HeadwayError(f"{run.folder}: {run.changed}: {what} as it is")
        fit(run, watch)
    return run


def fit(run: Run, watch: Watch | None = None) -> None:
    """Trains a run to its end, from where it is.

    Raises:
        HeadwayError: as `train` and `resume` do.
    """
    with run.writing(*run.of_training()):
        if run.status == "done":  # by another process, meanwhile
            return
        with run.computing():
            try:
                Trainer.restored(run).fit(watch)
            except KeyboardInterrupt as stop:
                stop.add_note(
                    f"continue with: {command('train', '--resume', run.folder)}"
                )
                raise


def saved_state(path: Path, config: TrainingConfig) -> State:
    """The state that was saved with weights and optimisers, which are not read for it.

    Raises:
        HeadwayError: if there is none, or it is of a step that training does not come
            to.
    """
    state = found_in(State, read_header(path).about, str(path))
    allowed = f"at most training.steps = {config.steps}"
    require(
        state.step <= state.end <= config.steps, f"{path}: step", state.step, allowed
    )
    return state


class Trainer:
    """A run while it is trained: all that changes, the data, and the loop.

    Losses stay on the device until something is due, as reading one waits for the
    device. A loss that is no number is found then, before any checkpoint that it spoilt
    is kept.

    Args:
        run: the run.
        state: that of an attempt before its first step.

    Attributes:
        run: the run.
        config: how it is trained.
        precision: of its matrix products.
        validation: the sequences that it is evaluated on.
        learnt_from: sequences of its fixed training set that it is evaluated on; None
            without one.
        state: how far training is.
        model: that learns.
        optimisers: that move its weights.
        batches: that it learns from.
        passes: that give a batch's loss and its gradients; recorded on a CUDA device.
    """

    def __init__(self, run: Run, state: State):
        self.run = run
        self.config = run.config.training
        self.device = torch.device(run.config.device)
        self.precision = resolved(self.config.precision, self.device)
        self._unread: list[Tensor] = []
        self._clock = time.perf_counter()
        self.validation = self.held_out("held-out")
        self.learnt_from = self.of_training_set()
        self.start(state)

    def start(self, state: State) -> None:
        """Starts an attempt. Every attempt starts from weights and data of its own."""
        self.state = state
        self.model = self.run.new_model(self.run.config.device, len(state.given_up))
        self._learning = self.config.curriculum.learning(self.model)
        self.optimisers = Optimisers(self.model, self.config, self.precision)
        self.passes: Passes = self.computed
        if (
            self.device.type == "cuda" and not self.config.clamped
        ):  # which differs by the batch
            self.passes = Recorded(self.computed, self.model)
        self.batches = Stream(self.run.config, len(state.given_up))

    @classmethod
    def restored(cls, run: Run) -> "Trainer":
        """A run as it was last saved, or before its first step. Changes nothing.

        Raises:
            HeadwayError: if something in the run's folder that is needed to go on is
                missing or damaged.
        """
        run.sessions()
        config = run.config.training
        path = run.folder / STATE
        if not is_there(path):
            if max(run.checkpoint_steps(), default=0) > config.save_every:
                raise HeadwayError(
                    f"{path} is missing: cannot resume; its checkpoints are kept"
                )
            return cls(run, State.at_start(config))
        trainer = cls(run, saved_state(path, config))
        if odd := trainer.misfits(read_header(path).shapes):
            raise HeadwayError(
                f"{path} does not fit the model in config.json: {odd[0]}"
            )
        trainer.load(path)
        trainer.require_evaluated()
        return trainer

    def load(self, path: Path) -> None:
        """Puts back the weights and what the optimisers remember, which must fit.

        Raises:
            HeadwayError: if a value is no finite number.
        """
        tensors, _ = read_tensors(path)
        for name, tensor in tensors.items():
            if tensor.is_floating_point() and not tensor.isfinite().all():
                raise HeadwayError(
                    f"{path}: {name} holds a value that is no finite number"
                )
        if self.state.step > 0:
            model = {n[6:]: t for n, t in tensors.items() if n.startswith("model.")}
            self.model.load_state_dict(model)
            self.optimisers.load(tensors)

    def misfits(self, shapes: Mapping[str, tuple[int, ...]]) -> list[str]:
        """The names of saved tensors that are missing, too many or of another shape."""
        kept = self.model.state_dict(prefix="model.")
        wanted = {name: tuple(weight.shape) for name, weight in kept.items()}
        if self.state.step > 0:
            wanted |= self.optimisers.shapes()
        return sorted(name for name, _ in wanted.items() ^ shapes.items())

    def require_evaluated(self) -> None:
        """Makes sure that the run has every evaluation that was due so far.

        Raises:
            HeadwayError: if one is missing.
        """
        now = self.state.step
        every = self.config.eval_every
        made = {line["step"] for line in self.run.evaluations(now)}
        due = range(every, now + 1, every)
        is_last = now == self.state.end and now > 0 and now not in due
        count = len(due) + is_last
        lacking = count - sum(step in due or (is_last and step == now) for step in made)
        if lacking:  # the first of them stands among as many as were made, and one
            first = next(step for step in chain(due, [now]) if step not in made)
            told = f"lacks {lacking} of {count} evaluations, of step {first} on"
            where = f"{self.run.folder}/metrics.jsonl"
            raise HeadwayError(f"{where} {told}: cannot resume to a whole run")

    def fit(self, watch: Watch | None = None) -> None:
        """The loop: steps to the end, and whatever is due after each.

        Raises:
            DivergedError: if the loss stops being a number; the run has ended as failed
                then.
        """
        run = self.run
        self.begin()
        try:
            while self.state.step < self.state.end:
                if self.state.step == 0:
                    run.save_checkpoint(0, self.model.state_dict())
                ask, batch = self.batches.asked(self.state.step + 1, self.state.stage)
                self.after(self.step(ask, batch), watch)
            self.finish()
        except DivergedError as error:
            raise self.fail(error) from None

    def step(self, ask: Ask, batch: Batch) -> Tensor:
        """Makes one step, on a batch of what the curriculum asks for.

        Returns:
            The loss before it, on the device.
        """
        state = self.state
        scale = state.rate_scale(self.config, state.step + 1)
        loss = self.passes(ask, batch)
        with self._learning(state.step) as factor:
            self.optimisers.step(scale * factor)
        state.step += 1
        return loss

    def computed(self, ask: Ask, batch: Batch) -> Tensor:
        """The loss of a batch; its gradients are left on the weights."""
        self.model.zero_grad()
        tap = blocked(self.run.config, self.run.task, batch, self.state.step + 1)
        # Not every backend has an autocast to be off.
        casts = self.precision == "bfloat16"
        with (
            torch.autocast(self.device.type, torch.bfloat16) if casts else nullcontext()
        ):
            loss = self.config.curriculum.loss(
                self.model, self.run.task.targets, batch, ask, tap
            )
        loss.backward()
        return loss.detach()

    def begin(self) -> None:
        """Lets the run go on from here; what was written later is forgotten."""
        config = self.run.config
        state = self.state
        environment = describe_environment(config.device, config.threads)
        environment["precision"] = self.precision
        if self.run.changed:
            environment["task_changed"] = self.run.changed
        sessions = [environment]
        if state.step > 0 or state.given_up:
            sessions = [*self.run.sessions(), {**environment, "from_step": state.step}]
        self.run.rewind(state.step)
        self.run.write("environment.json", sessions)
        self._clock = time.perf_counter()

    def after(self, loss: Tensor, watch: Watch | None) -> None:
        """Does what is due: losses, evaluation, weights, state, a new attempt.

        Raises:
            DivergedError: if a loss is no number.
        """
        run = self.run
        state = self.state
        config = self.config
        self._unread.append(loss)
        every = (config.eval_every, config.save_every)
        metrics = None
        known = list[float]()
        if state.is_checkpoint(config) or any(map(state.is_due, every)):
            known = torch.stack(self._unread).tolist()
            self._unread = []
        before = self._clock
        self._clock = time.perf_counter()
        state.seconds += self._clock - before
        state.add_losses(known)
        if state.is_due(config.eval_every):
            metrics = state.add_evaluation(config, self.evaluated())
            run.append_metrics(metrics)
            if self.is_stage_over():
                state.stage += 1
                state.learnt = 0
                state.learnt_at = state.step
        if state.is_checkpoint(config):
            run.save_checkpoint(state.step, self.model.state_dict())
        full_from = config.curriculum.full_from(self.batches.task)
        is_stuck = metrics is not None and state.is_stuck(
            config, run.task.n_hops, full_from
        )
        if state.is_due(config.save_every) and not is_stuck:
            self.save()
        if watch is not None:
            watch(run, state.step, state.end, metrics)
        if metrics is not None and is_stuck:
            self.give_up(metrics)

    def held_out(self, purpose: str) -> Batch:
        """The run's sequences for a purpose: `held-out`, or `test` at its end."""
        config = self.run.config
        count = self.config.eval_examples
        return held_out(
            self.run.task, count, config.seed, config.device, purpose, config
        )

    def of_training_set(self) -> Batch | None:
        """Sequences of the fixed training set, if any, as many as are held out."""
        if (known := training_set(self.run.config)) is None:
            return None
        first = [
            drawn[: self.config.eval_examples].to(self.device) for drawn in known.draws
        ]
        return self.run.task.assemble(tuple(first))

    def evaluated(self) -> dict[str, Any]:
        """The scores on held-out sequences and on a fixed training set, if any."""
        evaluation = self.scores(self.model, self.run.task, self.validation)
        if self.learnt_from is not None:
            scores = self.scores(self.model, self.run.task, self.learnt_from)
            evaluation["training_set"] = {"loss": scores.pop("val_loss"), **scores}
        return evaluation

    def is_stage_over(self) -> bool:
        """Tell whether the model has learnt the present stage of its curriculum."""
        config = self.run.config
        task = self.batches.task
        if (judged := self.config.curriculum.judged(self.state.stage, task)) is None:
            return False
        ask, below = judged
        generator = generator_for(config.device, config.seed, "stage")
        batch = batch_of(task, task.draw(STAGE_EXAMPLES, generator), ask)
        reader = partial(self.model, layers=ask.layers)
        losses = self.scores(reader, task, batch)["partial"]
        return max(losses.values()) < below

    def scores(self, model: Reader, task: Task, batch: Batch) -> dict[str, Any]:
        """The scores of a batch (see `scores`), with the clamps of a step."""
        config = self.run.config
        step = self.state.step
        return scores(
            model, task, batch, lambda part: blocked(config, task, part, step)
        )

    def save(self) -> None:
        """Saves all that the run resumes from."""
        tensors = {**self.model.state_dict(prefix="model."), **self.optimisers.state()}
        write_tensors(self.run.owned(STATE), tensors, vars(self.state))

    def give_up(self, metrics: dict[str, Any]) -> None:
        """Gives an attempt up at its last evaluation and starts the next.

        A kill leaves one or the other.
        """
        attempt = {"step": self.state.step, "partial": metrics["partial"]}
        before = [*self.state.given_up, attempt]
        state = State.at_start(self.config, before, self.state.seconds)
        self.start(state)
        self.save()
        self.run.rewind(0)

    def finish(self) -> None:
        """Records that the run is done.

        When to stop was decided on the validation sample, so the end is judged on
        another.

        Raises:
            DivergedError: if the loss on that is no number.
        """
        loss = self.scores(self.model, self.run.task, self.held_out("test"))["val_loss"]
        self.state.require_number(loss)
        self._end(test_loss=loss)

    def fail(self, error: DivergedError) -> DivergedError:
        """Records that the run diverged; drops checkpoints of useless weights.

        Returns:
            The error, which now tells what is left.
        """
        kept = self.run.checkpoint_steps()
        good = [step for step in kept if step < self.state.step]
        for spoilt in kept[len(good) :]:
            self.run.drop_checkpoint(spoilt)
        last = (
            f"the last good checkpoint is step {good[-1]}"
            if good
            else "no checkpoint is good"
        )
        message = f"{error}; {last} in {self.run.folder}"
        self._end(message)
        return DivergedError(message)

    def _end(self, message: str | None = None, **figures: float) -> None:
        state = self.state
        seconds = round(self.state.seconds, 3)
        self.run.end(
            message,
            step=state.step,
            seconds=seconds,
            given_up=state.given_up,
            **figures,
        )
