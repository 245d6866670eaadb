"""Candidates: the paths that a head may be using, from its attention along relations."""

from collections.abc import Collection, Sequence

import torch
from torch import Tensor

from headway.circuits.ablation import Bench
from headway.circuits.mechanism import Circuit, Head
from headway.circuits.patterns import Patterns, attention_along
from headway.models import Tappable, attention_patterns
from headway.paths import Path
from headway.tasks import Batch, Task

CANDIDATE_ATTENTION = (0.3, 0.1)

Attention = dict[str, list[list[float]]]
"""Mean attention along relations, [layer, head], by relation."""


@torch.no_grad()
def relation_attention(
    model: Tappable,
    task: Task,
    batch: Batch,
    shared: bool = False,
    names: Collection[str] | None = None,
) -> Attention:
    """Mean attention along relations (see `attention_along`), [layer, head], by relation.

    By default along every relation of the task.
    """
    if names is not None and not names:
        return {}
    patterns, edges = attention_patterns(model, batch.inputs), task.edges(batch)
    return {
        name: attention_along(patterns, edges[name], shared).tolist()
        for name in (list(edges) if names is None else names)
    }


def searched(patterns: Patterns, use: str) -> list[str]:
    """The relations of one use (see `Edges`) that the model's mask lets it see."""
    return [name for name, edges in patterns.relations.items() if edges.use == use]


@torch.no_grad()
def ends_read(model: Tappable, patterns: Patterns, batch: Batch) -> set[str]:
    """The relations by which the last layer may change an answer.

    They end, in some sequence, at or behind the first position that is read. In a model that mixes
    positions after its attention, which is tried, they are all relations.
    """
    asked, last = batch.targets.shape[1], model.n_layers - 1
    first = batch.inputs.shape[1] - asked

    def cut(layer: int, pattern: Tensor) -> Tensor:
        read = torch.arange(pattern.shape[-2], device=pattern.device) >= first
        return pattern * read[:, None] if layer == last else pattern

    taps = (lambda _, pattern: pattern), cut
    whole, part = (model(batch.inputs, tap)[:, -asked:] for tap in taps)
    if not torch.allclose(whole, part, rtol=1e-4, atol=1e-5):
        return set(patterns.relations)
    return {name for name in patterns.relations if (patterns.relation(name).queries >= first).any()}


def candidate_paths(
    heads: Sequence[Head],
    attention: Attention,
    paths: Sequence[str],
    least: float,
    likeness: Attention | None = None,
    read: Collection[str] | None = None,
) -> dict[Head, list[str]]:
    """For every head, the paths along which it attends at least so much, the likeliest first.

    In the last layer a path must be one of `read` (see `search`): what ends elsewhere changes no
    answer.

    A wider relation that contains the one a head attends along has all of its attention, too;
    likeness (see `search`) tells the two apart. Without it, attention decides the order.
    """
    by, last = likeness or attention, max(layer for layer, _ in heads)

    return {
        (layer, head): sorted(
            (
                name
                for name in paths
                if attention[name][layer][head] >= least
                and (layer < last or read is None or name in read)
            ),
            key=lambda name: -by[name][layer][head],
        )
        for layer, head in heads
    }


def candidates_among(bench: Bench, attention: Attention, relations: Sequence[str]) -> list[Path]:
    """The paths along these relations that a circuit may use.

    A path needs an attention of at least the least of `CANDIDATE_ATTENTION`; in the last layer it
    must end at a position that is read.
    """
    read = ends_read(bench.model, bench.patterns, bench.batch)
    least = min(CANDIDATE_ATTENTION)
    by_head = candidate_paths(bench.heads, attention, relations, least, read=read)
    return [Path.of(*head, name) for head, names in by_head.items() for name in names]


def candidates_of(bench: Bench, attention: Attention, circuit: Circuit) -> list[Path]:
    """The paths that could be in the place of a circuit's.

    Roles may keep what stands there (`s2←s2`) only if they do in the circuit.
    """
    relations, stays = (searched(bench.patterns, use) for use in ("path", "stay"))
    if set(stays) & {path.relation for path in circuit.paths}:
        relations += stays
    return candidates_among(bench, attention, relations)
