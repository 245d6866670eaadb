"""Verdicts on a circuit by exchange (see `exchange`).

A circuit says along which paths heads carry something. It is *enough* if the model answers as
before although all that is beside its paths is exchanged: with its paths as they are, hard, and
hard with the heads above free; and if paths of a head that another stands in for do hard, too,
while that one is exchanged. A head that attends by table is one of the circuit's; hard, it attends
as the table says. It is *complete* if no head and no row beside it changes answers when it alone is
exchanged. It has *nothing spare* if each path, and each head by table, changes answers when what it
carries is exchanged.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from headway.judge.costs import Costs
from headway.judge.judgement import LIMIT, Beside, Cost, Judgement, Role, Shape
from headway.relations.paths import AttentionPath
from headway.replace.ablation import Candidate
from headway.replace.exchange import (
    ELSEWHERE,
    OWN,
    PARTNER,
    WHOLE_HEAD,
    Change,
    Exchange,
    Source,
    Swap,
    Term,
)
from headway.replace.mechanism import (
    Circuit,
    Head,
    Mean,
    Mechanism,
    Paths,
    Tabled,
)
from headway.replace.partners import trailing
from headway.replace.patterns import Patterns

ALL_ELSE = "all else exchanged"

MOVED_HEAD: Swap = (Term(1.0, ELSEWHERE, ELSEWHERE),)
"""The head carries all that it carries in a sequence of another layout."""

Cells = Float[Tensor, "sequence query key"]


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
    (cost,) = judging.costs.once({(ALL_ELSE, *judging.key): change})
    return cost


class _Judging:
    """A circuit that is judged, and what is known of its cells."""

    def __init__(self, exchange: Exchange, circuit: Circuit, limit: float):
        self.exchange, self.circuit, self.limit = exchange, circuit, limit
        self.costs = Costs(exchange)
        batch, elsewhere = exchange.batch, exchange.others[ELSEWHERE].batch
        same_roles = torch.equal(elsewhere.roles, batch.roles)
        same_lengths = torch.equal(trailing(elsewhere.inputs), trailing(batch.inputs))
        self.has_layouts = not (same_roles and same_lengths)
        self.before = exchange.passes
        mechanisms = circuit.mechanisms
        useful = {
            head: mechanism
            for head, mechanism in mechanisms.items()
            if isinstance(mechanism, Paths) and mechanism.relations
        }
        self.names = {head: sorted(one.relations) for head, one in useful.items()}
        self.rows_by_place = {head for head, one in useful.items() if one.rows == "mean"}
        self.tables = {head: one for head, one in mechanisms.items() if isinstance(one, Tabled)}
        self.beside = [h for h in exchange.heads if h not in self.names and h not in self.tables]
        self.by_mean = [h for h in self.beside if mechanisms.get(h) == Mean()]

    @cached_property
    def alone(self) -> dict[Head, Cost]:
        """The cost of exchanging each head without a path."""
        return self.layer_by_layer("exchanged", self.beside, WHOLE_HEAD)

    @cached_property
    def by_place(self) -> list[Head]:
        """The heads that are said to attend by place: their mean stands there, and they matter."""
        return [head for head in self.by_mean if self.does(self.alone[head])]

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
            passes=self.exchange.passes - self.before,
        )

    @property
    def key(self) -> tuple[Hashable, ...]:
        """The circuit as a key."""
        tables = ((head, table.tables) for head, table in self.tables.items())
        return (*self.by_place, *map(self.key_of, self.names), *tables)

    def key_of(self, head: Head) -> tuple[Hashable, ...]:
        """What the circuit says of a head that has paths, as a key."""
        return (head, head in self.rows_by_place, *self.names[head])

    # Heads and rows beside the circuit

    def heads_beside(self) -> list[Beside]:
        """The heads without a path, by what an exchange of them costs."""
        needed = [head for head in self.beside if self.does(self.alone[head])]
        spared = [head for head in self.beside if not self.does(self.alone[head])]
        by_place: Swap = (Term(1.0, ELSEWHERE, OWN),)
        placed = self.costs.once({("placed", h): Change({h: by_place}) for h in self.by_place})
        roles: dict[Head, Role] = dict.fromkeys(needed, "votes too")
        for head, cost in zip(self.by_place, placed, strict=True):
            roles[head] = "votes too" if self.does(cost) else "by place"
        return [
            *(Beside(head, roles[head], self.alone[head]) for head in needed),
            *self.spared(spared),
        ]

    def spared(self, heads: Sequence[Head]) -> Iterator[Beside]:
        """The heads that may carry what they carry in any other sequence of the same layout.

        One that is missed all the same carries what is the same in all sequences, or tells of the
        layout. Then it costs something to put in what it carries in another layout.
        """
        absent = self.layer_by_layer("absent", heads, ())
        missed = [head for head in heads if self.does(absent[head])]
        changes = {("moved", head): Change({head: MOVED_HEAD}) for head in missed}
        moved = dict(zip(missed, self.costs.once(changes), strict=True))
        for head in heads:
            if head not in missed:
                yield Beside(head, "not needed", self.alone[head])
            elif self.does(moved[head]):
                yield Beside(head, "votes too", moved[head])
            else:
                yield Beside(head, "the same in all sequences", self.alone[head])

    def layer_by_layer(self, what: str, heads: Sequence[Head], swap: Swap) -> dict[Head, Cost]:
        """The costs of the same swap of some heads.

        The heads of a layer are changed at once; one by one where that costs.

        Args:
            what: the swap is called.
            heads: that are changed.
            swap: what each then reads.
        """
        by_layer = {layer: tuple(h for h in heads if h[0] == layer) for layer, _ in heads}
        layers = [*by_layer.values()]
        at_once = {(what, *each): Change(dict.fromkeys(each, swap)) for each in layers}
        costs = dict[Head, Cost]()
        for each, cost in zip(layers, self.costs.once(at_once), strict=True):
            costs |= dict.fromkeys(each, cost)
        many = [h for each in layers for h in each if len(each) > 1 and self.does(costs[h])]
        singly = self.costs.once({(what, head): Change({head: swap}) for head in many})
        return costs | dict(zip(many, singly, strict=True))

    def rows_beside(self) -> dict[Head, Cost]:
        """The costs of rows without a path, of every head that has paths."""
        rows = {
            ("rows", *self.key_of(head)): Change({head: self.rows_exchanged(head)})
            for head in self.names
        }
        return dict(zip(self.names, self.costs.once(rows), strict=True))

    def all_beside(self) -> dict[Head, Swap]:
        """All that is beside the circuit exchanged, but for heads that are said to be by place."""
        heads = {h: WHOLE_HEAD for h in self.beside if h not in self.by_place}
        return heads | {head: self.rows_exchanged(head) for head in self.names}

    @property
    def means(self) -> dict[Head, Mechanism]:
        """The mean patterns of heads that are said to be by place."""
        return dict.fromkeys(self.by_place, Mean())

    @property
    def hard(self) -> dict[Head, Mechanism]:
        """The heads of the circuit attend along their paths alone, in rows that have one; or as
        their tables say."""
        paths = {head: self.along(head) for head in self.names}
        return {**paths, **self.tables, **self.means}

    @property
    def hard_parts(self) -> str:
        """What the circuit consists of, in words."""
        if not self.tables:
            return "paths"
        return "paths and tables" if self.names else "tables"

    def along(self, head: Head) -> Mechanism:
        """A head attends along its paths alone, in rows that have one; other rows are its own."""
        return Paths(frozenset(self.names[head]), "own")

    def enough(self, around: Mapping[Head, Swap]) -> dict[str, Cost]:
        """The costs of all that is beside the circuit, with its paths as they are and hard."""
        means, hard = self.means, self.hard
        changes = {
            ALL_ELSE: Change(around, means),
            f"and {self.hard_parts} hard": Change(around, hard),
        }
        for layer in range(self.exchange.model.n_layers - 1):
            swaps = {head: swap for head, swap in around.items() if head[0] <= layer}
            below = {head: one for head, one in hard.items() if head[0] <= layer}
            changes[f"and free above layer {layer}"] = Change(swaps, below)
        keyed = {(what, *self.key): one for what, one in changes.items()}
        return dict(zip(changes, self.costs.once(keyed), strict=True))

    def shapes(self) -> list[Shape]:
        """The heads that others stand in for, each with its paths hard while another is exchanged.

        As long as another head does its job, a head's paths may be anything.
        """
        absent = self.costs.once({("absent", h): Change({h: ()}) for h in self.names})
        covered = [h for h, cost in zip(self.names, absent, strict=True) if not self.does(cost)]
        shapes = list[Shape]()
        for twin in self.names:
            heads = [head for head in covered if head != twin]
            if not heads:
                continue
            swaps = {twin: WHOLE_HEAD}
            (outputs,) = self.exchange.outputs([Change(swaps)])
            hard = [Change(swaps, {head: self.along(head)}) for head in heads]
            costs = self.costs.of(hard, self.costs.measured(outputs))
            shapes += [Shape(head, twin, cost) for head, cost in zip(heads, costs, strict=True)]
        return shapes

    # Paths

    def paths(self, around: Mapping[Head, Swap]) -> dict[AttentionPath, Cost]:
        """The cost of each path in the way that costs most, until one costs enough."""
        means = self.means
        most = dict[AttentionPath, Cost]()
        left = self.circuit.paths

        def alone(what: str, swap: Callable[[AttentionPath], Swap]) -> list[Cost]:
            changes = {(what, p, *self.names[p.at]): Change({p.at: swap(p)}) for p in left}
            return self.costs.once(changes)

        def tried(costs: Sequence[Cost]) -> None:
            for path, cost in zip(left, costs, strict=True):
                known = most.get(path, cost)
                most[path] = max(known, cost, key=lambda one: one.most)
            left[:] = [path for path in left if not self.does(most[path])]

        tried(alone("exchanged", self.path_exchanged))
        tried(alone("cut", self.path_cut))
        if self.has_layouts:
            tried(alone("elsewhere", self.path_elsewhere))
        if left:
            before = self.costs.measured(next(self.exchange.outputs([Change(around, means)])))
            both = [{**around, path.at: self.with_rows_exchanged(path)} for path in left]
            tried(self.costs.of([Change(swaps, means) for swaps in both], before))
        return most

    def tables_exchanged(self, around: Mapping[Head, Swap]) -> dict[Head, Cost]:
        """The cost of exchanging each head that attends by table: alone, or if that costs nothing,
        beside all that is beside the circuit."""
        costs = self.costs.alone([*self.tables])
        spared = [head for head, cost in costs.items() if not self.does(cost)]
        if spared:
            (outputs,) = self.exchange.outputs([Change(around, self.means)])
            beside = [Change({**around, head: WHOLE_HEAD}, self.means) for head in spared]
            costs |= zip(spared, self.costs.of(beside, self.costs.measured(outputs)), strict=True)
        return costs

    def does(self, cost: Cost) -> bool:
        """True if something costs as much as the limit."""
        return cost.most >= self.limit

    # Swaps

    def path_exchanged(self, path: AttentionPath) -> Swap:
        """What is read along a path, where no other path of the head leads, is the partner's."""
        own, theirs = self.own_cells(path), self.own_cells(path, PARTNER)
        has_theirs = theirs.any(2, keepdim=True)
        return (
            Term(1 - own, OWN, OWN),
            Term(own * ~has_theirs, OWN, PARTNER),
            Term(theirs, PARTNER, PARTNER),
        )

    def path_cut(self, path: AttentionPath) -> Swap:
        """Nothing is read along a path."""
        return (Term(1 - self.own_cells(path), OWN, OWN),)

    def path_elsewhere(self, path: AttentionPath) -> Swap:
        """What is read along a path are values of a sequence of another layout."""
        own = self.own_cells(path)
        return Term(1 - own, OWN, OWN), Term(own, OWN, ELSEWHERE)

    def rows_exchanged(self, head: Head) -> Swap:
        """Rows without a path are the partner's.

        If the circuit says that they are by place, they read their own values as rows without a
        path do in a sequence of another layout.
        """
        has_path = self.rows_with_path(head)
        if head in self.rows_by_place:
            has_elsewhere = self.rows_with_path(head, ELSEWHERE)
            return (
                Term(has_path, OWN, OWN),
                Term((1 - has_path) * has_elsewhere, OWN, OWN),
                Term((1 - has_path) * (1 - has_elsewhere), ELSEWHERE, OWN),
            )
        theirs = self.rows_with_path(head, PARTNER)
        return (
            Term(has_path, OWN, OWN),
            # A row of which the partner has a path is not exchanged whole, but reads its values.
            Term((1 - has_path) * theirs, OWN, PARTNER),
            Term((1 - has_path) * (1 - theirs), PARTNER, PARTNER),
        )

    def with_rows_exchanged(self, path: AttentionPath) -> Swap:
        """A path, and the rows of its head without a path, are the partner's."""
        has_path = self.rows_with_path(path.at)
        own = self.own_cells(path)
        theirs = self.own_cells(path, PARTNER)
        has_theirs = theirs.any(2, keepdim=True)
        _, *rows = self.rows_exchanged(path.at)
        return (
            Term(has_path * (1 - own), OWN, OWN),
            Term(has_path * own * ~has_theirs, OWN, PARTNER),
            Term(has_path * theirs, PARTNER, PARTNER),
            *rows,
        )

    # Cells

    def cells(self, head: Head, names: Sequence[str], source: Source = OWN) -> Cells:
        """1 at the cells of some relations, in the sequences of a run; else 0."""
        exchange = self.exchange
        pattern = exchange.carried[OWN].patterns[head[0]]
        key = "cells", pattern.shape, *names, source
        if key not in exchange.known:
            patterns: Patterns = {OWN: exchange.patterns, **exchange.others}[source]
            length = exchange.batch.inputs.shape[1]
            marked = torch.zeros_like(pattern[:, 0], dtype=torch.bool)
            for name in names:
                marked[..., :length] |= patterns.relation(name).mask(length)
            exchange.known[key] = marked.to(pattern.dtype)
        return exchange.known[key]

    def own_cells(self, path: AttentionPath, source: Source = OWN) -> Cells:
        """1 at the cells of a path that no other path of its head has."""
        others = [name for name in self.names[path.at] if name != path.relation]
        own = self.cells(path.at, [path.relation], source)
        return own * (1 - self.cells(path.at, others, source))

    def rows_with_path(self, head: Head, source: Source = OWN) -> Float[Tensor, "s query 1"]:
        """1 at the rows of a head that have a path, else 0."""
        return self.cells(head, self.names[head], source).amax(2, keepdim=True)


def costs_alone(
    exchange: Exchange, candidates: Sequence[Candidate], limit: float = LIMIT
) -> list[float]:
    """What it costs to leave a circuit alone, of several circuits.

    All that is beside its paths is exchanged, and its heads attend along them alone. Heads without
    a mechanism are left as they are.

    Args:
        exchange: the model.
        candidates: mechanisms by head.
        limit: not needed: every cost is measured.
    """
    changes = list[Change]()
    for mechanisms in candidates:
        judging = _Judging(exchange, Circuit(dict(mechanisms)), limit)
        beside = judging.all_beside()
        swaps = {head: swap for head, swap in beside.items() if head in mechanisms}
        changes.append(Change(swaps, judging.hard))
    judging = _Judging(exchange, Circuit({}), limit)
    return [cost.most for cost in judging.costs.of(changes)]
