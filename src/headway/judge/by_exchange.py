"""Verdicts on a circuit by exchange (see `exchange`).

A circuit says along which paths heads carry something. It is *enough* if the model
answers as before although all that is beside its paths is exchanged. This is tried with
its paths as they are, with hard paths (heads attend along them alone), and with hard
paths up to each layer. If another head stands in for one, that one is exchanged, and
this one attends hard. A head that attends by table is one of the circuit's; hard, it
attends as the table says.

The circuit is *complete* if no head and no row beside it changes answers when it alone
is exchanged. It has *nothing spare* if each path, and each head by table, changes
answers when what it carries is exchanged.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import TypeVar

import torch

from headway.judge.costs import Costs
from headway.judge.judgement import (
    CLEARLY,
    LIMIT,
    MOVED,
    Beside,
    Cost,
    Judgement,
    Shape,
    costless,
)
from headway.judge.swaps import Swaps
from headway.relations.paths import AttentionPath
from headway.replace.ablation import Candidate
from headway.replace.circuit import Circuit
from headway.replace.exchange import (
    ELSEWHERE,
    OWN,
    WHOLE_HEAD,
    Change,
    Exchange,
    Swap,
    Term,
)
from headway.replace.heads import Head
from headway.replace.mechanism import Mean, Mechanism, Paths
from headway.replace.partners import trailing

ALL_ELSE = "all else exchanged"

MOVED_HEAD: Swap = (Term(1.0, ELSEWHERE, ELSEWHERE),)
"""The head carries all that it carries in a sequence of another layout."""

MOVED_ATTENTION: Swap = (Term(1.0, ELSEWHERE, OWN),)
"""The head reads its own values where it attends in a sequence of another layout."""

T = TypeVar("T")


def judge(exchange: Exchange, circuit: Circuit, limit: float = LIMIT) -> Judgement:
    """Judges a circuit by exchange.

    Args:
        exchange: the model on sequences that the search for the circuit did not see.
        circuit: a mechanism for every head, or for those that have paths.
        limit: the share from which a change costs.
    """
    return _Judging(exchange, circuit, limit).judgement()


def enough(exchange: Exchange, circuit: Circuit) -> dict[str, Cost]:
    """The costs of all that is beside a circuit (see `Judgement.enough`)."""
    judging = _Judging(exchange, circuit, LIMIT)
    return judging.enough(judging.all_beside())


def all_else_exchanged(exchange: Exchange, circuit: Circuit) -> Cost:
    """The cost of exchanging all that is beside a circuit, its paths as they are."""
    judging = _Judging(exchange, circuit, LIMIT)
    change = Change(judging.all_beside(), judging.means)
    costs = judging.costs.once({ALL_ELSE: change}, judging.key_of)
    return costs[ALL_ELSE]


class _Judging:
    """A circuit that is judged, and what is known of its parts."""

    def __init__(self, exchange: Exchange, circuit: Circuit, limit: float):
        self.exchange = exchange
        self.circuit = circuit
        self.limit = limit
        self.before = exchange.passes
        self.costs = Costs(exchange)
        self.swaps = Swaps(exchange, circuit)
        self.names = self.swaps.names
        mechanisms = circuit.mechanisms.items()
        self.tables = {
            head: mechanism
            for head, mechanism in mechanisms
            if mechanism.is_useful and not isinstance(mechanism, Paths)
        }
        useful = {*self.names, *self.tables}
        self.beside = [head for head in exchange.heads if head not in useful]

    @cached_property
    def alone(self) -> dict[Head, Cost]:
        """The cost of exchanging each head without a path; where its whole layer costs
        nothing, that of the layer.
        """
        return self.layer_by_layer("exchanged", self.beside, WHOLE_HEAD)

    @cached_property
    def by_place(self) -> list[Head]:
        """The heads said to be by place: their mean stands there, and they matter."""
        by_mean = [
            head for head in self.beside if self.circuit.mechanisms.get(head) == Mean()
        ]
        return [head for head in by_mean if self.counts(self.alone[head])]

    def judgement(self) -> Judgement:
        """All costs; what has cost enough in one way is not tried in others."""
        around = self.all_beside()
        return Judgement(
            enough=self.enough(around),
            heads=self.heads_beside(),
            rows=self.rows_beside(),
            shapes=self.shapes(),
            paths=self.paths(around),
            tables=self.tables_exchanged(around),
            everything=self.costs.rise_of_everything,
            passes=math.ceil(self.exchange.passes - self.before),
            limit=self.limit,
        )

    def key_of(self, what: str) -> tuple[Hashable, ...]:
        """The key of a change of the circuit."""
        paths = map(self.swaps.key_of, self.names)
        tables = [(head, mechanism.told_by) for head, mechanism in self.tables.items()]
        return (what, *self.by_place, *paths, *tables)

    def counts(self, cost: Cost) -> bool:
        """True if something costs as much as the limit."""
        return cost.most >= self.limit

    # Heads and rows beside the circuit

    def heads_beside(self) -> list[Beside]:
        """The heads without a path, by what an exchange of them costs."""
        alone = self.alone
        placed = self.costs.each("placed", self.by_place, MOVED_ATTENTION)
        needed = list[Beside]()
        spared = list[Head]()
        for head in self.beside:
            if not self.counts(alone[head]):
                spared.append(head)
            elif head in placed and not self.counts(placed[head]):
                needed.append(Beside(head, "by place", alone[head]))
            else:
                needed.append(Beside(head, "votes too", alone[head]))
        return needed + self.quiet(spared)

    def quiet(self, heads: Sequence[Head]) -> list[Beside]:
        """The heads that may carry what they carry in any sequence of the layout.

        One that is missed all the same carries what is the same in all sequences, or
        tells of the layout. Then it costs something to put in what it carries in
        another layout.
        """
        alone = self.alone
        absent = self.layer_by_layer("absent", heads, ())
        missed = [head for head in heads if self.counts(absent[head])]
        moved = self.costs.each("moved", missed, MOVED_HEAD)
        spared = list[Beside]()
        for head in heads:
            if head not in moved:
                spared.append(Beside(head, "not needed", alone[head]))
            elif self.counts(moved[head]):
                spared.append(Beside(head, "votes too", moved[head], MOVED))
            else:
                spared.append(Beside(head, "the same in all sequences", alone[head]))
        return spared

    def layer_by_layer(
        self, what: str, heads: Sequence[Head], swap: Swap
    ) -> dict[Head, Cost]:
        """The costs of the same swap of some heads.

        The heads of a layer are changed at once; one by one where that costs.

        Args:
            what: the swap is called.
            heads: that are changed.
            swap: what each then reads.
        """
        by_layer = dict[int, list[Head]]()
        for head in heads:
            by_layer.setdefault(head[0], []).append(head)
        layers = map(tuple, by_layer.values())
        at_once = {each: Change(dict.fromkeys(each, swap)) for each in layers}
        costs = dict[Head, Cost]()
        singly = list[Head]()
        for each, cost in self.costs.once(at_once, lambda each: (what, *each)).items():
            costs |= dict.fromkeys(each, cost)
            if len(each) > 1 and self.counts(cost):
                singly += each
        return costs | self.costs.each(what, singly, swap)

    def rows_beside(self) -> dict[Head, Cost]:
        """The costs of rows without a path, of every head that has paths."""
        changes = {
            head: Change({head: self.swaps.rows_exchanged(head)}) for head in self.names
        }
        return self.costs.once(changes, lambda head: ("rows", *self.swaps.key_of(head)))

    # The circuit alone

    def all_beside(self) -> dict[Head, Swap]:
        """All beside the circuit exchanged, but for heads said to be by place."""
        swaps = dict[Head, Swap]()
        for head in self.beside:
            if head not in self.by_place:
                swaps[head] = WHOLE_HEAD
        for head in self.names:
            swaps[head] = self.swaps.rows_exchanged(head)
        return swaps

    @property
    def means(self) -> dict[Head, Mechanism]:
        """The mean patterns of heads that are said to be by place."""
        return dict.fromkeys(self.by_place, Mean())

    @property
    def hard(self) -> dict[Head, Mechanism]:
        """The heads of the circuit attend along their paths alone, in rows that have
        one; or as their tables say."""
        paths = {head: self.swaps.along(head) for head in self.names}
        return {**paths, **self.tables, **self.means}

    @property
    def hard_parts(self) -> str:
        """The kinds of parts of the circuit, in words."""
        if not self.tables:
            return "paths"
        return "paths and tables" if self.names else "tables"

    def enough(self, around: Mapping[Head, Swap]) -> dict[str, Cost]:
        """The costs of all beside the circuit, with its paths as they are and hard."""
        hard = self.hard
        changes = {ALL_ELSE: Change(around, self.means)}
        all_hard = f"{ALL_ELSE} and {self.hard_parts} hard"
        changes[all_hard] = Change(around, hard)
        for layer in range(self.exchange.model.n_layers - 1):
            below = Change(_up_to(layer, around), _up_to(layer, hard))
            changes[f"{all_hard} up to layer {layer}, heads above free"] = below
        return self.costs.once(changes, self.key_of)

    def shapes(self) -> list[Shape]:
        """The heads that others stand in for, each with its paths hard while another is
        exchanged.

        As long as another head does its job, a head's paths may be anything.
        """
        covered = costless(self.costs.each("absent", self.names, ()), self.limit)
        if not covered:
            return []
        without = {twin: Change({twin: WHOLE_HEAD}) for twin in self.names}
        hard = dict[tuple[Head, Head], Change]()
        for twin, head in product(self.names, covered):
            if head != twin:
                swaps = without[twin].swaps
                hard[head, twin] = Change(swaps, {head: self.swaps.along(head)})
        # All at once, as they have much in common.
        measured = self.costs.after([*without.values(), *hard.values()])
        before = dict(zip(without, measured[: len(without)], strict=True))
        shapes = list[Shape]()
        for (head, twin), after in zip(hard, measured[len(without) :], strict=True):
            shapes.append(Shape(head, twin, self.costs.between(before[twin], after)))
        return shapes

    # Paths and tables

    def paths(self, around: Mapping[Head, Swap]) -> dict[AttentionPath, Cost]:
        """The cost of each path in the way that costs most, until one costs enough."""
        most = dict[AttentionPath, Cost]()
        self.try_alone(most, "exchanged", self.swaps.path_exchanged)
        self.try_alone(most, "cut", self.swaps.path_cut)
        if self.has_layouts:
            self.try_alone(most, "elsewhere", self.swaps.path_elsewhere)
        left = self.left_of(most)
        if left:
            swaps = [(path.at, self.swaps.with_rows_exchanged(path)) for path in left]
            costs = self.together(around, swaps)
            _keep_most(most, dict(zip(left, costs, strict=True)))
        return most

    def together(
        self, around: Mapping[Head, Swap], swaps: Sequence[tuple[Head, Swap]]
    ) -> list[Cost]:
        """The costs of swaps of a head each, with all beside the circuit exchanged."""
        means = self.means
        before = Change(around, means)
        changes = [Change({**around, head: swap}, means) for head, swap in swaps]
        return self.costs.of(changes, before)

    def try_alone(
        self,
        most: dict[AttentionPath, Cost],
        way: str,
        swap: Callable[[AttentionPath], Swap],
    ) -> None:
        """Tries a way that changes one path alone with all paths too cheap so far.

        Args:
            most: the highest cost of each path so far.
            way: what the change is called.
            swap: the change.
        """
        changes = {path: Change({path.at: swap(path)}) for path in self.left_of(most)}
        costs = self.costs.once(changes, lambda path: (way, path, *self.names[path.at]))
        _keep_most(most, costs)

    def left_of(self, most: Mapping[AttentionPath, Cost]) -> list[AttentionPath]:
        """The paths that have not clearly cost something so far."""
        clear = CLEARLY * self.limit
        return [p for p in self.circuit.paths if p not in most or most[p].most < clear]

    @property
    def has_layouts(self) -> bool:
        """True if there are sequences of another layout."""
        batch = self.exchange.batch
        elsewhere = self.exchange.others[ELSEWHERE].batch
        same_roles = torch.equal(elsewhere.roles, batch.roles)
        same_lengths = torch.equal(trailing(elsewhere.inputs), trailing(batch.inputs))
        return not (same_roles and same_lengths)

    def tables_exchanged(self, around: Mapping[Head, Swap]) -> dict[Head, Cost]:
        """The cost of exchanging each head that attends by table: alone, or if that
        costs nothing, beside all that is beside the circuit."""
        costs = self.costs.each("exchanged", self.tables, WHOLE_HEAD)
        spared = costless(costs, self.limit)
        if spared:
            beside = self.together(around, [(head, WHOLE_HEAD) for head in spared])
            costs |= zip(spared, beside, strict=True)
        return costs


def _up_to(layer: int, by_head: Mapping[Head, T]) -> dict[Head, T]:
    """The entries of heads in the layers up to one."""
    return {head: what for head, what in by_head.items() if head[0] <= layer}


def _keep_most(
    most: dict[AttentionPath, Cost], costs: Mapping[AttentionPath, Cost]
) -> None:
    """Keeps the highest cost of each path."""
    for path, cost in costs.items():
        known = most.get(path, cost)
        most[path] = max(known, cost, key=lambda cost: cost.most)


def costs_alone(
    exchange: Exchange, candidates: Sequence[Candidate], limit: float = LIMIT
) -> list[float]:
    """The costs of leaving each of several circuits alone.

    All that is beside its paths is exchanged, and its heads attend along them alone.
    Heads without a mechanism are left as they are.

    Args:
        exchange: the model.
        candidates: mechanisms by head.
        limit: of the judge; every cost is measured.
    """
    changes = list[Change]()
    for mechanisms in candidates:
        judging = _Judging(exchange, Circuit(dict(mechanisms)), limit)
        beside = judging.all_beside()
        swaps = {head: swap for head, swap in beside.items() if head in mechanisms}
        changes.append(Change(swaps, judging.hard))
    return [cost.most for cost in Costs(exchange).of(changes)]
