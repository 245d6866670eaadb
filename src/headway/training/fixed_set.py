"""The fixed training set of a run, and sequences that are apart from it."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

import torch
from torch import Tensor

from headway.errors import HeadwayError
from headway.tasks import Task
from headway.training.environment import generator_for
from headway.training.size import require_room

AT_ONCE = 4096
"""Sequences that are laid out at once."""

IN_VAIN = 20_000
"""After so many draws of which none was of use, there are no others."""

MARK = 128
"""Bytes that are kept of a sequence to know it again."""

MOST = 100
"""For every sequence that is wanted, so many are drawn at most."""


@dataclass(frozen=True)
class TrainingSet:
    """Different sequences that a run is trained on, again and again.

    Attributes:
        draws: as `Task.draw` gives them, on the CPU.
        marks: a digest of every sequence.
    """

    draws: tuple[Tensor, ...]
    marks: frozenset[bytes] = field(repr=False)

    def __len__(self):
        return len(self.draws[0])

    def draws_apart(
        self, task: Task, count: int, generator: torch.Generator
    ) -> tuple[Tensor, ...] | None:
        """The first draws that lay out sequences outside the set.

        Args:
            task: that lays sequences out.
            count: how many are wanted.
            generator: that is drawn from, on its device.

        Returns:
            So many draws; None if there are too few such sequences.
        """
        return _collected(task, count, generator, lambda mark: mark not in self.marks)


@lru_cache(maxsize=1)
def drawn_set(task: Task, count: int, seed: int) -> TrainingSet:
    """Different sequences of a task, by a seed; the same on every device.

    Raises:
        HeadwayError: if the task has hardly any more, or so many cannot fit into
            memory.
    """
    numbers = task.length * task.d_input + MARK // 4
    require_room(count * numbers, f"training.train_examples = {count}", "cpu")
    marks = set[bytes]()

    def is_new(mark: bytes) -> bool:
        before = len(marks)
        marks.add(mark)
        return len(marks) > before

    generator = generator_for("cpu", seed, "set")
    draws = _collected(task, count, generator, is_new)
    known = frozenset(marks)
    # The share that is held out must not be so small that it is hardly ever drawn.
    if draws is None or _collected(task, 1 + count // MOST, generator, is_new) is None:
        most = len(marks) - 1 - 2 * len(marks) // MOST
        raise HeadwayError(
            f"training.train_examples = {count} is not allowed:"
            f" it must be at most {most},"
            f" as task {task.kind!r} has {len(marks)} different sequences,"
            " or hardly ever draws others, and some must be held out"
        )
    return TrainingSet(draws, known)


def _collected(
    task: Task,
    count: int,
    generator: torch.Generator,
    is_wanted: Callable[[bytes], bool],
) -> tuple[Tensor, ...] | None:
    """The first draws with wanted marks; None if there are too few."""
    parts = list[tuple[Tensor, ...]]()
    kept = drawn = in_vain = 0
    while kept < count:
        if in_vain >= IN_VAIN or drawn >= MOST * max(count, IN_VAIN):
            return None
        draws = task.draw(count, generator)
        wanted = (
            row for row, mark in enumerate(_marks(task, draws)) if is_wanted(mark)
        )
        rows = [*islice(wanted, count - kept)]
        parts.append(tuple(tensor[rows] for tensor in draws))
        kept += len(rows)
        drawn += count
        in_vain = 0 if rows else in_vain + count
    return tuple(map(torch.cat, zip(*parts, strict=True)))


def _marks(task: Task, draws: tuple[Tensor, ...]) -> list[bytes]:
    """A digest of what a model reads of every sequence, laid out in its whole depth."""
    marks = list[bytes]()
    for start in range(0, len(draws[0]), AT_ONCE):
        part = tuple(tensor[start : start + AT_ONCE] for tensor in draws)
        inputs = task.assemble(part).inputs.cpu().contiguous()
        for sequence in inputs.numpy():
            marks.append(hashlib.blake2b(sequence.data, digest_size=16).digest())
    return marks
