"""Do heads follow the paths of a circuit? What paths explain, and rivals that explain more.

Two relations that lead to the same keys in most rows look alike in the mean. On the rows where
they differ the head shows which of them it follows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headway.circuits.ablation import Bench
from headway.circuits.mechanism import Circuit, Head, Paths, WrittenPath
from headway.circuits.patterns import Patterns
from headway.models import attention_patterns
from headway.paths import Path
from headway.tasks import Edges

SEQUENCES = 32
"""Sequences on which attention is looked at, at most."""

DIFFER = 0.05
"""The least share of a path's rows in which a rival must lead elsewhere."""

EXPLAINED = 0.3
"""The least share of its attention that a head's paths must explain where they lead."""

TIMES = 2
"""A rival must have more than so many times the attention of the path."""

Mask = Bool[Tensor, "sequence query key"]


@dataclass(frozen=True)
class Rival:
    """A relation that a head follows rather than a path of the circuit, where the two differ.

    Attributes:
        path: of the circuit.
        relation: the rival.
        rows: the share of the path's rows in which the two lead to different keys.
        attention: along the path in these rows, on average.
        rival_attention: along the rival in these rows, counted as for the path.
    """

    path: WrittenPath
    relation: str
    rows: float
    attention: float
    rival_attention: float


@torch.no_grad()
def followed(bench: Bench, circuit: Circuit) -> tuple[dict[Head, float], list[Rival]]:
    """The share of every useful head's attention that its paths explain, and rivals that win.

    Args:
        bench: with sequences that the search for the circuit did not see.
        circuit: a mechanism for every head.
    """
    batch = bench.batch.part(slice(SEQUENCES))
    own, edges = attention_patterns(bench.model, batch.inputs), bench.task.edges(batch)
    patterns = Patterns(bench.model, batch, edges)
    explained, rivals = dict[Head, float](), list[Rival]()
    masks: dict[str, Mask] = {}
    for head in circuit.useful_heads:
        mechanism = circuit.mechanisms[head]
        assert isinstance(mechanism, Paths)
        rows = own[:, *head].minimum(patterns.dense(mechanism, head)).sum(2)
        explained[head] = rows[patterns.has_path(mechanism)].mean().item()
        others = {**dict.fromkeys(list(edges)), **dict.fromkeys(edges.composed.vocabulary(head[0]))}
        for name in (*mechanism.relations, *others):
            if name not in masks:
                masks[name] = mask_of(edges[name], own.shape[-2:])
        for name in sorted(mechanism.relations):
            among = {other: masks[other] for other in others if other not in mechanism.relations}
            path = Path.of(*head, name)
            won = list(_rivals(path, own[:, *head], masks[name], among))
            rivals += sorted(won, key=lambda one: -one.rival_attention)[:1]
    return explained, rivals


def mask_of(edges: Edges, shape: Sequence[int]) -> Mask:
    """The keys of every query of a relation, among so many queries and keys."""
    device = edges.queries.device
    mask = torch.zeros(len(edges.queries), *shape, dtype=torch.bool, device=device)
    at = edges.there.nonzero()
    mask[at[:, 0], edges.queries[at[:, 0], at[:, 1]], edges.keys[tuple(at.T)]] = True
    return mask


def _rivals(
    path: Path,
    own: Float[Tensor, "sequence query key"],
    mask: Mask,
    others: dict[str, Mask],
) -> Iterator[Rival]:
    """The relations along which a head sends more than along a path, where they differ."""
    leads = mask.any(2)
    for name, other in others.items():
        rows = leads & other.any(2) & ~(mask & other).any(2)
        share = (rows.sum() / leads.sum()).item()
        if share >= DIFFER:
            mine, its = (_along(own[rows], one[rows]) for one in (mask, other))
            if its >= EXPLAINED and its > TIMES * mine:
                yield Rival(path, name, share, mine, its)


def _along(own: Float[Tensor, "row key"], mask: Bool[Tensor, "row key"]) -> float:
    """The attention to keys, no more at any than an even share, on average over rows."""
    even = mask / mask.sum(1, keepdim=True)
    return own.minimum(even).sum(1).mean().item()
