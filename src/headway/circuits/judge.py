"""Verdicts on a circuit by exchange (see `exchange`).

A circuit says along which paths heads carry something. It is *enough* if the model answers as
before although all that is beside its paths is exchanged: with its paths as they are, hard, and
hard with the heads above free; and if paths of a head that another stands in for do hard, too,
while that one is exchanged. It is *complete* if no head and no row beside it changes answers
when it alone is exchanged. It has *nothing spare* if each path changes answers when what it carries
is exchanged.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from headway.circuits.exchange import (
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
from headway.circuits.mechanism import Circuit, Head, Mean, Mechanism, Paths, Tabled, name_of
from headway.circuits.partners import trailing
from headway.circuits.patterns import Patterns
from headway.relations.paths import AttentionPath

LIMIT = 0.05
"""A change costs if it changes this share of the answers, or raises the loss by this share, of what
an exchange of every head does; the hop that suffers most counts."""

FEW = 0.05
"""Where an exchange of every head changes less than this share of a hop's answers, this counts."""

ALL_ELSE = "all else exchanged"

MOVED_HEAD: Swap = (Term(1.0, ELSEWHERE, ELSEWHERE),)
"""The head carries all that it carries in a sequence of another layout."""

Cells = Float[Tensor, "sequence query key"]
Role = Literal["not needed", "by place", "the same in all sequences", "votes too"]


@dataclass(frozen=True)
class Cost:
    """The cost of a change, against the outputs before it; the hop that suffers most counts.

    Attributes:
        answers: the share of answers that change, as a share of those that change when every head
            is exchanged. (Answers that no exchange changes do not dilute it.)
        sequences: the share of sequences in which an answer of the hop changes. It is told, and not
            held against a limit: of many answers that hardly change one often does.
        rise: the rise of the loss, as a share of the rise when every head is exchanged.
    """

    answers: float
    sequences: float
    rise: float

    @property
    def most(self) -> float:
        """The number that is held against the limit."""
        return max(self.answers, self.rise)


@dataclass(frozen=True)
class Beside:
    """A head without a path, and what it does all the same.

    Attributes:
        head: layer and number.
        role: *not needed* if an exchange of all that it carries costs nothing; *the same in all
            sequences* if its absence does, but no exchange with a sequence of another layout, too;
            *by place* if the circuit says so, and attention of a sequence of another layout with
            its own values costs nothing; else *votes too*.
        cost: of the exchange that tells.
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
        shapes: of hard paths of a head that another stands in for, while that one is exchanged; by
            both heads. Only where a head's absence costs nothing, though its paths do.
        paths: of the exchange of each path, in the way that costs most.
        everything: the rise of the loss when every head is exchanged, by hop.
        passes: forward passes that it took.
    """

    enough: dict[str, Cost]
    heads: list[Beside]
    rows: dict[Head, Cost]
    shapes: dict[tuple[Head, Head], Cost]
    paths: dict[AttentionPath, Cost]
    everything: list[float]
    passes: float

    def broken(self, limit: float = LIMIT) -> dict[str, list[str]]:
        """The verdicts that are no, each with what breaks it."""
        votes = [name_of(one.head) for one in self.heads if one.role == "votes too"]
        rows = [name_of(head) for head, cost in self.rows.items() if cost.most >= limit]
        enough = [what for what, cost in self.enough.items() if cost.most >= limit]
        shapes = [
            f"{name_of(head)} hard while {name_of(twin)} is exchanged"
            for (head, twin), cost in self.shapes.items()
            if cost.most >= limit
        ]
        told = {
            "enough": [*enough, *shapes],
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


def enough(exchange: Exchange, circuit: Circuit) -> dict[str, Cost]:
    """The costs of all that is beside a circuit (see `Judgement.enough`)."""
    judging = _Judging(exchange, circuit, LIMIT)
    return judging.enough(judging.all_beside())


def all_else_exchanged(exchange: Exchange, circuit: Circuit) -> Cost:
    """The cost of exchanging all that is beside a circuit, its paths as they are."""
    judging = _Judging(exchange, circuit, LIMIT)
    change = Change(judging.all_beside(), judging.means)
    (cost,) = judging.costs_alone({(ALL_ELSE, *judging.key): change})
    return cost


class _Judging:
    """A circuit that is judged, and what is known of its cells."""

    def __init__(self, exchange: Exchange, circuit: Circuit, limit: float):
        self.exchange, self.circuit, self.limit = exchange, circuit, limit
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
            shapes=self.shapes(),
            paths=self.paths(around),
            everything=self.scale.rise.tolist(),
            passes=self.exchange.passes - self.before,
        )

    @property
    def key(self) -> tuple[Hashable, ...]:
        """The circuit as a key."""
        return (*self.by_place, *map(self.key_of, self.names))

    def key_of(self, head: Head) -> tuple[Hashable, ...]:
        """What the circuit says of a head that has paths, as a key."""
        return (head, head in self.rows_by_place, *self.names[head])

    # What is measured

    @cached_property
    def intact(self) -> "_Measured":
        """The model as it is."""
        return self.measured(self.exchange.outputs_of[OWN])

    @cached_property
    def everything(self) -> "_Measured":
        """The model with every head exchanged."""
        known = self.exchange.known
        if "everything" not in known:
            every = Change(dict.fromkeys(self.exchange.heads, WHOLE_HEAD))
            known["everything"] = self.measured(next(self.exchange.outputs([every])))
        return known["everything"]

    @cached_property
    def scale(self) -> "_Scale":
        """What an exchange of every head does."""
        rise = self.everything.losses - self.intact.losses
        return _Scale(self.everything.changed.clamp(min=FEW), rise)

    def measured(self, outputs: Tensor) -> "_Measured":
        """Answers and losses of some outputs."""
        targets, wanted = self.exchange.task.targets, self.exchange.batch.targets
        return _Measured(
            same=targets.same(outputs, self.exchange.outputs_of[OWN], wanted),
            asked=targets.asked(wanted),
            losses=targets.partial_losses(outputs, wanted),
        )

    def costs(self, changes: Sequence[Change], before: "_Measured | None" = None) -> list[Cost]:
        """The costs of changes, against the model as it is or as it was before."""
        if not changes:
            return []
        base = self.intact if before is None else before
        after = map(self.measured, self.exchange.outputs(changes))
        return [base.cost(one, self.scale) for one in after]

    def costs_alone(self, changes: Mapping[Any, Change]) -> list[Cost]:
        """The costs of changes that no more of the circuit decides than their keys tell.

        Other circuits that are judged in the same exchange share them.
        """
        known = self.exchange.known
        new = {key: change for key, change in changes.items() if key not in known}
        known.update(zip(new, self.costs([*new.values()]), strict=True))
        return [known[key] for key in changes]

    # Heads and rows beside the circuit

    def heads_beside(self) -> list[Beside]:
        """The heads without a path, by what an exchange of them costs."""
        alone = self.layer_by_layer("exchanged", self.beside, WHOLE_HEAD)
        needed = [head for head in self.beside if self.does(alone[head])]
        spared = [head for head in self.beside if not self.does(alone[head])]
        stated = [head for head in needed if head in self.by_place]
        by_place: Swap = (Term(1.0, ELSEWHERE, OWN),)
        placed = self.costs_alone({("placed", h): Change({h: by_place}) for h in stated})
        roles: dict[Head, Role] = dict.fromkeys(needed, "votes too")
        for head, cost in zip(stated, placed, strict=True):
            roles[head] = "votes too" if self.does(cost) else "by place"
        return [
            *(Beside(head, roles[head], alone[head]) for head in needed),
            *self.spared(spared, alone),
        ]

    def spared(self, heads: Sequence[Head], alone: Mapping[Head, Cost]) -> Iterator[Beside]:
        """The heads that may carry what they carry in any other sequence of the same layout.

        One that is missed all the same carries what is the same in all sequences, or tells of the
        layout. Then it costs something to put in what it carries in another layout.
        """
        absent = self.layer_by_layer("absent", heads, ())
        missed = [head for head in heads if self.does(absent[head])]
        changes = {("moved", head): Change({head: MOVED_HEAD}) for head in missed}
        moved = dict(zip(missed, self.costs_alone(changes), strict=True))
        for head in heads:
            if head not in missed:
                yield Beside(head, "not needed", alone[head])
            elif self.does(moved[head]):
                yield Beside(head, "votes too", moved[head])
            else:
                yield Beside(head, "the same in all sequences", alone[head])

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
        for each, cost in zip(layers, self.costs_alone(at_once), strict=True):
            costs |= dict.fromkeys(each, cost)
        many = [h for each in layers for h in each if len(each) > 1 and self.does(costs[h])]
        singly = self.costs_alone({(what, head): Change({head: swap}) for head in many})
        return costs | dict(zip(many, singly, strict=True))

    def rows_beside(self) -> dict[Head, Cost]:
        """The costs of rows without a path, of every head that has paths."""
        rows = {
            ("rows", *self.key_of(head)): Change({head: self.rows_exchanged(head)})
            for head in self.names
        }
        return dict(zip(self.names, self.costs_alone(rows), strict=True))

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
        hard = {head: self.hard(head) for head in self.names} | means
        changes = {
            ALL_ELSE: Change(around, means),
            "and paths hard": Change(around, hard),
        }
        for layer in range(self.exchange.model.n_layers - 1):
            swaps = {head: swap for head, swap in around.items() if head[0] <= layer}
            below = {head: one for head, one in hard.items() if head[0] <= layer}
            changes[f"and free above layer {layer}"] = Change(swaps, below)
        keyed = {(what, *self.key): one for what, one in changes.items()}
        return dict(zip(changes, self.costs_alone(keyed), strict=True))

    def hard(self, head: Head) -> Mechanism:
        """The paths of a head, one-hot; other rows are its own."""
        return Paths(frozenset(self.names[head]), "own")

    def shapes(self) -> dict[tuple[Head, Head], Cost]:
        """The costs of hard paths of heads that others stand in for, while these are exchanged.

        As long as another head does its job, a head's paths may be anything.
        """
        absent = self.costs_alone({("absent", h): Change({h: ()}) for h in self.names})
        covered = [h for h, cost in zip(self.names, absent, strict=True) if not self.does(cost)]
        costs = dict[tuple[Head, Head], Cost]()
        for twin in self.names:
            heads = [head for head in covered if head != twin]
            swaps = {twin: WHOLE_HEAD}
            changes = [Change(swaps, {head: self.hard(head)}) for head in heads]
            if not heads:
                continue
            alone = self.measured(next(self.exchange.outputs([Change(swaps)])))
            for head, cost in zip(heads, self.costs(changes, alone), strict=True):
                costs[head, twin] = cost
        return costs

    # Paths

    def paths(self, around: Mapping[Head, Swap]) -> dict[AttentionPath, Cost]:
        """The cost of each path in the way that costs most, until one costs enough."""
        means = self.means
        most = dict[AttentionPath, Cost]()
        left = self.circuit.paths

        def alone(what: str, swap: Callable[[AttentionPath], Swap]) -> list[Cost]:
            changes = {(what, p, *self.names[p.at]): Change({p.at: swap(p)}) for p in left}
            return self.costs_alone(changes)

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
            before = self.measured(next(self.exchange.outputs([Change(around, means)])))
            both = [{**around, path.at: self.with_rows_exchanged(path)} for path in left]
            tried(self.costs([Change(swaps, means) for swaps in both], before))
        return most

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


@dataclass(frozen=True)
class _Measured:
    """Answers and losses of some outputs.

    Attributes:
        same: where the answer is that of the model as it is, [sequence, query, hop].
        asked: where one is asked for.
        losses: by hop.
    """

    same: Tensor
    asked: Tensor
    losses: Tensor

    @property
    def changed(self) -> Float[Tensor, " hop"]:
        """The share of answers that are not those of the model as it is, by hop."""
        asked = self.asked.sum((0, 1)).clamp(min=1)
        return 1 - (self.same.sum((0, 1)) + (asked - self.asked.sum((0, 1)))) / asked

    @property
    def sequences(self) -> Float[Tensor, " hop"]:
        """By hop, the share of sequences that have another answer than of the model as it is."""
        has_another = (self.asked & ~self.same).any(1)
        return has_another.double().mean(0)

    def cost(self, after: "_Measured", scale: "_Scale") -> Cost:
        """The cost of a change after which other outputs are measured.

        Hops whose loss does not rise when every head is exchanged do not count for `rise`.
        """
        rises = (after.losses - self.losses) / scale.rise.clamp(min=1e-9)
        rises = rises.where(scale.rise > 0, 0.0)
        answers = (after.changed - self.changed) / scale.answers
        return Cost(
            answers=answers.max().item(),
            sequences=(after.sequences - self.sequences).max().item(),
            rise=rises.nan_to_num(float("inf")).max().item(),
        )


@dataclass(frozen=True)
class _Scale:
    """What an exchange of every head does, by hop.

    Attributes:
        answers: the share of answers that change.
        rise: of the loss.
    """

    answers: Float[Tensor, " hop"]
    rise: Float[Tensor, " hop"]
