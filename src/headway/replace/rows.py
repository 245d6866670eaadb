"""Rows that matter: those of a head's attention that move the answers.

This is measured, one row at a time.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headway.models import Tap, Tappable, Transformer, attention_patterns
from headway.replace.ablation import heads_of
from headway.replace.heads import Head
from headway.replace.patterns import as_it_is
from headway.tasks import Batch, Task

MOST_VECTORS = 2**21
"""Stream vectors (one position of one sequence after one layer) that are computed at
most. Of larger models every sequence tries some of its rows."""


@torch.no_grad()
def measured_weights(
    model: Tappable, task: Task, batch: Batch, heads: Sequence[Head] | None = None
) -> Float[Tensor, "sequence layer head query"]:
    """The weight of every row of attention; the rows of a head are 1 together.

    A row weighs as much as the outputs move if it alone is changed to the mean of the
    head's rows at its place. A row that attends by place is that mean, which then shows
    nothing of what depends on it. So, as far as a row is its mean, what zeros move
    counts if that is more.

    Args:
        model: of any kind that has a tap.
        task: that it was trained on.
        batch: sequences.
        heads: whose rows are weighed, by default all; those of others weigh nothing.
    """
    own = attention_patterns(model, batch.inputs)
    weights = own.new_zeros(own.shape[:-1])
    chosen = heads_of(model) if heads is None else heads
    sequences, length = batch.inputs.shape[:2]
    passes = 2 * len(chosen) * own.shape[-2]
    vectors = passes * sequences * length * model.n_layers
    outputs = Outputs(model, task, batch, turns=math.ceil(vectors / MOST_VECTORS))
    for head in chosen:
        weights[:, *head] = outputs.moved(head, own[:, *head])
    total = weights.sum((0, 3), keepdim=True)
    return weights / total.clamp(min=torch.finfo(weights.dtype).tiny)


class Outputs:
    """Outputs, and how far they move when rows of attention are replaced.

    Args:
        model: of any kind that has a tap.
        task: that it was trained on.
        batch: sequences.
        turns: every sequence tries one row in so many, by default all; the others count
            as if they moved nothing.
    """

    def __init__(self, model: Tappable, task: Task, batch: Batch, turns: int = 1):
        self.model, self.task, self.batch, self.turns = model, task, batch, turns
        self._streams = list[Tensor]()
        if isinstance(model, Transformer):
            # Below a layer whose rows are replaced streams are the model's own.
            inputs = batch.inputs
            self._streams = [model.embedded(inputs), *model.streams(inputs, as_it_is)]
        self.intact = self._numbers(0, as_it_is)

    def moved(
        self, head: Head, own: Float[Tensor, "sequence query key"]
    ) -> Float[Tensor, "sequence query"]:
        """The weight of every row of a head, given its own attention."""
        mean = own.mean(0)
        by_mean = self.moved_by(head, mean)
        by_zero = self.moved_by(head, torch.zeros_like(mean))
        by_place = own.minimum(mean).sum(-1)
        return by_mean.maximum(by_place * by_zero)

    @torch.no_grad()
    def moved_by(
        self, head: Head, instead: Float[Tensor, "query key"]
    ) -> Float[Tensor, "sequence query"]:
        """The distance that outputs move when each row of a head is replaced."""
        sequences = len(self.batch.inputs)
        each = torch.arange(sequences, device=instead.device)
        every_row = torch.arange(len(instead), device=instead.device)
        moved = instead.new_zeros(sequences, len(instead))
        for first in range(self._first_read(head), len(instead), self.turns):
            row = first + each % self.turns
            is_tried = row[:, None] == every_row
            distances = self._distances(head[0], _replacing(head, is_tried, instead))
            moved = torch.where(is_tried, distances[:, None], moved)
        # Without a row, some models divide by zero.
        return moved.where(moved.isfinite(), 0.0)

    def _first_read(self, head: Head) -> int:
        """The first row of a head that any answer can depend on.

        In the last layer of a `Transformer` only positions that are read attend to any
        effect.
        """
        is_last = head[0] == self.model.n_layers - 1
        if not is_last or not isinstance(self.model, Transformer):
            return 0
        return self.batch.inputs.shape[1] - self.batch.targets.shape[1]

    def _distances(self, layer: int, tap: Tap) -> Float[Tensor, " sequence"]:
        asked = self.task.targets.asked(self.batch.targets)
        moved = self._numbers(layer, tap) - self.intact
        squares = moved.square().sum(-1).where(asked, 0.0)
        return squares.sum((1, 2)).sqrt()

    def _numbers(
        self, layer: int, tap: Tap
    ) -> Float[Tensor, "sequence query hop number"]:
        """The answers with a tap that changes nothing below a layer."""
        if isinstance(self.model, Transformer):
            outputs = self.model.onward(self._streams[layer], layer, tap)
        else:
            outputs = self.model(self.batch.inputs, tap)
        read = outputs[:, -self.batch.targets.shape[1] :]
        return self.task.targets.numbers(read, self.batch.targets)


def _replacing(
    head: Head,
    cells: Bool[Tensor, "sequence query"],
    instead: Float[Tensor, "query key"],
) -> Tap:
    """The tap that replaces some rows of a head."""

    def tap(layer: int, pattern: Tensor) -> Tensor:
        if layer == head[0]:
            pattern = pattern.clone()
            own = pattern[:, head[1]]
            pattern[:, head[1]] = torch.where(cells[..., None], instead, own)
        return pattern

    return tap
