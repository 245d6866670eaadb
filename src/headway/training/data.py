"""The data of a run: every batch is a pure function of the seed and the step."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from headway.tasks import UNASKED, Batch, Retrieval, Task
from headway.training.config import TrainingConfig


def seed_of(*purpose: object) -> int:
    """A seed that depends on every word of `purpose` and nothing else.

    It has 32 bits: a generator on the CPU takes no more notice of a longer one.
    """
    words = "/".join(map(str, purpose)).encode()
    return int.from_bytes(hashlib.blake2b(words, digest_size=4).digest(), "big")


def generator_for(device: str, *purpose: object) -> torch.Generator:
    """A generator on `device` whose stream depends on every word of `purpose` and nothing else."""
    return torch.Generator(device).manual_seed(seed_of(*purpose))


def held_out(task: Task, count: int, seed: int, device: str, purpose: str = "held-out") -> Batch:
    """`count` sequences that no training step of the run with this seed sees.

    Different purposes give independent samples, so that what was tuned on one can be checked on
    another.
    """
    return task.sample(count, generator_for(device, seed, purpose))


class Stream:
    """The training batches of a run, reachable by step in any order, so resuming needs no state.

    Either fresh sequences at every step, or a fixed set walked through in an order that is
    shuffled anew every epoch (the last, incomplete batch of an epoch is left out); of their full
    depth or of less, and with all their targets or some, as `TrainingConfig` says (`depths`,
    `targets`, `supervise`).
    """

    def __init__(
        self, task: Task, config: TrainingConfig, seed: int, device: str, attempt: int = 0
    ):
        if config.supervise == "layers" and isinstance(task, Retrieval):
            task = Retrieval(replace(task.config, curriculum=True), device)
        self.task, self.size, self.device = task, config.batch_size, device
        self.config = config
        self._deepest = task.n_depths
        self.seed = seed if attempt == 0 else f"{seed}.{attempt}"
        self._set: tuple[Tensor, ...] | None = None
        if config.train_examples is not None:
            self._set = task.draw(config.train_examples, generator_for(device, self.seed, "set"))
            self._per_epoch = config.train_examples // config.batch_size
            self._epoch, self._shuffle = -1, torch.empty(0)

    def batch(self, step: int) -> Batch:
        """The batch of a step (from 1)."""
        draws, depth, asked = self.draws(step), self.depth(step), self.asked(step)
        batch = self.task.assemble(draws, depth)
        if asked is None:
            return batch
        if batch.targets.is_floating_point():
            return replace(batch, targets=batch.targets[:, :, asked], asked=asked)
        rest = [hop for hop in range(self.task.n_hops) if hop not in asked]
        targets = batch.targets.clone()
        targets[:, :, rest] = UNASKED
        return replace(batch, targets=targets)

    def depth(self, step: int) -> int | None:
        """The hops of the sequences at a step; none if all that the task has."""
        if self.config.depths == "rising":
            return self._stage(step, self._deepest)
        if self.config.depths == "mixture":
            return 1 + seed_of(self.seed, "depth", step) % self._deepest
        return None

    def asked(self, step: int) -> tuple[int, ...] | None:
        """The hops that count at a step, by index; none if all that the sequences have."""
        hops = range(self.task.n_hops)
        if self.config.targets == "random":
            return (seed_of(self.seed, "target", step) % len(hops),)
        if self.config.targets == "rising":
            return tuple(hops[: self._stage(step, len(hops))])
        if self.config.targets == "falling":
            return tuple(hops[-self._stage(step, len(hops)) :])
        return None

    def _stage(self, step: int, last: int) -> int:
        return min(last, 1 + (step - 1) // self.config.rising_every)

    @property
    def full_from(self) -> int:
        """The last step before the first that may have all hops."""
        if self.config.depths == "rising":
            return (self._deepest - 1) * self.config.rising_every
        if self.config.targets in ("rising", "falling"):
            return (self.task.n_hops - 1) * self.config.rising_every
        return 0

    def draws(self, step: int) -> tuple[Tensor, ...]:
        """All that is random about the batch of a step."""
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


def joined(streams: Sequence[Stream], steps: Sequence[int]) -> Batch:
    """The batches of several streams of one task, each at its step, one after the other.

    They are drawn one by one, and laid out all at once, at their full depth.
    """
    if len(streams) == 1:
        return streams[0].batch(steps[0])
    draws = [stream.draws(step) for stream, step in zip(streams, steps, strict=True)]
    return streams[0].task.assemble(tuple(torch.cat(parts) for parts in zip(*draws, strict=True)))
