"""Heads at a second look: the attention that mechanisms explain, the rest, and rival
relations.

Rows of attention count by what changing them moves (`rows.measured_weights`), so that
rows of which nothing depends do not hide what a head does in the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from headway.models import Tappable, attention_patterns
from headway.relations.composed import Composed
from headway.relations.rows import AttentionRows
from headway.relations.shares import (
    Attention,
    Keys,
    Masks,
    Rival,
    alike,
    by_token,
    largest,
    rivals_of,
    split_of,
)
from headway.relations.vocabulary import candidates
from headway.replace.circuit import Circuit
from headway.replace.heads import Head, WrittenHead, name_of
from headway.replace.mechanism import Mechanism, Paths, Tabled
from headway.replace.patterns import Patterns, edges_of
from headway.replace.rows import measured_weights
from headway.tasks import Batch, Task
from headway.text import enumerated, wrapped

SEQUENCES = 48

MOST_IDLE = 32
"""Idle heads that are looked at."""

ALIKE = 2
"""Relations that nothing tells from a named one, at most so many of them."""

UNEXPLAINED = 0.5
"""A mechanism that has less of a head's attention does not explain it."""


@dataclass(frozen=True)
class Look:
    """A head's attention, on the rows that matter.

    Attributes:
        head: layer and number.
        explained: the share of its attention that lies where its mechanism would have
            it.
        rows_told: the share of rows in which at least half of its attention lies there
            (`AttentionRows.share_told`).
        rest: where the rest goes, by relations: the largest shares of the head's
            attention. Of a head by table where all of it goes.
        rivals: relations that lead to the same keys on most rows, those that it follows
            first.
        tokens: of token tasks, the share of its mechanism that it follows, by the token
            that this leads to; none unless what one half of the sequences tells apart
            differs in the other.
        alike: relations with the same keys on all of these rows: other sequences would
            tell them apart.
    """

    head: WrittenHead
    explained: float
    rows_told: float
    rest: dict[str, float]
    rivals: list[Rival]
    tokens: dict[int, float]
    alike: list[str]


@torch.no_grad()
def looks(
    model: Tappable, task: Task, batch: Batch, circuit: Circuit, heads: Sequence[Head]
) -> list[Look]:
    """A second look at heads under their mechanisms.

    Args:
        model: of any kind that has a tap.
        task: that it was trained on.
        batch: sequences.
        circuit: a mechanism for every head.
        heads: that are looked at.
    """
    if not heads:
        return []
    attention = attention_patterns(model, batch.inputs)
    weights = measured_weights(model, task, batch, heads)
    edges = edges_of(task, model, batch)
    looking = _Looking(Patterns(model, batch, edges), edges.composed)
    seen = list[Look]()
    for head in heads:
        rows = AttentionRows(edges.composed, attention[:, *head], weights[:, *head])
        look = looking.at(head, circuit.mechanisms[head], rows)
        seen.append(look)
    return seen


@dataclass(frozen=True)
class _Looking:
    """The sequences on which heads are looked at.

    Attributes:
        patterns: of mechanisms on them.
        relations: that are evaluated on them.
    """

    patterns: Patterns
    relations: Composed

    def at(self, head: Head, mechanism: Mechanism, rows: AttentionRows) -> Look:
        """A look at a head, given the rows of its attention that matter."""
        is_table = isinstance(mechanism, Tabled)
        names = relations_of(mechanism)
        pattern = mechanism if is_table else Paths(frozenset(names))
        told = self.patterns.dense(pattern, head)[rows.sequence, rows.query].float()
        common = rows.own.minimum(told)
        explained = common.sum(1)
        left = rows.own if is_table else rows.own - common
        masks = self.masks(rows)
        has_split = self.relations.of_tokens and not is_table
        return Look(
            head,
            explained=(explained @ rows.counts).item(),
            rows_told=rows.share_told(explained),
            rest=largest(masks, left, rows.counts),
            rivals=self.rivals(names, masks, rows),
            tokens=self.by_token(rows, common, told) if has_split else {},
            alike=self.alike(names, masks, rows)[:ALIKE],
        )

    def rivals(
        self, names: Sequence[str], masks: Masks, rows: AttentionRows
    ) -> list[Rival]:
        """The rivals of relations, those that are followed most first."""
        rivals = list[Rival]()
        for name in names:
            keys = self.keys(name, rows)
            rivals += rivals_of(name, keys, masks, rows.own, rows.counts)
        return sorted(rivals, key=lambda rival: rival.follows - rival.instead)

    def alike(
        self, names: Sequence[str], masks: Masks, rows: AttentionRows
    ) -> list[str]:
        """Relations that nothing in these sequences tells from those of a circuit that
        the task does not give.
        """
        same = list[str]()
        for name in names:
            if name not in self.relations.given:
                same += alike(name, self.keys(name, rows), masks)
        return same

    def masks(self, rows: AttentionRows) -> Masks:
        """The keys of every relation that may be worth a word, by its name."""
        tried = [*candidates(self.relations, 1)]
        masks = rows.masks(tried)
        each = zip(tried, masks, strict=True)
        return {str(expression): mask for expression, mask in each if mask.any()}

    def keys(self, name: str, rows: AttentionRows) -> Keys:
        """The keys of a circuit's relation."""
        length = self.relations.length
        mask = self.patterns.relation(name).mask(length)
        return mask[rows.sequence, rows.query]

    def by_token(
        self, rows: AttentionRows, common: Attention, told: Attention
    ) -> dict[int, float]:
        """The share of a mechanism that a head follows, by token (see
        `Look.tokens`).
        """
        about = rows.tokens, common, told, rows.counts
        is_odd = rows.sequence % 2 == 1
        even = by_token(*(part[~is_odd] for part in about))
        odd = by_token(*(part[is_odd] for part in about))
        is_split = split_of(even, odd) and split_of(odd, even)
        return by_token(*about) if is_split else {}


def relations_of(mechanism: Mechanism) -> list[str]:
    """The relations that a head attends along, by name; perhaps none."""
    return sorted(mechanism.relations) if isinstance(mechanism, Paths) else []


def of_looks(looks: list[Look], circuit: Circuit, faithful: bool) -> list[str]:
    """Every head in words: what it looks at, how surely, and what remains unexplained.

    Of a faithful circuit only those idle heads have a line of which one relation has
    half.
    """
    useful = set(circuit.useful_heads)
    lines = list[str]()
    for look in looks:
        if look.head in useful or not faithful:
            lines += _of_look(look, circuit.mechanisms[look.head], faithful)
        elif _is_named(look):
            said = f"{name_of(look.head)} (idle): {_rest_of(look)}"
            lines += wrapped(said, whole=look.rest)
    return lines


def _of_look(look: Look, mechanism: Mechanism, faithful: bool) -> list[str]:
    """A head in words, with its tokens and the first of its rivals."""
    rivals = [rival.rival for rival in look.rivals]
    # No name of a relation is broken in its middle.
    whole = [*relations_of(mechanism), *look.rest, *look.alike, *rivals]
    lines = wrapped(_explained(look, mechanism, faithful), whole=whole)
    split = split_of(look.tokens)
    if split is not None:
        tokens, share, other = split
        shares = f"to tokens {tokens} {share:.2f} of it, to others {other:.2f}"
        lines += wrapped(shares, "  ")
    if look.alike:
        names = enumerated(look.alike)
        said = f"nothing in these sequences tells it from {names}"
        lines += wrapped(said, "  ", whole=whole)
    for rival in look.rivals[:1]:
        lines += wrapped(_of_rival(rival), "  ", whole=whole)
    return lines


def _explained(look: Look, mechanism: Mechanism, faithful: bool) -> str:
    """A head's mechanism, and how much of its attention that explains."""
    head = f"{name_of(look.head)}: {mechanism}"
    if isinstance(mechanism, Tabled):
        is_told = _is_named(look)
        rest = "in all"
    else:
        is_told = faithful or look.explained >= UNEXPLAINED
        rest = "the rest"
    if not is_told:
        head = f"no relation explains {head}"
    said = f"{head}: {look.explained:.2f} of its attention where it matters"
    rows_told = f"{look.rows_told:.2f}"
    if rows_told != "1.00":
        said += f", half of it or more in {rows_told} of the rows"
    if look.rest:
        said += f"; {rest}: {_rest_of(look)}"
    return said


def _of_rival(rival: Rival) -> str:
    """A rival of a head's relation in words."""
    name = rival.rival
    same = min(rival.same, 0.99)
    followed = f"{name}, not this" if rival.wins else "this"
    follows = f"it follows {followed} ({rival.follows:.2f} against {rival.instead:.2f})"
    return (
        f"{name} is the same on {same:.2f} of these rows; where they differ, {follows}"
    )


def _is_named(look: Look) -> bool:
    """True if one relation has half of the attention."""
    return max(look.rest.values(), default=0.0) >= UNEXPLAINED


def _rest_of(look: Look) -> str:
    """The relations that have the rest of the attention, with their shares."""
    shares = [f"{share:.2f} {relation}" for relation, share in look.rest.items()]
    return ", ".join(shares)
