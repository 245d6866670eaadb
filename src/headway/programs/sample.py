"""Sequences with a model's answers, as a program gives them."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headway.errors import require
from headway.programs.expressions import Array, Input, Tokens
from headway.replace.ablation import Bench, Replaced
from headway.tasks import Batch, Task
from headway.tasks import Tokens as TokenTargets

Answers = Int[np.ndarray, "sequence position hop"]


@dataclass(frozen=True)
class Sample:
    """A model on sequences.

    Attributes:
        bench: the model and its sequences.
        how: how a program sees what the model reads.
        inputs: what the model reads.
        asked: where a hop is asked.
    """

    bench: Bench
    how: Input
    inputs: Array
    asked: Bool[np.ndarray, "sequence position hop"]

    @classmethod
    def of(cls, bench: Bench) -> "Sample":
        """The sequences of a bench.

        Raises:
            HeadwayError: if answers are neither tokens nor symbols of the sequence.
        """
        task, batch = bench.task, bench.batch
        padding = batch.inputs[bench.patterns.padding].flatten()[:1].tolist()
        ahead = not bench.patterns.causal
        how = Input(ahead, _width(task, batch), *map(int, padding))
        asked = task.targets.asked(batch.targets)
        inputs = batch.inputs.cpu().numpy()
        read = _at_the_end(asked.cpu().numpy(), task, False)
        return cls(bench, how, inputs, read)

    @property
    def tokens(self) -> Tokens:
        """Tokens by number; of vectors a number for every symbol."""
        return self.how.tokens(self.inputs)

    @property
    def matters(self) -> Bool[np.ndarray, "sequence position"]:
        """Positions up to the last that is asked, without a first one that is not
        asked and the same in all sequences.
        """
        is_asked = np.any(self.asked, 2)[:, ::-1]
        later = np.maximum.accumulate(is_asked, 1)
        matters = later[:, ::-1].copy()
        first = self.inputs[:, 0]
        if (first == first[0]).all() and not self.asked[:, 0].any():
            matters[:, 0] = False
        return matters

    def answers(self, replaced: Replaced | None = None) -> Answers:
        """The model's answers, with mechanisms in the place of heads.

        An answer that is a vector is the nearest symbol of the sequence.
        """
        bench = self.bench
        outputs = bench.outputs([replaced or {}])[0]
        targets = bench.task.targets
        told = targets.answers(outputs, bench.batch.targets)
        is_vector = bool(self.how.width)
        said = self._nearest(told) if is_vector else told[..., 0].cpu().numpy()
        return _at_the_end(said, bench.task, -1)

    def _nearest(self, told: Tensor) -> Answers:
        vectors = torch.from_numpy(self.inputs[..., : self.how.width])
        flat = told.flatten(1, 2).float().cpu()
        places = torch.cdist(flat, vectors).argmin(-1)
        known = torch.from_numpy(self.tokens)
        return known.gather(1, places).view(told.shape[:3]).numpy()


def _width(task: Task, batch: Batch) -> int:
    """The numbers of a vector that are its symbol; 0 of tokens."""
    if task.vocabulary is not None:
        is_token = isinstance(task.targets, TokenTargets)
        require(is_token, "task", task.kind, "one whose answers are tokens")
        return 0
    width = batch.targets.shape[-1]
    fits = batch.targets.ndim == 4 and 1 < width <= batch.inputs.shape[-1]
    allowed = "of tokens, or of vectors whose first numbers are a symbol"
    require(fits, "task", task.kind, allowed)
    return width


def _at_the_end(read: Array, task: Task, other: int) -> Array:
    """Values at the queries of sequences, padded at the positions before."""
    before = task.length - read.shape[1]
    return np.pad(read, ((0, 0), (before, 0), (0, 0)), constant_values=other)
