"""Several circuits side by side: what they share, and where they differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from headway.circuits.mechanism import Circuit, Head
from headway.errors import require


@dataclass(frozen=True)
class Comparison:
    """Circuits of several models of one task.

    Heads of different models have nothing in common but what they do, so circuits are compared by
    the relations that they attend along, in any head.

    Attributes:
        heads: for every relation, by circuit, the heads that attend along it.
        likeness: the mean over pairs of circuits of (relations in both / in either).
        first: for every circuit, the relations of its first useful layer.
    """

    heads: dict[str, list[list[Head]]]
    likeness: float
    first: list[list[str]]

    @property
    def shared(self) -> list[str]:
        """The relations that all circuits attend along."""
        return [name for name, by in self.heads.items() if all(by)]


def compare(circuits: Sequence[Circuit]) -> Comparison:
    """Compares at least two circuits, relation by relation, in the order of their layers.

    Raises:
        HeadwayError: if there are fewer.
    """
    require(len(circuits) >= 2, "circuits", len(circuits), "at least 2 to compare")
    used = [{path.relation for path in circuit.paths} for circuit in circuits]

    def height(name: str) -> float:
        depths = [
            circuit.useful_layers.index(path.layer)
            for circuit in circuits
            for path in circuit.paths
            if path.relation == name
        ]
        return sum(depths) / len(depths)

    names = sorted(set().union(*used), key=lambda name: (height(name), name))
    pairs = [jaccard(list(a), list(b)) for a, b in combinations(used, 2)]
    return Comparison(
        heads={
            name: [[path.at for path in c.paths if path.relation == name] for c in circuits]
            for name in names
        },
        likeness=sum(pairs) / len(pairs),
        first=[
            sorted({p.relation for p in c.paths if p.layer == c.useful_layers[0]})
            if c.paths
            else []
            for c in circuits
        ],
    )


def jaccard(first: Sequence[Any], second: Sequence[Any]) -> float:
    """The Jaccard index of two collections: the size of their intersection over their union's."""
    both = set(first) | set(second)
    return len(set(first) & set(second)) / len(both) if both else 1.0
