"""Mechanisms of heads as data, circuits of them, and several circuits side by side."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import combinations
from statistics import fmean
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, PlainValidator

from headway.errors import HeadwayError, require, shown
from headway.late import Shown
from headway.relations.composed import ELSE
from headway.relations.fitted import Tables
from headway.relations.paths import AttentionPath, require_name
from headway.text import wrapped

Head = tuple[int, int]
"""A head's layer and its number in the layer, both from 0."""

LISTED = 64
"""The most idle heads of a kind that are listed by name."""


@dataclass(frozen=True)
class WithoutPaths:
    """A head attends along no relation: the mechanism is written as its name."""

    def __str__(self):
        return type(self).__name__.lower()


class Uniform(WithoutPaths):
    """The head attends equally to every position it may see: it does nothing of use."""


class Mean(WithoutPaths):
    """The head attends as it does on average over sequences, whatever stands in this one."""


class Corrupted(WithoutPaths):
    """The head attends as it does in the corrupted sequence (`Batch.corrupted`)."""


class Identity(WithoutPaths):
    """Every position attends to itself: the head moves nothing between positions."""


@dataclass(frozen=True)
class Tabled:
    """The head attends as tables of tokens and places tell: no relation in words explains it.

    Attributes:
        tables: fitted to the model's attention; by default to that in the sequences at hand.
    """

    tables: Tables | None = field(default=None, compare=False, repr=False)

    def __str__(self):
        return "by table"


@dataclass(frozen=True)
class Paths:
    """The head attends along these relations and nowhere else.

    A position's row is one-hot at the position its relation points to, or shared evenly by several.

    Attributes:
        relations: by name.
        rows: what stands in rows without a relation (`patterns.ABLATIONS`); by default what the
            ablation says.
    """

    relations: frozenset[str]
    rows: str | None = None

    def __str__(self):
        return "  ".join(sorted(self.relations)) or "nothing"


@dataclass(frozen=True)
class KnockOut:
    """The head attends as it does, but not along these relations: there its attention is zero."""

    relations: frozenset[str]


Mechanism = Uniform | Mean | Corrupted | Identity | Tabled | Paths | KnockOut

WITHOUT_PATHS: dict[str, Mechanism] = {
    **{str(one): one for one in (Uniform(), Mean(), Corrupted(), Identity(), Tabled())},
    "zero": Paths(frozenset()),
}
"""The mechanisms of heads that attend along no relation, as it is written."""


@dataclass(frozen=True)
class Circuit(Shown):
    """One mechanism for every head of a model.

    Attributes:
        mechanisms: by layer and head.
    """

    mechanisms: dict[Head, Mechanism]

    @property
    def paths(self) -> list[AttentionPath]:
        """Every path, in the order in which information flows."""
        return [
            AttentionPath.of(*head, relation)
            for head, mechanism in sorted(self.mechanisms.items(), key=lambda item: item[0])
            if isinstance(mechanism, Paths)
            for relation in sorted(mechanism.relations)
        ]

    @property
    def useful_heads(self) -> list[Head]:
        """The heads that move something between positions."""
        return sorted({path.at for path in self.paths} | {*self.tabled_heads})

    @property
    def tabled_heads(self) -> list[Head]:
        """The heads that attend by table, as no relation in words explains them."""
        return sorted(head for head, one in self.mechanisms.items() if isinstance(one, Tabled))

    @property
    def idle_heads(self) -> dict[str, list[Head]]:
        """The heads without use, by what they do instead."""
        idle = dict[str, list[Head]]()
        for head in sorted(set(self.mechanisms) - set(self.useful_heads)):
            idle.setdefault(str(self.mechanisms[head]), []).append(head)
        return idle

    @property
    def idle_lines(self) -> list[str]:
        """The idle heads in words, a line a kind; many are counted."""
        lines = list[str]()
        for kind, heads in self.idle_heads.items():
            names = " ".join(map(name_of, heads)) if len(heads) <= LISTED else f"{len(heads)} heads"
            lines.append(f"{kind}: {names}")
        return lines

    @property
    def useful_layers(self) -> list[int]:
        """The layers that have a useful head."""
        return sorted({layer for layer, _ in self.useful_heads})

    @property
    def complement(self) -> "dict[Head, Mechanism]":
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
        """This circuit with one path cut, which may be given as it is written: `L1.H0 2 back`."""
        path = AttentionPath.parse(path) if isinstance(path, str) else path
        mechanism = self.mechanisms[path.at]
        if not isinstance(mechanism, Paths) or path.relation not in mechanism.relations:
            raise HeadwayError(f"the circuit has no path {path}")
        left = replace(mechanism, relations=mechanism.relations - {path.relation})
        return self.replacing(path.at, left)

    def adding(self, path: AttentionPath | str) -> "Circuit":
        """This circuit with one more path; a head that had none gets it alone."""
        path = AttentionPath.parse(path) if isinstance(path, str) else path
        mechanism = self.mechanisms.get(path.at)
        old = mechanism if isinstance(mechanism, Paths) else Paths(frozenset())
        return self.replacing(path.at, replace(old, relations=old.relations | {path.relation}))

    def filled(self, rows: str) -> "Circuit":
        """This circuit with something else in rows without a path."""
        each = self.mechanisms.items()
        return Circuit(
            {h: replace(one, rows=rows) if isinstance(one, Paths) else one for h, one in each}
        )

    @property
    def program(self) -> str:
        """The circuit as a program in the manner of RASP (Weiss et al. 2021).

            x0 = embed(sequence)
            L0.H0 = aggregate(select("previous token"), x0)
            x1 = mlp(x0, L0.H0)
            L1.H0 = aggregate(select("after same token", otherwise="first position"), x1)
            x2 = mlp(x1, L1.H0)
            answer = unembed(x2)

        `headway.relations.Composed` evaluates what `select` names. `mlp` and `unembed` stand for
        what is not read, and for models without MLPs `mlp` is the sum.
        """
        lines, now = ["x0 = embed(sequence)"], "x0"
        for layer in self.useful_layers:
            heads = [head for head in self.useful_heads if head[0] == layer]
            for head in heads:
                one, select = self.mechanisms[head], f"table({now})"
                if isinstance(one, Paths):
                    named = (name.replace(ELSE, '", otherwise="') for name in sorted(one.relations))
                    select = " or ".join(f'select("{name}")' for name in named)
                lines.append(f"{name_of(head)} = aggregate({select}, {now})")
            lines.append(f"x{layer + 1} = mlp({', '.join([now, *map(name_of, heads)])})")
            now = f"x{layer + 1}"
        return "\n".join([*lines, f"answer = unembed({now})"])

    def to_json(self) -> dict[str, str | list[str]]:
        """The circuit as JSON data: `{"L0.H0": "uniform", "L1.H0": ["s0←s2"]}`."""
        return {
            name_of(head): sorted(one.relations) if isinstance(one, Paths) else str(one)
            for head, one in sorted(self.mechanisms.items(), key=lambda item: item[0])
        }

    @classmethod
    def of(
        cls, paths: Iterable[AttentionPath], others: "Mapping[Head, Mechanism] | None" = None
    ) -> "Circuit":
        """The circuit of these paths, with no heads but those that have one and some `others`."""
        return reduce(Circuit.adding, paths, cls(dict(others or {})))

    @classmethod
    def from_json(cls, heads: Any) -> "Circuit":
        """The circuit that `to_json` wrote.

        Raises:
            HeadwayError: if an entry is not a mechanism of a head.
        """
        require(isinstance(heads, dict), "circuit", heads, "an object of heads, such as L0.H0")
        return cls({head_of(name): _mechanism(entry) for name, entry in heads.items()})

    def __str__(self):
        lines = [f"{name_of(head)}: {self.mechanisms[head]}" for head in self.useful_heads]
        return "\n".join(part for line in [*lines, *self.idle_lines] for part in wrapped(line))


@dataclass(frozen=True)
class Comparison:
    """Circuits of several models of one task.

    Heads of different models have nothing in common but what they do, so circuits are compared by
    the relations that they attend along, in any head.

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
    """Compares at least two circuits, relation by relation, in the order of their layers.

    Raises:
        HeadwayError: if there are fewer.
    """
    require(len(circuits) >= 2, "circuits", len(circuits), "at least 2 to compare")
    heights: dict[str, list[int]] = {}
    for circuit in circuits:
        for path in circuit.paths:
            height = circuit.useful_layers.index(path.layer)
            heights.setdefault(path.relation, []).append(height)
    names = sorted(heights, key=lambda name: (sum(heights[name]) / len(heights[name]), name))
    heads = {
        name: [[path.at for path in one.paths if path.relation == name] for one in circuits]
        for name in names
    }
    pairs = combinations([[path.relation for path in one.paths] for one in circuits], 2)
    return Comparison(heads, fmean(jaccard(*pair) for pair in pairs))


def jaccard(first: Sequence[Any], second: Sequence[Any]) -> float:
    """The Jaccard index of two collections: the size of their intersection over their union's."""
    both = set(first) | set(second)
    return len(set(first) & set(second)) / len(both) if both else 1.0


def name_of(head: Head) -> str:
    """A head as it is written: `L1.H0`."""
    return f"L{head[0]}.H{head[1]}"


def head_of(text: object) -> Head:
    """The head that `name_of` wrote.

    Raises:
        HeadwayError: if it is none.
    """
    found = re.fullmatch(r"L([0-9]{1,6})\.H([0-9]{1,6})", text if isinstance(text, str) else "")
    if found is None:
        raise HeadwayError(f"head = {shown(text)} is not allowed: it must be written as L1.H0")
    return int(found[1]), int(found[2])


def _mechanism(entry: Any) -> Mechanism:
    if isinstance(entry, list) and all(isinstance(name, str) for name in entry):
        for name in entry:
            require_name(name)
        return Paths(frozenset(entry))
    if isinstance(entry, str) and entry in WITHOUT_PATHS:
        return WITHOUT_PATHS[entry]
    raise HeadwayError(
        f"circuit: mechanism = {shown(entry)} is not allowed: it must be"
        f" {', '.join(WITHOUT_PATHS)} or a list of relations"
    )


WrittenPath = Annotated[AttentionPath, PlainValidator(AttentionPath.parse), PlainSerializer(str)]
"""A path that is saved as `L1.H0 s0←s2`."""

WrittenHead = Annotated[Head, PlainValidator(head_of), PlainSerializer(name_of)]
"""A head that is saved as `L1.H0`."""

WrittenCircuit = Annotated[
    Circuit, PlainValidator(Circuit.from_json), PlainSerializer(Circuit.to_json)
]
"""A circuit that is saved as `{"L0.H0": "uniform", "L1.H0": ["s0←s2"]}`."""

INFINITE = {math.inf: "infinite", -math.inf: "minus infinite"}
"""Words for infinite numbers in JSON, which has none."""


def _number(written: Any) -> Any:
    """The number that a word of `INFINITE` stands for; all else as it is."""
    return next((number for number, word in INFINITE.items() if word == written), written)


WrittenLoss = Annotated[
    float, BeforeValidator(_number), PlainSerializer(lambda loss: INFINITE.get(loss, loss))
]
"""A loss, or what is computed from some, which may be infinite (see `Targets.errors`)."""
