"""Circuits: a mechanism for every head; and several circuits side by side."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator

from headway.errors import HeadwayError, require
from headway.late import Shown
from headway.relations.expressions import ELSE
from headway.relations.paths import AttentionPath
from headway.replace.heads import Head, head_of, name_of
from headway.replace.mechanism import (
    NOTHING,
    KnockOut,
    Mechanism,
    Paths,
    Tabled,
    fill_named,
    mechanism_of,
)
from headway.text import wrapped

LISTED = 64
"""The most idle heads of a kind that are listed by name."""


@dataclass(frozen=True)
class Circuit(Shown):
    """One mechanism for every head of a model.

    Attributes:
        mechanisms: by layer and head.
    """

    mechanisms: dict[Head, Mechanism]

    @property
    def in_order(self) -> list[tuple[Head, Mechanism]]:
        """Heads and their mechanisms, layer by layer."""
        return sorted(self.mechanisms.items(), key=lambda item: item[0])

    @property
    def paths(self) -> list[AttentionPath]:
        """Every path, in the order in which information flows."""
        paths = list[AttentionPath]()
        for head, mechanism in self.in_order:
            if isinstance(mechanism, Paths):
                names = sorted(mechanism.relations)
                paths += [AttentionPath.of(*head, name) for name in names]
        return paths

    @property
    def useful_heads(self) -> list[Head]:
        """The heads that move something between positions."""
        return [head for head, mechanism in self.in_order if mechanism.is_useful]

    @property
    def tabled_heads(self) -> list[Head]:
        """The heads that attend by table, as no relation in words explains them."""
        return [
            head for head, mechanism in self.in_order if isinstance(mechanism, Tabled)
        ]

    @property
    def idle_heads(self) -> dict[str, list[Head]]:
        """The heads without use, by what they do instead."""
        idle = dict[str, list[Head]]()
        for head, mechanism in self.in_order:
            if not mechanism.is_useful:
                idle.setdefault(str(mechanism), []).append(head)
        return idle

    @property
    def idle_lines(self) -> list[str]:
        """The idle heads in words, a line a kind; many are counted."""
        lines = list[str]()
        for kind, heads in self.idle_heads.items():
            names = " ".join(map(name_of, heads))
            told = names if len(heads) <= LISTED else f"{len(heads)} heads"
            lines.append(f"{kind}: {told}")
        return lines

    @property
    def useful_layers(self) -> list[int]:
        """The layers that have a useful head."""
        return sorted({layer for layer, _ in self.useful_heads})

    def with_fills(self, rows: str) -> list[Mechanism]:
        """The mechanisms, and what fills rows without a path.

        Args:
            rows: the fill of heads that name none.
        """
        every = list(self.mechanisms.values())
        fills = {rows}
        for mechanism in every:
            if isinstance(mechanism, Paths) and mechanism.rows is not None:
                fills.add(mechanism.rows)
        return every + [fill_named(name) for name in fills if name != "zero"]

    @property
    def complement(self) -> dict[Head, Mechanism]:
        """The model without the circuit: its paths cut in the heads' own attention."""
        return {
            head: KnockOut(mechanism.relations)
            for head, mechanism in self.mechanisms.items()
            if isinstance(mechanism, Paths) and mechanism.relations
        }

    def replacing(self, head: Head, mechanism: Mechanism) -> "Circuit":
        """This circuit with another mechanism for one head."""
        return Circuit({**self.mechanisms, head: mechanism})

    def without(self, path: AttentionPath | str) -> "Circuit":
        """This circuit with one path cut, perhaps given as text: `L1.H0 2 back`."""
        cut = AttentionPath.parse(path) if isinstance(path, str) else path
        mechanism = self.mechanisms[cut.at]
        if not isinstance(mechanism, Paths) or cut.relation not in mechanism.relations:
            raise HeadwayError(f"the circuit has no path {cut}")
        left = mechanism.relations - {cut.relation}
        return self.replacing(cut.at, replace(mechanism, relations=left))

    def cut_to(self, path: AttentionPath, rest: Mechanism) -> "Circuit":
        """This circuit with one path cut; a head that has no other gets a rest."""
        cut = self.without(path)
        return (
            cut if cut.mechanisms[path.at].is_useful else self.replacing(path.at, rest)
        )

    def adding(self, path: AttentionPath | str) -> "Circuit":
        """This circuit with one more path; a head that had none gets it alone."""
        new = AttentionPath.parse(path) if isinstance(path, str) else path
        mechanism = self.mechanisms.get(new.at)
        old = mechanism if isinstance(mechanism, Paths) else NOTHING
        return self.replacing(
            new.at, replace(old, relations=old.relations | {new.relation})
        )

    def filled(self, rows: str) -> "Circuit":
        """This circuit with a fill for rows without a path where it names none."""
        mechanisms = dict(self.mechanisms)
        for head, mechanism in self.mechanisms.items():
            if isinstance(mechanism, Paths) and mechanism.rows is None:
                mechanisms[head] = replace(mechanism, rows=rows)
        return Circuit(mechanisms)

    @property
    def program(self) -> str:
        """The circuit as a program in the manner of RASP (Weiss et al. 2021).

            x0 = embed(sequence)
            L0.H0 = aggregate(select("previous token"), x0)
            x1 = mlp(x0, L0.H0)
            L1.H0 = aggregate(select("after same token"), x1)
            x2 = mlp(x1, L1.H0)
            answer = unembed(x2)

        `headway.relations.Composed` evaluates what `select` names. `mlp` and `unembed`
        stand for what is not read, and for models without MLPs `mlp` is the sum.
        """
        stream = "x0"
        lines = [f"{stream} = embed(sequence)"]
        for layer in self.useful_layers:
            names = [stream]
            for head in self.useful_heads:
                if head[0] == layer:
                    names.append(name_of(head))
                    selected = _selected(self.mechanisms[head], stream)
                    lines.append(f"{name_of(head)} = aggregate({selected}, {stream})")
            stream = f"x{layer + 1}"
            lines.append(f"{stream} = mlp({', '.join(names)})")
        lines.append(f"answer = unembed({stream})")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The circuit as JSON data: `{"L0.H0": "uniform", "L1.H0": ["s0←s2"]}`."""
        return {name_of(head): mechanism.to_json() for head, mechanism in self.in_order}

    @classmethod
    def of(
        cls,
        paths: Iterable[AttentionPath],
        others: "Mapping[Head, Mechanism] | None" = None,
    ) -> "Circuit":
        """The circuit of these paths: the heads that have one, and `others`."""
        circuit = cls(dict(others or {}))
        for path in paths:
            circuit = circuit.adding(path)
        return circuit

    @classmethod
    def from_json(cls, heads: Any) -> "Circuit":
        """The circuit that `to_json` wrote.

        Raises:
            HeadwayError: if an entry is not a mechanism of a head.
        """
        require(
            isinstance(heads, dict),
            "circuit",
            heads,
            "an object of heads, such as L0.H0",
        )
        return cls(
            {head_of(name): mechanism_of(entry) for name, entry in heads.items()}
        )

    def __str__(self):
        useful = [
            f"{name_of(head)}: {self.mechanisms[head]}" for head in self.useful_heads
        ]
        lines = [*useful, *self.idle_lines]
        return "\n".join(part for line in lines for part in wrapped(line))


def _selected(mechanism: Mechanism, stream: str) -> str:
    """The selection of a head, as a program says it."""
    if not isinstance(mechanism, Paths):
        return f"table({stream})"
    names = [
        name.replace(ELSE, '", otherwise="') for name in sorted(mechanism.relations)
    ]
    return " or ".join(f'select("{name}")' for name in names)


WrittenCircuit = Annotated[
    Circuit, PlainValidator(Circuit.from_json), PlainSerializer(Circuit.to_json)
]
"""A circuit that is saved as `{"L0.H0": "uniform", "L1.H0": ["s0←s2"]}`."""


@dataclass(frozen=True)
class Comparison:
    """Circuits of several models of one task.

    Heads of different models have nothing in common but what they do, so circuits are
    compared by the relations that they attend along, in any head.

    Attributes:
        heads: for every relation, by circuit, the heads that attend along it.
        likeness: the mean over pairs of circuits of (relations in both / in either).
    """

    heads: dict[str, list[list[Head]]]
    likeness: float

    @property
    def shared(self) -> list[str]:
        """The relations that all circuits attend along."""
        return [name for name, by in self.heads.items() if all(by)]


def compare(circuits: Sequence[Circuit]) -> Comparison:
    """Compares at least two circuits, relation by relation, layer by layer.

    Raises:
        HeadwayError: if there are fewer.
    """
    require(len(circuits) >= 2, "circuits", len(circuits), "at least 2 to compare")
    heights: dict[str, list[int]] = {}
    for circuit in circuits:
        for path in circuit.paths:
            height = circuit.useful_layers.index(path.layer)
            heights.setdefault(path.relation, []).append(height)
    heads = dict[str, list[list[Head]]]()
    for name in sorted(heights, key=lambda name: (fmean(heights[name]), name)):
        heads[name] = [_heads_along(name, circuit) for circuit in circuits]
    relations = [[path.relation for path in circuit.paths] for circuit in circuits]
    pairs = combinations(relations, 2)
    likeness = fmean(jaccard(first, second) for first, second in pairs)
    return Comparison(heads, likeness)


def _heads_along(relation: str, circuit: Circuit) -> list[Head]:
    """The heads of a circuit that attend along a relation."""
    return [path.at for path in circuit.paths if path.relation == relation]


def jaccard(first: Sequence[Any], second: Sequence[Any]) -> float:
    """The Jaccard index: the size of the intersection over that of the union."""
    either = set(first) | set(second)
    common = set(first) & set(second)
    return len(common) / len(either) if either else 1.0
