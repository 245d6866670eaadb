"""The circuit of a trained model by exchange, found without a search for circuits.

Chosen from are paths with an attention of at least 0.1. A set of them is *enough* if
the model answers as before although all that is beside it is exchanged, and with its
paths hard, too (`headway.judge.by_exchange`). The truth are the smallest sets that are
enough. To know how small they may be, path after path is given up as long as the rest,
with attention as it is, is enough; then every set up to that size is judged, where
these are few. A path without which all the others are not enough is taken to be in
every set. If no set is enough, rows without a path may
be by place: they keep what they read, and attend as in a sequence of another layout.

A path that carries the same in every sequence does not look required, as it would if
zeros stood in its place.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

import torch

from headway.find import candidates_among
from headway.judge import LIMIT, all_else_exchanged, enough
from headway.models import Tappable
from headway.relations import AttentionPath
from headway.replace import Bench, Circuit, Exchange, Head
from headway.tasks import Task
from headway.training import held_out
from headway_experiments.arena.case import LeftOutError, Paths

SEQUENCES = 128
"""Sequences that sets of paths are judged on."""

MOST = 3_000
"""Sets of paths of the smallest sizes that are judged at most."""


@dataclass(frozen=True)
class Truth:
    """The circuits that exchange shows a model to have.

    Attributes:
        circuits: the smallest sets of paths that are enough, the one with most
            attention first.
        all_judged: whether every set as small was judged.
        rows: what stands in rows without a path: `mean` if they are by place, else
            nothing said.
    """

    circuits: list[Paths]
    all_judged: bool
    rows: str | None

    @property
    def required(self) -> Paths:
        """The paths that every one has."""
        return frozenset.intersection(*self.circuits)

    @property
    def alternatives(self) -> tuple[tuple[Paths, ...], ...]:
        """The paths that each has beside these, where there are several (see
        `Known.alternatives`).
        """
        if len(self.circuits) == 1:
            return ()
        return (tuple(paths - self.required for paths in self.circuits),)


def truth_by_exchange(
    model: Tappable,
    task: Task,
    seed: int,
    heads: Collection[Head] | None = None,
    most: int = MOST,
) -> Truth:
    """The smallest sets of paths that are enough.

    Args:
        model: with a tap.
        task: that it was trained on.
        seed: of the sequences.
        heads: that may have paths; by default all.
        most: sets that are judged at most, beside those of giving up one path after the
            other.

    Raises:
        LeftOutError: if no set is enough: attention is too soft for paths.
    """
    exchange = Exchange.drawn(
        model, task, SEQUENCES, torch.Generator().manual_seed(seed)
    )
    batch = held_out(task, SEQUENCES, seed, "cpu", "truth")
    bench = Bench(model, task, batch)
    candidates = candidates_among(bench)
    if heads is not None:
        candidates = [path for path in candidates if path.at in heads]
    attention = bench.patterns.attention

    def attended(paths: Paths) -> float:
        return sum(attention[path.relation][path.layer][path.head] for path in paths)

    for rows in (None, "mean"):
        sets = _Sets(exchange, candidates, rows)
        circuits, all_judged = sets.smallest(sets.given_up(), most)
        if circuits:
            circuits.sort(key=attended, reverse=True)
            return Truth(circuits, all_judged, rows)
    raise LeftOutError(f"no few of its {len(candidates)} candidate paths are enough")


def circuit_of(paths: Iterable[AttentionPath], rows: str | None) -> Circuit:
    """The circuit of some paths, with what stands in rows without one."""
    circuit = Circuit.of(sorted(paths))
    return circuit if rows is None else circuit.filled(rows)


class _Sets:
    """Sets of candidate paths, and whether they are enough."""

    def __init__(
        self, exchange: Exchange, candidates: list[AttentionPath], rows: str | None
    ):
        self.exchange = exchange
        self.candidates = candidates
        self.rows = rows
        length = exchange.batch.inputs.shape[1]
        self.widths: dict[str, int] = {}
        for name in {path.relation for path in candidates}:
            cells = exchange.patterns.relation(name).mask(length)
            self.widths[name] = int(cells.sum())

    def circuit(self, paths: Iterable[AttentionPath]) -> Circuit:
        """The circuit of some paths."""
        return circuit_of(paths, self.rows)

    def is_enough(self, paths: Iterable[AttentionPath]) -> bool:
        """True if answers stay with all else exchanged, and with hard paths."""
        if self.soft_cost(paths) >= LIMIT:
            return False
        costs = enough(self.exchange, self.circuit(paths))
        return max(cost.most for cost in costs.values()) < LIMIT

    def soft_cost(self, paths: Iterable[AttentionPath]) -> float:
        """The cost of exchanging all that is beside some paths, with attention as it
        is.
        """
        return all_else_exchanged(self.exchange, self.circuit(paths)).most

    @cached_property
    def required(self) -> Paths:
        """The paths without which all the other candidates are not enough."""
        required = set()
        for gone in self.candidates:
            others = [path for path in self.candidates if path != gone]
            if self.soft_cost(others) >= LIMIT:
                required.add(gone)
        return frozenset(required)

    def given_up(self) -> Paths:
        """The paths that are left when one after the other is given up: the widest
        first, then the cheapest.

        A wider relation, which holds the cells of others, would else stay in their
        place.
        """
        left = list(self.candidates)
        while True:
            may_go = [path for path in left if path not in self.required]
            without = {gone: [path for path in left if path != gone] for gone in may_go}
            costs = {gone: self.soft_cost(paths) for gone, paths in without.items()}
            spare = [gone for gone in may_go if costs[gone] < LIMIT]
            if not spare:
                return frozenset(left)
            gone = min(
                spare, key=lambda path: (-self.widths[path.relation], costs[path])
            )
            left = without[gone]

    def smallest(self, known: Paths, most: int) -> tuple[list[Paths], bool]:
        """The smallest sets that are enough, and whether all up to the size of one were
        judged.

        Args:
            known: a set that is enough with attention as it is.
            most: sets that are judged at most.
        """
        others = [path for path in self.candidates if path not in self.required]
        judged = 0
        for size in range(len(known - self.required) + 1):
            judged += comb(len(others), size)
            if judged > most:
                return [known] if self.is_enough(known) else [], False
            sets = (self.required.union(some) for some in combinations(others, size))
            if circuits := [paths for paths in sets if self.is_enough(paths)]:
                return circuits, True
        return [], True
