"""Heads at a second look: the attention that mechanisms explain, the rest, and rival relations.

Rows of attention count by what changing them moves (`rows.measured_weights`), so that rows of
which nothing depends do not hide what a head does in the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import torch

from headway.models import Tappable, attention_patterns
from headway.relations.shares import Rival, by_token, largest, rivals_of, split_of
from headway.replace.circuit import Circuit
from headway.replace.heads import Head, WrittenHead, name_of
from headway.replace.mechanism import Mechanism, Paths, Tabled
from headway.replace.patterns import Patterns, edges_of
from headway.replace.rows import measured_weights
from headway.tasks import Batch, Task
from headway.text import wrapped

SEQUENCES = 64

MOST_IDLE = 32
"""Idle heads that are looked at."""

UNEXPLAINED = 0.5
"""A mechanism that has less of a head's attention does not explain it."""


@dataclass(frozen=True)
class Look:
    """A head's attention, on the rows that matter.

    Attributes:
        head: layer and number.
        explained: the share of its attention that lies where its mechanism would have it.
        rest: where the rest goes, by relations: the largest shares of the head's attention. Of a
            head by table where all of it goes.
        rivals: relations that lead to the same keys on most rows, those that it follows first.
        tokens: of token tasks, the share of its mechanism that it follows, by the token that this
            leads to; none unless what one half of the sequences tells apart differs in the other.
    """

    head: WrittenHead
    explained: float
    rest: dict[str, float]
    rivals: list[Rival]
    tokens: dict[int, float]


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
    every = attention_patterns(model, batch.inputs)
    rows = measured_weights(model, task, batch, heads)
    edges, tokens = edges_of(task, model, batch), batch.inputs
    patterns, known = Patterns(model, batch, edges), edges.composed
    masks = {name: known.part(name) for name in known.vocabulary(1)}

    def look(head: Head, mechanism: Mechanism) -> Look:
        relations = mechanism.relations if isinstance(mechanism, Paths) else frozenset[str]()
        own, weights = every[:, *head], rows[:, *head]
        is_table = isinstance(mechanism, Tabled)
        there = patterns.dense(mechanism if is_table else Paths(relations), head)
        common = own.minimum(there)
        named = {n: patterns.relation(n).mask(tokens.shape[1]) for n in sorted(relations)}
        rivals = [rivals_of(n, mask, masks, own, weights) for n, mask in named.items()]
        about = (tokens, common, there, weights)
        parts = (0, 1) if task.vocabulary is not None and not is_table else ()
        halves = [by_token(*(one[half::2] for one in about)) for half in parts]
        return Look(
            head,
            (common.sum(2) * weights).sum().item(),
            largest(masks, own if is_table else own - common, weights),
            sorted(chain(*rivals), key=lambda rival: rival.follows - rival.instead),
            by_token(*about) if halves and all(map(split_of, halves, halves[::-1])) else {},
        )

    return [look(head, circuit.mechanisms[head]) for head in heads]


def of_looks(looks: list[Look], circuit: Circuit, faithful: bool) -> list[str]:
    """Every head in words: what it looks at, how surely, and what remains unexplained.

    Of a faithful circuit only those idle heads have a line of which one relation has half.
    """
    lines, useful = list[str](), set(circuit.useful_heads)
    for look in looks:
        name, mechanism = name_of(look.head), circuit.mechanisms[look.head]
        rest = ", ".join(f"{share:.2f} {relation}" for relation, share in look.rest.items())
        is_named = max(look.rest.values(), default=0.0) >= UNEXPLAINED
        if faithful and look.head not in useful:
            lines += wrapped(f"{name} (idle): {rest}") if is_named else []
            continue
        by_table = isinstance(mechanism, Tabled)
        is_told = is_named if by_table else faithful or look.explained >= UNEXPLAINED
        start = "" if is_told else "no relation explains "
        more = f"; {'in all' if by_table else 'the rest'}: {rest}" if rest else ""
        share = f"{look.explained:.2f} of its attention where it matters"
        lines += wrapped(f"{start}{name}: {mechanism}: {share}{more}")
        if (split := split_of(look.tokens)) is not None:
            tokens, one, other = split
            lines += wrapped(f"to tokens {tokens} {one:.2f} of it, to others {other:.2f}", "  ")
        for rival in look.rivals[:1]:
            lines += wrapped(
                f"{rival.rival} is the same on {min(rival.same, 0.99):.2f} of these rows; where"
                f" they differ, it follows {f'{rival.rival}, not this' if rival.wins else 'this'}"
                f" ({rival.follows:.2f} against {rival.instead:.2f})",
                "  ",
            )
    return lines
