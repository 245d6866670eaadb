"""The data of a run: every batch is a function of seed, attempt, step and stage."""

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headway.errors import HeadwayError
from headway.tasks import Batch, Task
from headway.tasks.checking import require_sound
from headway.training.config import Elsewhere, RunConfig
from headway.training.curriculum import Ask
from headway.training.environment import generator_for
from headway.training.files import clear_errors
from headway.training.size import require_room

if TYPE_CHECKING:
    from headway.training.fixed_set import TrainingSet


def held_out(
    task: Task,
    count: int,
    seed: int,
    device: str,
    purpose: str = "held-out",
    trained_by: RunConfig | None = None,
) -> Batch:
    """`count` sequences that no training step of the run with this seed sees.

    Different purposes give independent samples, so that what was tuned on one can be
    checked on another.

    Args:
        task: that lays them out.
        count: how many.
        seed: that they are drawn from.
        device: that they are on.
        purpose: what they are for, in a word.
        trained_by: the config of the run whose fixed training set, if it has one, they
            are apart from. (Fresh sequences of a step are other draws; those of a small
            task may repeat.)

    Raises:
        HeadwayError: if they cannot fit into memory, the task is a user's and cannot be
            used, or the training set leaves no sequence to hold out.
    """
    require_sound(task)
    numbers = task.length * task.d_input + task.n_read * task.d_target
    require_room(count * numbers, f"{count} {purpose} sequences (task.*)", device)
    generator = generator_for(device, seed, purpose)
    known = None if trained_by is None else training_set(trained_by)
    with clear_errors(f"task = {task.kind!r} raises"):
        if known is None:
            return in_shape(task, task.sample_for(purpose, count, generator))
        draws = known.draws_apart(task, count, generator)
    if draws is None:
        raise HeadwayError(
            f"training.train_examples = {len(known)} is not allowed:"
            " it must be smaller,"
            f" as nearly every sequence of task {task.kind!r} is in the training set,"
            " and too few are left to hold out"
        )
    return in_shape(task, task.assemble(draws))


def training_set(config: RunConfig) -> "TrainingSet | None":
    """The fixed training set of a run; None if its sequences are fresh at every step.

    All attempts of a run have the same, and it is the same on every device.

    Raises:
        HeadwayError: if the task has hardly any more sequences, or so many cannot fit
            into memory.
    """
    training = config.training
    if isinstance(training, Elsewhere) or training.train_examples is None:
        return None
    from headway.training.fixed_set import drawn_set  # few runs have one

    return drawn_set(
        training.curriculum.taught(config.task), training.train_examples, config.seed
    )


def in_shape(task: Task, batch: Batch) -> Batch:
    """A batch of whole sequences as it is.

    Raises:
        HeadwayError: if its shape is not that of the task's other batches, or, on the
            CPU, a token is none of the vocabulary: a fault that is too rare for
            `check_task` to meet.
    """
    known = task.length, task.n_read, task.n_hops
    sizes = batch.inputs.shape[1], *batch.targets.shape[1:3]
    if sizes != known:
        named = "{} positions, {} queries and {} hops"
        raise HeadwayError(
            f"{type(task).__name__}.draw: a batch has {named.format(*sizes)},"
            f" where others have {named.format(*known)}: all must be of one shape"
        )
    if task.vocabulary is not None and batch.inputs.device.type == "cpu":
        most = task.vocabulary - 1
        for token in (int(batch.inputs.max()), int(batch.inputs.min())):
            if not 0 <= token <= most:
                what = f"inputs hold {token}: it must be 0 to {most}"
                raise HeadwayError(f"{type(task).__name__}.assemble: {what}")
    return batch


def require_held_out(config: RunConfig) -> None:
    """Makes sure that a fixed training set can be drawn, and leaves others.

    Raises:
        HeadwayError: if the task has too few different sequences.
    """
    if config.training.train_examples is not None:
        task = config.training.curriculum.view(config.task)
        count = config.training.eval_examples
        held_out(task, count, config.seed, config.device, trained_by=config)


def batch_of(task: Task, draws: tuple[Tensor, ...], ask: Ask) -> Batch:
    """The sequences that a curriculum asks for; draws are of the full depth."""
    if ask.depth is None:
        batch = task.assemble(draws)
    else:
        earlier = [ask.shift] if ask.shift else []
        batch = task.shallower(draws, ask.depth, *earlier)
    if ask.hops is None:
        return batch
    count = len(ask.hops)
    if list(ask.hops) == list(range(count)):
        targets = batch.targets[:, :, :count]
    else:
        rest = [hop for hop in range(task.n_hops) if hop not in ask.hops]
        targets = task.targets.leaving_out(batch.targets, rest)
    return replace(batch, targets=targets)


class Stream:
    """A run's training batches, by step in any order, so without state.

    Either fresh sequences at every step, or a fixed set walked through in an order that
    is shuffled anew every epoch (the last, incomplete batch of an epoch is left out);
    at the depth and with the hops that the curriculum says.

    Args:
        config: of the run.
        attempt: which attempt of the run it is, from 0 (see `TrainingConfig.patience`);
            each has its own fresh sequences, or its own order of the fixed set.
    """

    def __init__(self, config: RunConfig, attempt: int = 0):
        self.curriculum = config.training.curriculum
        self.task = self.curriculum.taught(config.task)
        self.size = config.training.batch_size
        self.device = config.device
        self.seed = config.seed if attempt == 0 else f"{config.seed}.{attempt}"
        self._set: tuple[Tensor, ...] | None = None
        if (known := training_set(config)) is not None:
            self._set = tuple(drawn.to(self.device) for drawn in known.draws)
            self._per_epoch = len(known) // self.size
            self._epoch = -1
            self._shuffle = torch.empty(0)

    def asked(self, step: int, stage: int = 0) -> tuple[Ask, Batch]:
        """The demands of a step (from 1) in a stage, and its batch."""
        ask = self.curriculum.ask(step, stage, self.task, self.seed)
        with clear_errors(f"task = {self.task.kind!r}, at step {step}, raises"):
            batch = batch_of(self.task, self.draws(step), ask)
        if ask.depth is None and ask.hops is None:
            in_shape(self.task, batch)
        return ask, batch

    def draws(self, step: int) -> tuple[Tensor, ...]:
        """The random draws of the batch of a step."""
        if self._set is None:
            generator = generator_for(self.device, self.seed, "step", step)
            return self.task.draw(self.size, generator)
        epoch, index = divmod(step - 1, self._per_epoch)
        if epoch != self._epoch:
            shuffle = generator_for(self.device, self.seed, "epoch", epoch)
            count = len(self._set[0])
            self._shuffle = torch.randperm(count, generator=shuffle, device=self.device)
            self._epoch = epoch
        rows = self._shuffle[index * self.size : (index + 1) * self.size]
        return tuple(drawn[rows] for drawn in self._set)
