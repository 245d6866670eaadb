"""Partners: for every sequence another one of the same layout.

Two sequences have the same layout if all roles stand at the same places, the same
things are asked, and both are equally long below their padding. What a head carries in
one of them can then stand in the place of what it carries in the other, and only what
differs between the two is exchanged.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, combinations

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headway.errors import HeadwayError
from headway.tasks import Batch, Task

MOST_PARTS = 8
"""Parts of a draw of which all subsets are tried."""

LEAST = 8
"""Sequences that must have a partner."""


@dataclass(frozen=True)
class Partners:
    """Sequences with their partners.

    Attributes:
        batch: the sequences.
        partner: for each of them another one of the same layout.
        elsewhere: for each of them another one, longer if there is any, whose roles may
            stand elsewhere.
    """

    batch: Batch
    partner: Batch
    elsewhere: Batch


def partners(task: Task, count: int, generator: torch.Generator) -> Partners:
    """Draws sequences, each with a partner.

    As many parts of the draw as possible are taken from another sequence without a
    change of layout. If there are none, the sequences themselves are paired by their
    layout.

    Args:
        task: that draws them.
        count: how many to draw; those without a partner are left out.
        generator: of random numbers.

    Raises:
        HeadwayError: if fewer than `LEAST` have a partner.
    """
    draws = task.draw(count, generator)
    batch = task.assemble(draws)
    partner = next(_recombined(task, draws, batch), None)
    if partner is None:
        return partners_among(task, batch)
    elsewhere = batch.part(_elsewhere(batch))
    return Partners(batch, partner, elsewhere)


def partners_among(task: Task, batch: Batch) -> Partners:
    """Sequences with their partners: corrupted ones, or others among them.

    A corrupted sequence has the layout of the one that it was made of, and another
    answer: so a task says which sequences can be exchanged.

    Args:
        task: that has drawn them.
        batch: the sequences; those without a partner are left out.

    Raises:
        HeadwayError: if fewer than `LEAST` have a partner.
    """
    if batch.corrupted is None:
        batch, partner = _paired(task, batch)
    else:
        partner = replace(batch, inputs=batch.corrupted)
    elsewhere = batch.part(_elsewhere(batch))
    return Partners(batch, partner, elsewhere)


def trailing(inputs: Tensor) -> Int[Tensor, " sequence"]:
    """The run of one token at the end of every sequence: perhaps padding.

    The token is the one that most sequences end with.
    """
    if inputs.ndim != 2:
        return torch.zeros(len(inputs), dtype=torch.long, device=inputs.device)
    last = inputs[:, -1].mode().values
    is_last = (inputs == last).long()
    return is_last.flip(1).cumprod(1).sum(1)


def is_alike(task: Task, first: Batch, second: Batch) -> Bool[Tensor, " sequence"]:
    """The sequences of two batches, one by one, that have the same layout."""
    same_roles = (first.roles == second.roles).flatten(1).all(1)
    first_asked = task.targets.asked(first.targets)
    second_asked = task.targets.asked(second.targets)
    same_asked = (first_asked == second_asked).flatten(1).all(1)
    same_length = trailing(first.inputs) == trailing(second.inputs)
    return same_roles & same_asked & same_length


def _recombined(task: Task, draws: tuple[Tensor, ...], batch: Batch) -> Iterator[Batch]:
    """Partners that differ in some parts of the draw, most parts first."""
    numbers = range(min(len(draws), MOST_PARTS))
    sizes = reversed(range(1, len(numbers) + 1))
    for moved in chain.from_iterable(combinations(numbers, size) for size in sizes):
        parts = list(draws)
        for number in moved:
            parts[number] = draws[number].roll(1, 0)
        try:
            partner = task.assemble(tuple(parts))
        except (HeadwayError, RuntimeError, IndexError, ValueError):
            continue  # parts that do not go together make no sequence
        if partner.inputs.shape != batch.inputs.shape:
            continue
        differs = not torch.equal(partner.inputs, batch.inputs)
        if differs and bool(is_alike(task, batch, partner).all()):
            yield partner


def _paired(task: Task, batch: Batch) -> tuple[Batch, Batch]:
    """The sequences of which another one has the same layout, and these others."""
    rows, others = list[int](), list[int]()
    for group in _of_one_layout(task, batch):
        if len(group) > 1:
            rows += group
            others += group[1:] + group[:1]
    if len(rows) < LEAST:
        raise HeadwayError(
            f"exchange: {len(rows)} of {len(batch.inputs)} sequences have another one"
            f" of the same layout, and {LEAST} are needed: draw more,"
            " or let the task's `draw` return what stands where and what it is"
            " as two tensors"
        )
    at = torch.tensor(rows, device=batch.inputs.device)
    to = torch.tensor(others, device=batch.inputs.device)
    return batch.part(at), batch.part(to)


def _of_one_layout(task: Task, batch: Batch) -> list[list[int]]:
    """The numbers of a batch's sequences, those of one layout together."""
    padding = trailing(batch.inputs)[:, None]
    roles = batch.roles.flatten(1)
    asked = task.targets.asked(batch.targets).flatten(1).long()
    layouts = torch.cat([padding, roles, asked], 1)
    groups = defaultdict[tuple[int, ...], list[int]](list)
    for row, layout in enumerate(layouts.tolist()):
        groups[tuple(layout)].append(row)
    return list(groups.values())


def _elsewhere(batch: Batch) -> Int[Tensor, " sequence"]:
    """For every sequence the number of a longer one, or of one as long."""
    by_padding = defaultdict[int, list[int]](list)
    for row, padding in enumerate(trailing(batch.inputs).tolist()):
        by_padding[padding].append(row)
    to = [0] * len(batch.inputs)
    longer = list[int]()
    for padding in sorted(by_padding):
        rows = by_padding[padding]
        others = longer or rows[1:] + rows[:1]
        for place, row in enumerate(rows):
            to[row] = others[place % len(others)]
        longer += rows
    return torch.tensor(to, device=batch.inputs.device)
