"""The data of a run: every batch is a pure function of the seed and the step.

A run that is plainly too large for the machine is refused at once, by a rough check of sizes.
"""

import os
from dataclasses import replace

import torch
from torch import Tensor

from headway.errors import HeadwayError
from headway.models import TransformerConfig
from headway.tasks import Batch, Task
from headway.tasks.checking import require_sound
from headway.training.config import RunConfig
from headway.training.curriculum import Ask
from headway.training.environment import generator_for
from headway.training.files import clear_errors

FLOAT = 4
"""Bytes of a number in single precision."""


def held_out(task: Task, count: int, seed: int, device: str, purpose: str = "held-out") -> Batch:
    """`count` sequences that no training step of the run with this seed sees.

    Different purposes give independent samples, so that what was tuned on one can be checked on
    another.

    Raises:
        HeadwayError: if they cannot fit into memory, or the task is a user's and cannot be used.
    """
    require_sound(task)
    numbers = task.length * task.d_input + task.n_read * task.d_target
    require_bytes(FLOAT * count * numbers, f"{count} {purpose} sequences (task.*)", device)
    return task.sample(count, generator_for(device, seed, purpose))


def batch_of(task: Task, draws: tuple[Tensor, ...], ask: Ask) -> Batch:
    """The sequences that a curriculum asks for, laid out; draws are those of the full depth."""
    if ask.depth is None:
        batch = task.assemble(draws)
    else:
        batch = task.shallower(draws, ask.depth, *([ask.shift] if ask.shift else []))
    if ask.hops is None:
        return batch
    if [*ask.hops] == [*range(len(ask.hops))]:
        return replace(batch, targets=batch.targets[:, :, : len(ask.hops)])
    rest = [hop for hop in range(task.n_hops) if hop not in ask.hops]
    return replace(batch, targets=task.targets.leaving_out(batch.targets, rest))


class Stream:
    """The training batches of a run, reachable by step in any order, so resuming needs no state.

    Either fresh sequences at every step, or a fixed set walked through in an order that is
    shuffled anew every epoch (the last, incomplete batch of an epoch is left out); at the depth
    and with the hops that the curriculum says.

    Args:
        config: of the run.
        attempt: which attempt of the run it is, from 0 (see `TrainingConfig.patience`); each has
            its own data.
    """

    def __init__(self, config: RunConfig, attempt: int = 0):
        self.curriculum = config.training.curriculum
        self.task = self.curriculum.taught(config.task)
        self.size, self.device = config.training.batch_size, config.device
        self.seed = config.seed if attempt == 0 else f"{config.seed}.{attempt}"
        self._set: tuple[Tensor, ...] | None = None
        if (count := config.training.train_examples) is not None:
            self._set = self.task.draw(count, generator_for(self.device, self.seed, "set"))
            self._per_epoch = count // self.size
            self._epoch, self._shuffle = -1, torch.empty(0)

    def asked(self, step: int, stage: int = 0) -> tuple[Ask, Batch]:
        """The demands of a step (from 1) in a stage of the curriculum, and its batch."""
        ask = self.curriculum.ask(step, stage, self.task, self.seed)
        return ask, batch_of(self.task, self.draws(step), ask)

    def batch(self, step: int, stage: int = 0) -> Batch:
        """The batch of a step."""
        return self.asked(step, stage)[1]

    def draws(self, step: int) -> tuple[Tensor, ...]:
        """The random draws of the batch of a step."""
        if self._set is None:
            return self.task.draw(self.size, generator_for(self.device, self.seed, "step", step))
        epoch, index = divmod(step - 1, self._per_epoch)
        if epoch != self._epoch:
            shuffle = generator_for(self.device, self.seed, "epoch", epoch)
            count = len(self._set[0])
            self._shuffle = torch.randperm(count, generator=shuffle, device=self.device)
            self._epoch = epoch
        rows = self._shuffle[index * self.size : (index + 1) * self.size]
        return tuple(drawn[rows] for drawn in self._set)


def require_size(config: RunConfig) -> None:
    """Refuses runs that cannot fit into the memory of their device, empty as it may be.

    Counted are the weights with gradients and optimiser, what a batch leaves in every layer, and
    the sequences that are held.

    Args:
        config: of a run.

    Raises:
        HeadwayError: if they are larger.
    """
    model, training, task = config.model, config.training, config.task
    if not isinstance(model, TransformerConfig):
        return
    weights = n_weights(model, task)
    inner = 4 * model.n_heads * model.head_width + 2 * model.mlp_width
    layer = task.length * (4 * model.d_model + inner + model.n_heads * task.length)
    step = 4 * weights + training.batch_size * layer * model.n_layers
    examples = training.eval_examples + (training.train_examples or 0)
    held = examples * (task.length + task.n_read * task.d_target)
    fields = "model.*, task.*, training.batch_size, training.train_examples, training.eval_examples"
    require_bytes(FLOAT * (step + held), f"training ({fields})", config.device)


def require_bytes(needed: int, what: str, device: str) -> None:
    """Refuses what takes more bytes than a device has; where that is unknown, nothing.

    Raises:
        HeadwayError: what is too large, and by which fields.
    """
    has = _memory(device)
    if has is not None and needed > has:
        raise HeadwayError(
            f"{what} would take about {needed >> 20:,} MiB, and {device} has {has >> 20:,} MiB:"
            " make it smaller"
        )


def n_weights(model: TransformerConfig, task: Task) -> int:
    """The numbers in a transformer's matrices, which are nearly all, without building it.

    Raises:
        HeadwayError: if the task is a user's and cannot be used, or lays out no sequence, as one of
            its sizes is beyond what there can be.
    """
    require_sound(task)
    with clear_errors("task.*: no sequence can be laid out:"):
        task.sample(2, torch.Generator().manual_seed(0))
    block = 4 * model.n_heads * model.head_width + 2 * model.mlp_width
    placed = task.vocabulary is not None and model.positions == "learned"
    ends = (task.vocabulary or task.d_input) + placed * task.length + task.d_target
    return model.d_model * (ends + model.n_layers * block)


def _memory(device: str) -> int | None:
    """The bytes that a device has in all."""
    if device.startswith("cuda") and torch.cuda.is_available():
        return torch.cuda.mem_get_info(device)[1]
    if device == "cpu" and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None
