"""Where a head matters: the rows of its attention that move the answers when they are changed.

This is measured, one row at a time. (The blind reader, which compares many relations, has weights
of its own, to first order: `reading.row_weights`.)
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from headway.circuits.ablation import heads_of
from headway.circuits.mechanism import Head
from headway.circuits.patterns import as_it_is
from headway.models import Tap, Tappable, attention_patterns
from headway.tasks import Batch, Task

MOST_VECTORS = 2**21
"""Stream vectors (one position of one sequence after one layer) that are computed at most. Of
larger models every sequence tries some of its rows."""


@torch.no_grad()
def measured_weights(
    model: Tappable, task: Task, batch: Batch, heads: Sequence[Head] | None = None
) -> Float[Tensor, "sequence layer head query"]:
    """The weight of every row of attention; the rows of a head are 1 together.

    A row weighs as much as the outputs move if it alone is changed to the mean of the head's rows
    at its place. A row that attends by place is that mean, which then shows nothing of what depends
    on it. So, as far as a row is its mean, what zeros move counts if that is more.

    Args:
        model: of any kind that has a tap.
        task: that it was trained on.
        batch: sequences.
        heads: whose rows are weighed, by default all; those of others weigh nothing.
    """
    own = attention_patterns(model, batch.inputs)
    mean, zero = own.mean(0), torch.zeros_like(own[0])
    chosen = heads_of(model) if heads is None else heads
    sequences, layers, _, rows = own.shape[:4]
    passes = 2 * len(chosen) * rows
    turns = -(-passes * sequences * rows * layers // MOST_VECTORS)
    weights = own.new_zeros(own.shape[:-1])
    for head in chosen:
        by_mean = _rows_moved(model, task, batch, head, mean[*head], turns)
        by_zero = _rows_moved(model, task, batch, head, zero[*head], turns)
        by_place = own[:, *head].minimum(mean[*head]).sum(-1)
        weights[:, *head] = by_mean.maximum(by_place * by_zero)
    total = weights.sum((0, 3), keepdim=True)
    return weights / total.clamp(min=torch.finfo(weights.dtype).tiny)


def _rows_moved(
    model: Tappable,
    task: Task,
    batch: Batch,
    head: Head,
    instead: Float[Tensor, "query key"],
    turns: int,
) -> Float[Tensor, "sequence query"]:
    """The distance that outputs move if another row is in the place of a head's.

    Args:
        model: of any kind that has a tap.
        task: that it was trained on.
        batch: sequences.
        head: whose rows they are.
        instead: what is put in the place of a row, by its query.
        turns: every sequence tries one row in so many; the others count as if they moved nothing.
    """
    asked, n_read = task.targets.asked(batch.targets), batch.targets.shape[1]
    layer, number = head
    each = torch.arange(len(batch.inputs), device=batch.inputs.device)

    def numbers(tap: Tap) -> Tensor:
        outputs = model(batch.inputs, tap)[:, -n_read:]
        return task.targets.numbers(outputs, batch.targets)

    intact = numbers(as_it_is)
    moved = instead.new_zeros(len(each), len(instead))
    for first in range(0, len(instead), turns):
        rows = first + each % turns
        tries = rows < len(instead)
        cells = each[tries], rows[tries]

        def tap(at: int, pattern: Tensor, cells: tuple[Tensor, Tensor] = cells) -> Tensor:
            if at == layer:
                pattern = pattern.clone()
                sequences, queries = cells
                pattern[sequences, number, queries] = instead[queries]
            return pattern

        apart = (numbers(tap) - intact).square().sum(-1)
        moved[cells] = apart.where(asked, 0.0).sum((1, 2)).sqrt()[tries]
    return moved.where(moved.isfinite(), 0.0)  # without a row, some models divide by zero
