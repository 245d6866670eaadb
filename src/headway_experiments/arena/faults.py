"""Right circuits with one fault each: what a judge of circuits must refuse."""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from headway.relations import AttentionPath
from headway.replace import (
    OWN,
    Circuit,
    Exchange,
    Head,
    Mean,
    Paths,
    Uniform,
    measured_weights,
    name_of,
)

OF_A_KIND, AT_LEAST = 3, 10
"""Faults of a kind, and of all kinds; where kinds have too few, others have more."""

STEADY = 0.05
"""A head attends by a fixed pattern if at most this share of its attention, at the rows
of its paths, lies elsewhere (see `Faults.apart`): to say so is no fault."""

ALIKE = 0.9
"""Relations whose cells are the same to this share, or more, are one: neither is a
fault.
"""

WEIGHED = 32
"""Sequences in which rows are weighed by how much they matter."""

LESS = frozenset(
    {
        "path dropped",
        "head without its paths",
        "needed head as mean",
        "needed head as uniform",
    }
)
"""Kinds of faults by which a circuit has fewer paths."""


@dataclass(frozen=True)
class Fault:
    """A circuit that differs from the right one.

    Attributes:
        kind: of the difference; `none` of the right one.
        what: it is.
        circuit: with it.
    """

    kind: str
    what: str
    circuit: Circuit


def _ends(relation: str) -> set[str]:
    """The roles between which a relation leads, if it is one between roles."""
    path = AttentionPath.of(0, 0, relation)
    return {*(path.relation.ends or ())}


class Faults:
    """The faults that a right circuit may have.

    Args:
        exchange: the model on some sequences. Only its attention is looked at.
        right: its circuit.
        acceptable: paths that another right circuit may have.
    """

    def __init__(
        self, exchange: Exchange, right: Circuit, acceptable: frozenset[AttentionPath]
    ):
        self.exchange = exchange
        self.right = right
        self.acceptable = acceptable

    def drawn(self, draw: random.Random) -> list[Fault]:
        """Wrong circuits of every kind, some of each."""
        chosen = []
        others = list[Fault]()
        for made in self._kinds().values():
            wrong = [fault for fault in made() if self.is_wrong(fault)]
            draw.shuffle(wrong)
            chosen += wrong[:OF_A_KIND]
            others += wrong[OF_A_KIND:]
        draw.shuffle(others)
        missing = max(0, AT_LEAST - len(chosen))
        return chosen + others[:missing]

    def _kinds(self) -> Mapping[str, Callable[[], Iterator[Fault]]]:
        """The makers of faults, by kind."""
        return {
            "path dropped": self.dropped,
            "head without its paths": self.emptied,
            "needed head as mean": self.as_mean,
            "needed head as uniform": self.as_uniform,
            "path added to its head": self.added,
            "idle head with a path": self.idle_with_path,
            "neighbouring relation": self.neighbouring,
            "wrong head": self.moved,
        }

    def is_wrong(self, fault: Fault) -> bool:
        """False of a circuit that has other paths than the right one, but none that is
        wrong.
        """
        return fault.kind in LESS or not {*fault.circuit.paths} <= self.acceptable

    # Less than the circuit

    def dropped(self) -> Iterator[Fault]:
        """A path is missing."""
        for path in self.right.paths:
            yield Fault("path dropped", str(path), self.right.without(path))

    def emptied(self) -> Iterator[Fault]:
        """A head of several paths has none."""
        for head in self.right.useful_heads:
            paths = [path for path in self.right.paths if path.at == head]
            if len(paths) > 1:
                circuit = self.right.replacing(head, Paths(frozenset()))
                yield Fault("head without its paths", name_of(head), circuit)

    def as_mean(self) -> Iterator[Fault]:
        """A head is said to attend by place, and does not."""
        for head in self.right.useful_heads:
            rows = self.rows(head)
            count = rows.sum(0).clamp(min=1)[:, None]
            on_rows = self.attention(head) * rows[..., None]
            if self.apart(head, on_rows.sum(0) / count) > STEADY:
                circuit = self.right.replacing(head, Mean())
                yield Fault("needed head as mean", name_of(head), circuit)

    def as_uniform(self) -> Iterator[Fault]:
        """A head is said to attend evenly, and does not."""
        for head in self.right.useful_heads:
            even = self.exchange.patterns.dense(Uniform(), head)
            if self.apart(head, even) > STEADY:
                circuit = self.right.replacing(head, Uniform())
                yield Fault("needed head as uniform", name_of(head), circuit)

    # More than the circuit

    def added(self) -> Iterator[Fault]:
        """A head of the circuit has one more path."""
        for head in self.right.useful_heads:
            yield from self._with_each_path("path added to its head", head)

    def idle_with_path(self) -> Iterator[Fault]:
        """A head beside the circuit has a path."""
        for head in self.exchange.heads:
            if head not in self.right.useful_heads:
                yield from self._with_each_path("idle head with a path", head)

    def _with_each_path(self, kind: str, head: Head) -> Iterator[Fault]:
        for name in self.relations(head):
            path = AttentionPath.of(*head, name)
            if path not in self.right.paths:
                yield Fault(kind, str(path), self.right.adding(path))

    # Another than the circuit

    def neighbouring(self) -> Iterator[Fault]:
        """A path leads from the same place to another, or from another to the same."""
        for path in self.right.paths:
            for name in self.relations(path.at):
                other = AttentionPath.of(*path.at, name)
                if other not in self.right.paths and self.is_near(path.relation, name):
                    circuit = self.right.without(path).adding(other)
                    yield Fault("neighbouring relation", f"{path} → {name}", circuit)

    def moved(self) -> Iterator[Fault]:
        """Another head has a path."""
        for path in self.right.paths:
            for head in self.exchange.heads:
                other = AttentionPath.of(*head, path.relation)
                if head != path.at and other not in self.right.paths:
                    circuit = self.right.without(path).adding(other)
                    yield Fault("wrong head", f"{path} → {name_of(head)}", circuit)

    # What is looked at

    def relations(self, head: Head) -> list[str]:
        """The relations that a head may follow; in the last layer they must end at a
        query.
        """
        patterns = self.exchange.patterns
        is_last = head[0] == self.exchange.model.n_layers - 1
        return [name for name in self.names if not is_last or name in patterns.read]

    @cached_property
    def names(self) -> list[str]:
        """The relations that may be paths and lead anywhere."""
        names = self.exchange.patterns.used_as("path")
        return [name for name in names if self.cells(name).any()]

    def is_near(self, name: str, other: str) -> bool:
        """True if two relations share a role, or cells, and are not as good as one."""
        first = self.cells(name)
        second = self.cells(other)
        both = first & second
        either = first | second
        likeness = both.sum() / either.sum()
        shares_an_end = bool(_ends(name) & _ends(other))
        is_beside = shares_an_end or bool(likeness > 0)
        return is_beside and bool(likeness < ALIKE)

    def cells(self, name: str) -> Tensor:
        """The cells of a relation, [sequence, query, key]."""
        batch = self.exchange.batch
        return self.exchange.patterns.relation(name).mask(batch.inputs.shape[1])

    def attention(self, head: Head) -> Tensor:
        """The attention of a head, [sequence, query, key]."""
        return self.exchange.carried[OWN].patterns[head[0]][:, head[1]]

    def rows(self, head: Head) -> Tensor:
        """True where a head has a path, [sequence, query]."""
        paths = [path for path in self.right.paths if path.at == head]
        cells = torch.stack([self.cells(path.relation) for path in paths])
        return cells.any(0).any(2)

    def apart(self, head: Head, fixed: Tensor) -> float:
        """The share of attention that a fixed pattern has elsewhere, at the rows of its
        paths.

        Where the pattern fits some of these rows, each counts as much as it matters: as
        much as outputs move if its attention is replaced by a mean, or by zeros
        (`rows.measured_weights`).
        """
        change = self.attention(head) - fixed
        elsewhere = change.abs().sum(2) / 2
        rows = self.rows(head)
        on_rows = elsewhere[rows]
        steady_rows = (on_rows <= STEADY).float().mean()
        if steady_rows.item() < STEADY:
            return on_rows.mean().item()
        some = slice(WEIGHED)
        weights = self._weights(head, some) * rows[some]
        total = weights.sum().clamp(min=1e-9)
        weighed = (elsewhere[some] * weights).sum() / total
        return weighed.item()

    def _weights(self, head: Head, some: slice) -> Tensor:
        """The weight of every row of a head in some sequences, [sequence, query]."""
        exchange = self.exchange
        batch = exchange.batch.part(some)
        weights = measured_weights(exchange.model, exchange.task, batch, [head])
        layer, number = head
        return weights[:, layer, number]
