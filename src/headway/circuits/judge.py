"""Verdicts on a circuit by exchange (see `exchange`).

A circuit says along which paths heads carry something. It is *enough* if the model answers as
before although all that is beside its paths is exchanged: with its paths as they are, hard, and
hard with the heads above free. It is *complete* if no head and no row beside it changes answers
when it alone is exchanged. It has *nothing spare* if each path changes answers when what it carries
is exchanged.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from headway.circuits.costs import LIMIT, Cost, Costs, Measured
from headway.circuits.exchange import (
    ELSEWHERE,
    OWN,
    PARTNER,
    WHOLE_HEAD,
    Change,
    Exchange,
    Swap,
    Term,
)
from headway.circuits.mechanism import Circuit, Head, Mean, Mechanism, Paths, Tabled, name_of
from headway.circuits.patterns import Patterns
from headway.relations.paths import AttentionPath

Cells = Float[Tensor, "sequence query key"]
Role = Literal["not needed", "by place", "the same in all sequences", "votes too"]


@dataclass(frozen=True)
class Beside:
    """A head without a path, and what it does all the same.

    Attributes:
        head: layer and number.
        role: *not needed* if an exchange of all that it carries costs nothing; *the same in all
            sequences* if that costs nothing, but its absence does; *by place* if the circuit says
            so, and attention of a sequence of another layout with its own values costs nothing;
            else *votes too*.
        cost: of the exchange.
    """

    head: Head
    role: Role
    cost: Cost


@dataclass(frozen=True)
class Judgement:
    """The costs that verdicts on a circuit follow from.

    Attributes:
        enough: of all that is beside the circuit exchanged, its paths as they are; then hard; then
            hard in the layers up to each but the last alone.
        heads: heads without a path.
        rows: of exchanging the rows without a path, of every head with paths.
        paths: of the exchange of each path, in the way that costs most.
        everything: the rise of the loss when every head is exchanged, by hop.
        passes: forward passes that it took.
    """

    enough: dict[str, Cost]
    heads: list[Beside]
    rows: dict[Head, Cost]
    paths: dict[AttentionPath, Cost]
    everything: list[float]
    passes: float

    def broken(self, limit: float = LIMIT) -> dict[str, list[str]]:
        """The verdicts that are no, each with what breaks it."""
        votes = [name_of(one.head) for one in self.heads if one.role == "votes too"]
        rows = [name_of(head) for head, cost in self.rows.items() if cost.most >= limit]
        told = {
            "enough": [what for what, cost in self.enough.items() if cost.most >= limit],
            "complete": [*votes, *(f"{name}, rows without a path" for name in rows)],
            "nothing spare": [str(p) for p, cost in self.paths.items() if cost.most < limit],
        }
        return {verdict: why for verdict, why in told.items() if why}


def judge(exchange: Exchange, circuit: Circuit, limit: float = LIMIT) -> Judgement:
    """Judges a circuit by exchange.

    Args:
        exchange: the model on sequences that the search for the circuit did not see.
        circuit: a mechanism for every head, or for those that have paths.
        limit: the share from which a change costs.
    """
    return _Judging(exchange, circuit, limit).judgement()


class _Judging:
    """A circuit that is judged, and what is known of its cells."""

    def __init__(self, exchange: Exchange, circuit: Circuit, limit: float):
        self.exchange, self.circuit, self.limit = exchange, circuit, limit
        self.costs = Costs(exchange)
        elsewhere = exchange.others[ELSEWHERE].batch
        self.has_layouts = not torch.equal(elsewhere.roles, exchange.batch.roles)
        self.before = exchange.passes
        mechanisms = circuit.mechanisms
        self.names = {
            head: sorted(mechanism.relations)
            for head, mechanism in mechanisms.items()
            if isinstance(mechanism, Paths) and mechanism.relations
        }
        tabled = {head for head, one in mechanisms.items() if isinstance(one, Tabled)}
        self.beside = [h for h in exchange.heads if h not in self.names and h not in tabled]
        self.by_place = [h for h in self.beside if mechanisms.get(h) == Mean()]

    def judgement(self) -> Judgement:
        """All costs; what has cost enough in one way is not tried in others."""
        around = self.all_beside()
        return Judgement(
            enough=self.enough(around),
            heads=self.heads_beside(),
            rows=self.rows_beside(),
            paths=self.paths(around),
            everything=self.costs.scale.tolist(),
            passes=self.exchange.passes - self.before,
        )

    # Heads and rows beside the circuit

    def heads_beside(self) -> list[Beside]:
        """The heads without a path, each exchanged alone."""
        alone = self.costs.alone(self.beside)
        needed = [head for head, cost in alone.items() if self.does(cost)]
        spared = [head for head in self.beside if head not in needed]
        stated = [head for head in needed if head in self.by_place]
        by_place: Swap = (Term(1.0, ELSEWHERE, OWN),)
        placed = self.costs.of([Change({head: by_place}) for head in stated])
        absent = self.costs.of([Change({head: ()}) for head in spared])
        roles: dict[Head, Role] = dict.fromkeys(needed, "votes too")
        for head, cost in zip(stated, placed, strict=True):
            roles[head] = "votes too" if self.does(cost) else "by place"
        for head, cost in zip(spared, absent, strict=True):
            roles[head] = "the same in all sequences" if self.does(cost) else "not needed"
        return [Beside(head, roles[head], cost) for head, cost in alone.items()]

    def rows_beside(self) -> dict[Head, Cost]:
        """The costs of rows without a path, of every head that has paths."""
        changes = [Change({head: self.rows_exchanged(head)}) for head in self.names]
        return dict(zip(self.names, self.costs.of(changes), strict=True))

    def all_beside(self) -> dict[Head, Swap]:
        """All that is beside the circuit exchanged, but for heads that are said to be by place."""
        heads = {h: WHOLE_HEAD for h in self.beside if h not in self.by_place}
        return heads | {head: self.rows_exchanged(head) for head in self.names}

    @property
    def means(self) -> dict[Head, Mechanism]:
        """The mean patterns of heads that are said to be by place."""
        return dict.fromkeys(self.by_place, Mean())

    def enough(self, around: Mapping[Head, Swap]) -> dict[str, Cost]:
        """The costs of all that is beside the circuit, with its paths as they are and hard."""
        means = self.means
        hard: dict[Head, Mechanism] = {
            h: Paths(frozenset(names), "own") for h, names in self.names.items()
        } | means
        changes = {
            "all else exchanged": Change(around, means),
            "and paths hard": Change(around, hard),
        }
        for layer in range(self.exchange.model.n_layers - 1):
            swaps = {head: swap for head, swap in around.items() if head[0] <= layer}
            below = {head: one for head, one in hard.items() if head[0] <= layer}
            changes[f"and free above layer {layer}"] = Change(swaps, below)
        return dict(zip(changes, self.costs.of([*changes.values()]), strict=True))

    # Paths

    def paths(self, around: Mapping[Head, Swap]) -> dict[AttentionPath, Cost]:
        """The cost of each path in the way that costs most, until one costs enough."""
        means = self.means
        with_all_else = self.costs.measured(next(self.exchange.outputs([Change(around, means)])))
        most = dict[AttentionPath, Cost]()
        left = self.circuit.paths

        def tried(changes: Sequence[Change], before: Measured | None = None) -> None:
            for path, cost in zip(left, self.costs.of(changes, before), strict=True):
                known = most.get(path, cost)
                most[path] = max(known, cost, key=lambda one: one.most)
            left[:] = [path for path in left if not self.does(most[path])]

        tried([Change({path.at: self.path_exchanged(path)}) for path in left])
        tried([Change({path.at: self.path_cut(path)}) for path in left])
        both = [{**around, path.at: self.with_rows_exchanged(path)} for path in left]
        tried([Change(swaps, means) for swaps in both], with_all_else)
        if self.has_layouts:
            tried([Change({path.at: self.path_elsewhere(path)}) for path in left])
        return most

    def does(self, cost: Cost) -> bool:
        """True if something costs as much as the limit."""
        return cost.most >= self.limit

    # Swaps

    def path_exchanged(self, path: AttentionPath) -> Swap:
        """What is read along a path, where no other path of the head leads, is the partner's."""
        own, theirs = self.own_cells(path), self.own_cells(path, of_partner=True)
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
        """Rows without a path are the partner's."""
        has_path, theirs = self.rows_with_path(head), self.rows_with_path(head, of_partner=True)
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
        theirs = self.own_cells(path, of_partner=True)
        has_theirs = theirs.any(2, keepdim=True)
        _, *rows = self.rows_exchanged(path.at)
        return (
            Term(has_path * (1 - own), OWN, OWN),
            Term(has_path * own * ~has_theirs, OWN, PARTNER),
            Term(has_path * theirs, PARTNER, PARTNER),
            *rows,
        )

    # Cells

    def cells(self, head: Head, names: Iterable[str], of_partner: bool = False) -> Cells:
        """1 at the cells of some relations, in the sequences or their partners; else 0."""
        exchange = self.exchange
        patterns: Patterns = exchange.others[PARTNER] if of_partner else exchange.patterns
        pattern = exchange.carried[OWN].patterns[head[0]]
        length = exchange.batch.inputs.shape[1]
        marked = torch.zeros_like(pattern[:, 0], dtype=torch.bool)
        for name in names:
            marked[..., :length] |= patterns.relation(name).mask(length)
        return marked.to(pattern.dtype)

    def own_cells(self, path: AttentionPath, of_partner: bool = False) -> Cells:
        """1 at the cells of a path that no other path of its head has."""
        others = [name for name in self.names[path.at] if name != path.relation]
        own = self.cells(path.at, [path.relation], of_partner)
        return own * (1 - self.cells(path.at, others, of_partner))

    def rows_with_path(self, head: Head, of_partner: bool = False) -> Float[Tensor, "s query 1"]:
        """1 at the rows of a head that have a path, else 0."""
        return self.cells(head, self.names[head], of_partner).amax(2, keepdim=True)
