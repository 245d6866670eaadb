"""What a head does, as data: a mechanism for every head is a circuit."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from headway.errors import HeadwayError, require

Head = tuple[int, int]
"""A head's layer and its number in the layer, both from 0."""


@dataclass(frozen=True)
class Uniform:
    """The head attends equally to every position it may see: it does nothing of use."""

    def __str__(self):
        return "uniform"


@dataclass(frozen=True)
class Identity:
    """Every position attends to itself: the head moves nothing between positions."""

    def __str__(self):
        return "identity"


@dataclass(frozen=True)
class Paths:
    """The head attends along these relations and nowhere else.

    A position's row is one-hot at the position its relation points to, or shared evenly by several.
    What stands in rows without a relation is up to the ablation (`patterns.ABLATIONS`); by default
    they are zero, so that nothing is moved there.
    """

    relations: frozenset[str]

    def __str__(self):
        return "  ".join(sorted(self.relations)) or "nothing"

    def __len__(self):
        return len(self.relations)

    def without(self, relation: str) -> "Paths":
        """The same mechanism with one path cut."""
        return Paths(self.relations - {relation})


@dataclass(frozen=True)
class KnockOut:
    """The head attends as it does, but not along these relations: there its attention is zero."""

    relations: frozenset[str]

    def __str__(self):
        return "without " + "  ".join(sorted(self.relations))


Mechanism = Uniform | Identity | Paths | KnockOut
Path = tuple[int, int, str]
"""A layer, a head and the relation that it attends along."""


@dataclass(frozen=True)
class Circuit:
    """One mechanism for every head of a model.

    Attributes:
        mechanisms: by layer and head.
    """

    mechanisms: dict[Head, Mechanism]

    @property
    def paths(self) -> list[tuple[int, int, str]]:
        """Every path as (layer, head, relation), in the order in which information flows."""
        return [
            (*head, relation)
            for head, mechanism in sorted(self.mechanisms.items(), key=lambda item: item[0])
            if isinstance(mechanism, Paths)
            for relation in sorted(mechanism.relations)
        ]

    @property
    def useful_heads(self) -> list[Head]:
        """The heads that move something between positions."""
        return sorted({(layer, head) for layer, head, _ in self.paths})

    @property
    def useful_layers(self) -> list[int]:
        """The layers that have a useful head."""
        return sorted({layer for layer, _ in self.useful_heads})

    def replacing(self, head: Head, mechanism: Mechanism) -> "Circuit":
        """The same circuit with another mechanism for one head."""
        return Circuit({**self.mechanisms, head: mechanism})

    def without(self, path: tuple[int, int, str]) -> "Circuit":
        """The same circuit with one path cut."""
        layer, head, relation = path
        mechanism = self.mechanisms[layer, head]
        if not isinstance(mechanism, Paths) or relation not in mechanism.relations:
            raise HeadwayError(f"the circuit has no path {relation} at layer {layer} head {head}")
        return self.replacing((layer, head), mechanism.without(relation))

    def to_json(self) -> list[dict[str, Any]]:
        """The circuit as JSON data, one entry a head."""
        return [
            {"layer": layer, "head": head, **_mechanism_to_json(mechanism)}
            for (layer, head), mechanism in sorted(
                self.mechanisms.items(), key=lambda item: item[0]
            )
        ]

    @classmethod
    def of(cls, paths: Iterable[Path]) -> "Circuit":
        """The circuit of these paths, with no heads but those that have one."""
        relations: dict[Head, set[str]] = {}
        for layer, head, relation in paths:
            relations.setdefault((layer, head), set()).add(relation)
        return cls({head: Paths(frozenset(found)) for head, found in relations.items()})

    @classmethod
    def from_json(cls, entries: list[Any]) -> "Circuit":
        """The circuit that `to_json` wrote.

        Raises:
            HeadwayError: if an entry is not a mechanism of a head.
        """
        mechanisms: dict[Head, Mechanism] = {}
        for entry in entries:
            fits = isinstance(entry, dict) and {"layer", "head", "mechanism"} <= entry.keys()
            require(fits, "circuit: head", entry, "an object with layer, head and mechanism")
            head = entry["layer"], entry["head"]
            whole = all(type(number) is int for number in head)
            require(whole, "circuit: (layer, head)", head, "two whole numbers")
            require(head not in mechanisms, "circuit: (layer, head)", head, "given only once")
            mechanisms[head] = _mechanism_from_json(entry)
        return cls(mechanisms)

    def __str__(self):
        lines = [
            f"layer {layer} head {head}: {mechanism}"
            for (layer, head), mechanism in sorted(
                self.mechanisms.items(), key=lambda item: item[0]
            )
        ]
        return "\n".join(lines)


def _mechanism_to_json(mechanism: Mechanism) -> dict[str, Any]:
    if isinstance(mechanism, Paths):
        return {"mechanism": "paths", "relations": sorted(mechanism.relations)}
    return {"mechanism": str(mechanism)}


def _mechanism_from_json(entry: dict[str, Any]) -> Mechanism:
    kind = entry["mechanism"]
    if kind == "paths":
        names = entry.get("relations", [])
        fits = isinstance(names, list) and all(isinstance(name, str) for name in names)
        require(fits, "circuit: relations", names, "a list of relations' names")
        return Paths(frozenset(names))
    plain = {"uniform": Uniform(), "identity": Identity()}
    known = isinstance(kind, str) and kind in plain
    require(known, "circuit: mechanism", kind, "uniform, identity or paths")
    return plain[kind]
