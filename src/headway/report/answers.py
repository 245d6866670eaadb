"""The answers of a model, as it is and with paths cut, one or several at once."""

from collections.abc import Sequence as Sequential
from dataclasses import dataclass
from itertools import combinations

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from headway.dynamics.emergence import EMERGES_AT
from headway.models import Tappable
from headway.relations.paths import AttentionPath
from headway.replace import Head
from headway.replace.ablation import Bench
from headway.replace.mechanism import KnockOut
from headway.replace.subject import with_tap
from headway.tasks import Batch, Task
from headway.tasks.targets import Tokens

MOST_SETS, MOST_SET_ANSWERS = 256, 100_000
"""The most sets of several paths whose cut is answered, times steps; and answers to
them."""

Cut = tuple[AttentionPath, ...]
"""Paths along which attention is zero."""


@dataclass(frozen=True)
class Answers:
    """The answers of a model with one cut after the other.

    Attributes:
        given: a token, or for vectors the query that asks for the nearest; -1 for none.
        chances: the probabilities of these tokens, in hundredths; None of vectors.
    """

    given: Int[Tensor, "cut *sequence query hop"]
    chances: UInt8[Tensor, "cut *sequence query hop"] | None

    def of(self, sequence: int) -> "Answers":
        """The answers in one of the sequences, without that dimension."""
        chances = None if self.chances is None else self.chances[:, sequence]
        return Answers(self.given[:, sequence], chances)

    def part(self, cuts: slice) -> "Answers":
        """The answers with some of the cuts."""
        chances = None if self.chances is None else self.chances[cuts]
        return Answers(self.given[cuts], chances)


def sets_of(paths: Sequential[AttentionPath], n_asked: int) -> list[Cut]:
    """The sets of several paths that can be cut at once: all, or the pairs if these are
    too many, or none.

    Args:
        paths: of the circuit.
        n_asked: the answers to a cut.
    """
    room = min(MOST_SETS, MOST_SET_ANSWERS // max(1, n_asked))
    for largest in (len(paths), 2):
        sets = list[Cut]()
        for size in range(2, largest + 1):
            if len(sets) > room:
                break
            sets += combinations(paths, size)
        if len(sets) <= room:
            return sets
    return []


def numbered(
    sets: Sequential[Cut], paths: Sequential[AttentionPath]
) -> list[list[int]]:
    """Sets of paths as the numbers of these paths among others."""
    return [[paths.index(path) for path in cut] for cut in sets]


def n_set_steps(sets: Sequential[Cut], n_asked: int) -> int:
    """The number of steps for which there is room for the answers to every set."""
    n_answers = max(1, len(sets) * n_asked)
    return max(1, min(MOST_SETS // max(1, len(sets)), MOST_SET_ANSWERS // n_answers))


def answers_to(
    task: Task, batch: Batch, model: Tappable, cuts: Sequential[Cut]
) -> Answers:
    """The answers of a model with the attention along each cut's paths at zero."""
    bench = Bench(with_tap(model, task), task, batch)
    replaced = [_knocked_out(cut) for cut in cuts]
    outputs = torch.cat([bench.outputs(replaced, part) for part in bench.parts], dim=1)
    given = [_given(task, batch, variant) for variant in outputs]
    if not isinstance(task.targets, Tokens):
        return Answers(torch.stack(given), None)
    chances = [_chances(task.targets, batch, variant) for variant in outputs]
    return Answers(torch.stack(given), torch.stack(chances))


def _knocked_out(cut: Cut) -> dict[Head, KnockOut]:
    """The heads of a cut, without their attention along its paths."""
    relations: dict[Head, set[str]] = {}
    for path in cut:
        relations.setdefault(path.at, set()).add(path.relation)
    return {head: KnockOut(frozenset(names)) for head, names in relations.items()}


def _chances(
    targets: Tokens, batch: Batch, outputs: Float[Tensor, "sequence query output"]
) -> UInt8[Tensor, "sequence query hop"]:
    """The probabilities of the likeliest tokens."""
    logits = targets.numbers(outputs, batch.targets)
    return hundredths(logits.softmax(-1).amax(-1))


def _given(
    task: Task, batch: Batch, outputs: Float[Tensor, "sequence query output"]
) -> Int[Tensor, "sequence query hop"]:
    """The answers in some outputs (see `Answers`)."""
    targets = task.targets
    wanted = batch.targets
    chosen = targets.answers(outputs, wanted)
    if isinstance(targets, Tokens):
        return chosen[..., 0].long().cpu()
    # A vector is told by the query that asks for just that one.
    is_chosen = chosen[:, :, None] == wanted[:, None].nan_to_num(1e9)
    nearest = is_chosen.all(-1).int().argmax(2)
    # Where a sequence asks for a single one, that is nearest however far it is.
    n_asked = targets.asked(wanted).sum(1, keepdim=True)
    is_near = targets.each(outputs, wanted) < EMERGES_AT
    astray = (n_asked < 2).expand(nearest.shape) & ~is_near
    return nearest.masked_fill(astray, -1).cpu()


def hundredths(shares: Float[Tensor, "..."]) -> UInt8[Tensor, "..."]:
    """Shares between 0 and 1, rounded."""
    return (100 * shares).round().clamp(0, 100).to(torch.uint8).cpu()
