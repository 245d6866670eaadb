"""Heads at a second look: the attention that mechanisms explain, the rest, and rival relations.

Rows of attention count by what their ablation would move (`reading.row_weights`), so that rows of
which nothing depends do not hide what a head does in the others.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headway.circuits.mechanism import Circuit, Head, Mechanism, Paths, WrittenHead, name_of
from headway.circuits.patterns import Patterns
from headway.circuits.reading import relations_of, row_weights
from headway.models import Tappable, attention_patterns
from headway.tasks import Batch, Task
from headway.text import wrapped

SEQUENCES = 64

MOST_HEADS = 64
"""Heads of a circuit that is not faithful which are looked at, idle ones among them."""

RIVAL = 0.5
"""A rival of a relation leads at least this share of the rows that matter to the same keys."""

LEAST = 0.05
"""The least share of a head's attention that is worth a word."""

UNEXPLAINED = 0.5
"""A mechanism that has less of a head's attention does not explain it."""

SPLIT = 0.3
"""Shares for two groups of tokens that differ by so much are told apart."""

RANGES = 4
"""A split into more ranges of tokens is not told."""

PARTS = 3
"""Relations by which the rest of a head's attention is described, at most."""


@dataclass(frozen=True)
class Rival:
    """A relation that mostly leads where a named one does.

    Attributes:
        relation: the named one.
        rival: the other.
        same: the share of the rows that matter on which both lead to the same keys.
        follows: on the other rows, the share of attention that only the named one leads to.
        instead: there, the share that only the rival leads to.
    """

    relation: str
    rival: str
    same: float
    follows: float
    instead: float

    @property
    def wins(self) -> bool:
        """True if the head follows the rival where the two differ."""
        return self.instead > self.follows


@dataclass(frozen=True)
class Look:
    """A head's attention, on the rows that matter.

    Attributes:
        head: layer and number.
        explained: the share of its attention that lies where its mechanism would have it.
        rest: where the rest goes, by relations: the largest shares of the head's attention.
        rivals: relations that lead to the same keys on most rows, those that it follows first.
        tokens: of token tasks, the share of its mechanism that it follows, by the token that this
            leads to.
    """

    head: WrittenHead
    explained: float
    rest: dict[str, float]
    rivals: list[Rival]
    tokens: dict[int, float]

    @property
    def is_explained(self) -> bool:
        """True if the mechanism has most of the head's attention."""
        return self.explained >= UNEXPLAINED


@torch.no_grad()
def looks(
    model: Tappable, task: Task, batch: Batch, circuit: Circuit, heads: Sequence[Head]
) -> list[Look]:
    """A second look at heads under their mechanisms.

    Args:
        model: of any kind that has a tap.
        task: that it was trained on.
        batch: sequences, of which the first few are looked at.
        circuit: a mechanism for every head.
        heads: that are looked at.
    """
    if not heads:
        return []
    at = _Looking(model, task, batch.part(slice(SEQUENCES)))
    return [at.look(head, circuit.mechanisms[head]) for head in heads]


class _Looking:
    """The heads of a model on some sequences."""

    def __init__(self, model: Tappable, task: Task, batch: Batch):
        self.task, self.batch = task, batch
        self.own = attention_patterns(model, batch.inputs)
        self.weights = row_weights(model, task, batch, self.own.mean(0))
        self.paths = Patterns(model, batch, task.edges(batch))
        self.relations = relations_of(task, batch)

    def look(self, head: Head, mechanism: Mechanism) -> Look:
        """A head under its mechanism."""
        relations = mechanism.relations if isinstance(mechanism, Paths) else frozenset[str]()
        own, weights = self.own[:, *head], self.weights[:, *head]
        there = self.paths.dense(Paths(relations), head)
        common = own.minimum(there).sum(2)
        rivals = [r for name in sorted(relations) for r in self.rivals(head, name)]
        return Look(
            head,
            (common * weights).sum().item(),
            self.rest(own - own.minimum(there), weights),
            sorted(rivals, key=lambda rival: rival.follows - rival.instead),
            self.by_token(own.minimum(there), there, weights),
        )

    @cached_property
    def masks(self) -> Mapping[str, Bool[Tensor, "sequence query key"]]:
        """All relations that a head may follow: those of the task, and composed ones."""
        return {name: self.relations.part(name) for name in self.relations.vocabulary(1)}

    def rivals(self, head: Head, name: str) -> list[Rival]:
        """The rivals of a relation that differ from it on some row that matters."""
        named = self.paths.relation(name).mask(self.batch.inputs.shape[1])
        weights = self.weights[:, *head] * named.any(2)
        weights = weights / weights.sum().clamp(min=torch.finfo(weights.dtype).tiny)
        own, found = self.own[:, *head, :, : named.shape[2]], list[Rival]()
        for rival, mask in self.masks.items():
            apart = (mask != named).any(2) * weights
            share = apart.sum()
            if not (0 < share <= 1 - RIVAL):
                continue
            ours, theirs = (
                ((own * only).sum(2) * apart).sum() / share
                for only in (named & ~mask, mask & ~named)
            )
            found.append(Rival(name, rival, 1 - share.item(), ours.item(), theirs.item()))
        return sorted(found, key=lambda one: one.follows - one.instead)[:PARTS]

    def rest(
        self, left: Float[Tensor, "sequence query key"], weights: Float[Tensor, "sequence query"]
    ) -> dict[str, float]:
        """The relations that have most of some attention, one after the other."""
        length, found = self.relations.length, dict[str, float]()
        beside = (left[..., length:].sum(2) * weights).sum().item()
        left = left[..., :length]
        for _ in range(PARTS):
            total = left.sum(2, keepdim=True)

            def like(name: str, left: Tensor = left, total: Tensor = total) -> float:
                mask = self.masks[name].to(left.dtype)
                even = total * mask / mask.sum(2, keepdim=True).clamp(min=1)
                return (left.minimum(even).sum(2) * weights).sum().item()

            name = max(self.masks, key=like)
            share = ((left * self.masks[name]).sum(2) * weights).sum().item()
            if share < LEAST:
                break
            found[name] = share
            left = left * ~self.masks[name]
        return found | ({"keys that are no position": beside} if beside >= LEAST else {})

    def by_token(
        self,
        common: Float[Tensor, "sequence query key"],
        there: Float[Tensor, "sequence query key"],
        weights: Float[Tensor, "sequence query"],
    ) -> dict[int, float]:
        """The share of a mechanism that is followed, by the token that it leads to."""
        if self.task.vocabulary is None:
            return {}
        tokens = self.batch.inputs
        found, most = (
            torch.zeros(int(tokens.max()) + 1, dtype=x.dtype, device=x.device).index_add_(
                0, tokens.flatten(), (x * weights[..., None]).sum(1)[:, : tokens.shape[1]].flatten()
            )
            for x in (common, there)
        )
        return {
            token: (found[token] / most[token]).item()
            for token in most.nonzero().flatten().tolist()
        }


def of_looks(looks: list[Look], circuit: Circuit, faithful: bool) -> list[str]:
    """Every useful head in words: what it looks at, how surely, and what remains unexplained."""
    return [
        line
        for look in looks
        for line in _lines(look, str(circuit.mechanisms[look.head]), faithful)
    ]


def _lines(look: Look, mechanism: str, faithful: bool) -> Iterator[str]:
    rest = ", ".join(f"{share:.2f} {relation}" for relation, share in look.rest.items())
    said = f"{look.explained:.2f} of its attention where it matters"
    said += f"; the rest: {rest}" if rest else ""
    if not (look.is_explained or faithful):
        yield from wrapped(f"no relation explains {name_of(look.head)}: {mechanism}: {said}")
    else:
        yield from wrapped(f"{name_of(look.head)}: {mechanism}: {said}")
    if (split := split_of(look.tokens)) is not None:
        tokens, one, other = split
        yield from wrapped(f"for tokens {tokens} {one:.2f} of it, for others {other:.2f}", "  ")
    for rival in look.rivals[:1]:
        here = f"{rival.follows:.2f} against {rival.instead:.2f}"
        which = f"{rival.rival}, not this" if rival.wins else "this"
        yield from wrapped(
            f"{rival.rival} is the same on {rival.same:.2f} of these rows; where they differ, it"
            f" follows {which} ({here})",
            "  ",
        )


def split_of(tokens: Mapping[int, float]) -> tuple[str, float, float] | None:
    """The tokens for which a head does its work, and the shares for these and for the others.

    None if there is no clear split into a few ranges of tokens.
    """
    middle = (min(tokens.values(), default=0.0) + max(tokens.values(), default=0.0)) / 2
    sides = [t for t in tokens if tokens[t] >= middle], [t for t in tokens if tokens[t] < middle]
    one, other = (sum(tokens[t] for t in side) / max(1, len(side)) for side in sides)
    parts = ranges(sides[0])
    is_clear = bool(sides[1]) and one - other >= SPLIT and len(parts) <= RANGES
    return (", ".join(parts), one, other) if is_clear else None


def ranges(numbers: Iterable[int]) -> list[str]:
    """Whole numbers in short: 1–4, 7."""
    parts = list[list[int]]()
    for number in sorted(numbers):
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return [f"{part[0]}–{part[-1]}" if len(part) > 1 else str(part[0]) for part in parts]
