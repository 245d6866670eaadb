"""Which relations lead to where answers are read."""

from collections.abc import Iterable

import torch
from jaxtyping import Bool
from torch import Tensor

from headway.circuits import Bench
from headway.models import Transformer
from headway.tasks import Edges

Relations = int
"""A set of relations as bits."""


class Reach:
    """Which relations bring something to positions that count, from the last layer down.

    A relation is live in a layer if what it brings to its queries there can reach the positions
    where answers are read. Some may be called live that are not, but never the reverse: two
    relations count as sharing a position if they share it in any sequence.

    Attributes:
        read: the relations that are live in the last layer.
    """

    def __init__(self, bench: Bench):
        """Looks at where relations lead on the sequences of a bench."""
        patterns, batch = bench.patterns, bench.batch
        shape = batch.inputs.shape[:2]
        names = list(patterns.relations)
        self._bits = {name: 1 << i for i, name in enumerate(names)}
        self._all = (1 << len(names)) - 1
        # other models may mix positions elsewhere; and then rows without a path look anywhere
        self._sharp = isinstance(bench.model, Transformer) and patterns.rows == "zero"
        queries = {name: _marked(edges, False, shape) for name, edges in patterns.relations.items()}
        keys = {name: _marked(edges, True, shape) for name, edges in patterns.relations.items()}
        first_read = shape[1] - batch.targets.shape[1]

        def meeting(positions: Bool[Tensor, "sequence position"]) -> Relations:
            return sum(bit for name, bit in self._bits.items() if (queries[name] & positions).any())

        reads = torch.zeros(shape, dtype=torch.bool, device=batch.inputs.device)
        reads[:, first_read:] = True
        self.read = meeting(reads) if self._sharp else self._all
        self._behind = {name: meeting(keys[name]) for name in names}

    def is_live(self, relation: str, live: Relations) -> bool:
        """Whether a relation is among the live ones."""
        return bool(self._bits[relation] & live)

    def opened(self, relations: Iterable[str]) -> Relations:
        """The relations that become live below a layer in which heads read along these."""
        if not self._sharp:
            return self._all
        found = 0
        for name in relations:
            found |= self._behind[name]
        return found


def _marked(
    edges: Edges, at_keys: bool, shape: tuple[int, ...]
) -> Bool[Tensor, "sequence position"]:
    """Which positions are queries, or keys, of a relation."""
    there = edges.there if at_keys else edges.there.any(-1)
    positions = (edges.keys if at_keys else edges.queries).clamp(min=0)
    marked = torch.zeros(tuple(shape), device=positions.device)
    marked.scatter_add_(1, positions.flatten(1), there.flatten(1).to(marked.dtype))
    return marked > 0
