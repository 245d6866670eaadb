"""Strong attention along no path of the circuit, and what it costs to cut it.

A head's attention has to go somewhere. Where it goes when there is nothing to fetch looks as strong
in a map as a path does, and costs nothing to cut.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from headway.circuits.ablation import Bench
from headway.circuits.mechanism import KnockOut
from headway.circuits.patterns import attention_along
from headway.models import Tappable, attention_patterns
from headway.paths import Path, Relation
from headway.tasks import Batch, Task

STRONG = 0.3
"""Mean attention from here on counts as strong."""

MOST = 48
"""How many are cut at most, the strongest first."""


@dataclass(frozen=True)
class Stray:
    """Strong attention along a relation that is no path of the circuit.

    Attributes:
        path: layer, head and relation.
        attention: along it, averaged over sequences and rows.
        rise: of the model's loss with this attention at zero, all else as it is.
    """

    path: Path
    attention: float
    rise: float


@torch.no_grad()
def strays(model: Tappable, task: Task, batch: Batch, paths: Sequence[Path]) -> list[Stray]:
    """Strong attention along other relations than a circuit's paths, the strongest first.

    Args:
        model: of any kind that has a tap.
        task: that it was trained on.
        batch: over which attention and losses are averaged.
        paths: of the circuit.
    """
    bench = Bench(model, task, batch)
    patterns, known = attention_patterns(model, batch.inputs), set(paths)
    found: list[tuple[float, Path]] = []
    for name, edges in bench.patterns.relations.items():
        if edges.use == "measured":
            continue
        along = attention_along(patterns, edges)
        for layer, head in (along >= STRONG).nonzero().tolist():
            path = Path(layer, head, Relation(name))
            if path not in known:
                found.append((along[layer, head].item(), path))
    found = sorted(found, key=lambda one: (-one[0], one[1]))[:MOST]
    cuts = [{path.at: KnockOut(frozenset({path.relation}))} for _, path in found]
    whole, *without = bench.losses([{}, *cuts])
    return [
        Stray(path, attention, loss - whole)
        for (attention, path), loss in zip(found, without, strict=True)
    ]
