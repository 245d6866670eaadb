"""Reading heads of which nobody says what they may look at: by what their replacement
does.

Every head gets the simplest mechanism that moves the model's answers little: its mean
over sequences, a relation composed of few words (`headway.relations`), or one with an
`else`. Answers are compared with the model's own, at what is asked, with all that is
chosen in place and, where there are layers above, also with those attending freely:
what a head does for the heads above shows only while they look for themselves.

A head is idle if neither its mean pattern nor zeros in its place move the answers. If a
head attends by place, its mean would do a relation's work: rows without a key are even
then.

Likeness of patterns is a poor judge by itself, as most rows do not matter. It decides
among the relations whose effects are alike.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from heapq import nlargest, nsmallest

import torch
from jaxtyping import Float
from torch import Tensor

from headway.find.search import longest, simplify
from headway.judge.yardstick import THRESHOLD, Yardstick
from headway.models import Tappable, attention_patterns
from headway.relations.composed import AND, BY_WEIGHT, ELSE, MOVES, complexity
from headway.relations.fitted import (
    MANY,
    SEQUENCES,
    Tables,
    for_classes,
    to_classes,
    weighed,
)
from headway.replace.ablation import Bench, First, above
from headway.replace.circuit import Circuit
from headway.replace.heads import Head
from headway.replace.mechanism import Mean, Mechanism, Paths, Tabled
from headway.replace.patterns import attention_slopes, edges_of
from headway.replace.rows import Outputs
from headway.tasks import Batch, Task
from headway.training.data import held_out

SHARE = 0.005
"""A simpler mechanism may move the answers more than the best one does, by this share
of what ablating every head does."""

FEW = 24
"""Sequences on which all relations are tried; those that move answers least are tried
on all.
"""

KEPT = 10
"""Relations that are tried on all sequences, of those with an `else` and of those
without.
"""

ALSO = ("first position", "own position", f"own position{AND}first position")
"""Places that are tried together with the relations that are likest, as a head may look
at itself or at the first position by default; named if the head is read so."""

BEFORE_ELSE = 3
"""Relations to which every `else` is tried."""

PRICE = 0.1
"""So much liker the head's attention a relation must be for every part more
(`complexity`).
"""

ALIKE = 0.03
"""Of relations that serve and differ by less in likeness, the simplest is named."""

GOES_ON = 0.5
"""A condition is no part of a relation that the head follows without it, too: at least
so much of what it follows it with the condition."""

FLAT = 1e-6
"""A head has no slope if zeros in its place would move so small a share of what they
would move in the place of the head that moves most, to first order."""

HARDLY = 0.05
"""A head's mean moves next to nothing if it moves less than this share of what zeros
move.
"""

MISSED = 0.4
"""The part of the way from the model's own loss to the threshold that a path which is
hardly missed may cost, with all others that went; at most `THRESHOLD`."""

UNLIKE = 0.1
"""A relation that has less of a head's attention is not what it looks at, whatever it
does.
"""

ENOUGH = 0.95
"""The share of answers that relations must keep; else some heads are put to tables."""

READ = 0.8
"""A head of whose attention a relation has so much is read; one of whose attention its
mean has so much attends by place."""

ROUNDS = 2

IDLE, ZERO, TABLE = "idle", "zero", "by table"

Chosen = Mapping[Head, str]
"""A relation, `IDLE`, `ZERO` or `TABLE`, by head; the others attend as they do."""


@torch.no_grad()
def read(bench: Bench, needed: Collection[Head] = ()) -> Circuit:
    """A mechanism for every head of the model on a bench; those that are needed are not
    idle.
    """
    reader = Reader(bench, needed)
    return Circuit(
        {head: reader.mechanism(what) for head, what in reader.read().items()}
    )


def read_missed(
    bench: Bench, yardstick: Yardstick, spared: Sequence[Head] | None = None
) -> Circuit:
    """The relations that heads are read to follow, without all that is hardly missed.

    Only the least limit counts. Paths go as long as the loss stays as low as it is, or
    near the model's own, with zeros in the place of all idle heads, since one whose
    mean pattern does can do the work of another.

    Args:
        bench: with the model.
        yardstick: has the limit.
        spared: heads that exchange shows not to be needed: they get their mean
            patterns. Each of the others keeps a path. None if that is not known of any.
    """
    needed = (
        [] if spared is None else [head for head in bench.heads if head not in spared]
    )
    circuit = without_spared(bench, yardstick, read(bench, needed), spared)
    nothing = Paths(frozenset())
    every = First(bench, bench.sequences)
    own = bench.loss()
    threshold = yardstick.limits(bench)[0]
    bare = exchanged(circuit, Mean(), nothing)
    near = max(own + min(MISSED * (threshold - own), THRESHOLD), bench.loss(bare))
    if near >= threshold:
        return circuit
    limit = above(near)
    bare = simplify(every, bare, limit, plain=(), needed=needed)
    idle = exchanged(bare, nothing, Mean())
    serves = every.losses([idle], limit)[0] < math.inf
    is_simple = serves and simplify(every, idle, limit, plain=(), needed=needed) == idle
    return idle if is_simple else bare


def exchanged(circuit: Circuit, old: Mechanism, new: Mechanism) -> Circuit:
    """A circuit with one mechanism in the place of another, in all heads that have
    it.
    """
    each = circuit.mechanisms.items()
    return Circuit(
        {head: new if mechanism == old else mechanism for head, mechanism in each}
    )


def without_spared(
    bench: Bench, yardstick: Yardstick, circuit: Circuit, spared: Sequence[Head] | None
) -> Circuit:
    """A circuit with the mean patterns of heads that can be spared, as far as it serves
    as well.
    """
    limit = max(yardstick.limits(bench)[-1], above(bench.loss(circuit)))
    for head in circuit.useful_heads:
        if spared is not None and head in spared:
            without = circuit.replacing(head, Mean())
            circuit = without if bench.loss(without) < limit else circuit
    return circuit


class Reader:
    """A search for the relation that every head follows, by effect.

    Args:
        bench: with the model.
        needed: heads that are not idle, as exchange shows, whatever zeros and means in
            their place do.
    """

    def __init__(self, bench: Bench, needed: Collection[Head] = ()):
        self.bench, self.patterns, self.heads = bench, bench.patterns, bench.heads
        self.needed = needed
        model, task, batch = bench.model, bench.task, bench.batch
        self.whole, self.few = (
            slice(0, bench.sequences),
            slice(0, min(FEW, bench.sequences)),
        )
        self.answers = bench.outputs([{}], self.whole)[0]
        self.own, self.tables = self.patterns.own, self.patterns.tables
        self.weights = row_weights(model, task, batch)
        by_mean = self.own.minimum(self.own.mean(0)).sum(-1)
        self.by_place = (by_mean * self.weights).sum((0, 3)) >= READ
        ends = self.moved([dict.fromkeys(self.heads, x) for x in (IDLE, ZERO)])
        self.slack = SHARE * max(filter(math.isfinite, ends), default=0.0)
        matters = (self.weights.sum((1, 2)) > 0)[..., None]
        self.relations = edges_of(task, model, batch).composed
        tried = [self.relations.vocabulary(at, matters) for at in range(model.n_layers)]
        every, n = "all so far", self.relations.length
        own, rows = self.own[..., :n, :n], self.weights[..., :n]
        fitted = {
            at: weighed(every, self.relations, own[:, *at], rows[:, *at])
            + to_classes(
                self.relations, own[:, *at], rows[:, *at], MOVES if at[0] else {}
            )
            for at in self.heads
        }
        self.names = {
            at: [
                name for name in (*tried[at[0]], *fitted[at]) if self.patterns.has(name)
            ]
            for at in self.heads
        }

    def mechanism(self, what: str, head: Head | None = None) -> Mechanism:
        """The mechanism of a choice; of a head, with what fills rows without a path."""
        plain = {IDLE: Mean(), ZERO: Paths(frozenset()), TABLE: Tabled(self.tables)}
        if what in plain:
            return plain[what]
        rows = None if head is None else "uniform" if self.by_place[head] else "mean"
        return Paths(frozenset({what}), rows)

    def outputs(self, chosen: Sequence[Chosen], part: slice) -> Tensor:
        """The outputs of the model under some choices, in some of the sequences."""
        found = [{at: self.mechanism(x, at) for at, x in one.items()} for one in chosen]
        return self.bench.outputs(found, part)

    def moved(
        self, chosen: Sequence[Chosen], few: bool = False, above: int | None = None
    ) -> list[float]:
        """The `Targets.divergence` of the answers from the model's own under choices.

        With `few`, in the first sequences. `above` is a layer: the divergence with the
        layers above it free is added, if any choice is made there.
        """
        if not chosen:
            return []
        part = self.few if few else self.whole
        wanted, own = self.bench.batch.targets[part], self.answers[part]
        divergence = self.bench.task.targets.divergence
        found = [
            divergence(own, one, wanted).item() for one in self.outputs(chosen, part)
        ]
        found = [x if math.isfinite(x) else math.inf for x in found]
        if above is None or all(at[0] <= above for one in chosen for at in one):
            return found
        below = [{at: x for at, x in one.items() if at[0] <= above} for one in chosen]
        return [x + y for x, y in zip(found, self.moved(below, few), strict=True)]

    def agreement(self, chosen: Chosen, above: int | None = None) -> float:
        """The share of answers that are the model's own under a choice.

        With `above` the lesser of that and the share with the layers above one free.
        """
        if above is not None:
            below = {at: what for at, what in chosen.items() if at[0] <= above}
            return min(self.agreement(chosen), self.agreement(below))
        targets, wanted = self.bench.task.targets, self.bench.batch.targets
        same = targets.same(self.outputs([chosen], self.whole)[0], self.answers, wanted)
        return (same.sum() / targets.asked(wanted).sum()).item()

    def read(self) -> dict[Head, str]:
        """The relation that every head follows, or that it is idle."""
        chosen = dict.fromkeys(self.idle(), IDLE)
        useful = [head for head in self.heads if head not in chosen]
        for turn in range(1 + ROUNDS):
            before = dict(chosen)
            for head in useful:
                chosen[head] = self.choice(head, chosen, head[0] if turn else None)
            if turn and (chosen == before or len(useful) < 2):
                break
        return (
            chosen if self.agreement(chosen) >= ENOUGH else self.tabled(chosen, useful)
        )

    def tabled(self, chosen: Chosen, useful: Sequence[Head]) -> dict[Head, str]:
        """Tables for heads that no relation explains, relations for as many others as
        possible.

        With all heads put to tables, one after the other gets back what was chosen, or
        a relation that is chosen anew, as long as enough answers stay: idle heads
        first, then those whose attention that is likest. Nothing changes if all useful
        heads are read.

        Args:
            chosen: what is kept if tables keep no more answers than that, but for
                useful heads for which nothing was found: these are put to tables.
            useful: heads without which answers change.
        """
        if all(
            chosen[at] != IDLE and self.likeness(at, chosen[at]) >= READ
            for at in useful
        ):
            return dict(chosen)
        more = held_out(
            self.bench.task, SEQUENCES, 0, str(self.answers.device), "tables"
        ).inputs
        self.tables = Tables(more, lambda: attention_patterns(self.bench.model, more))
        if not self.tables.are_possible:
            return dict(chosen)
        found = dict.fromkeys(self.heads, TABLE)
        kept = self.agreement(found)
        if kept <= self.agreement(chosen):
            return {
                **chosen,
                **{head: TABLE for head in useful if chosen[head] == IDLE},
            }
        least = min(ENOUGH, kept - SHARE)

        def serves(head: Head, what: str) -> bool:
            return self.agreement({**found, head: what}, head[0]) >= least

        order = {
            head: (head in useful, -self.likeness(head, chosen[head]))
            for head in self.heads
        }
        for head in sorted(order, key=order.__getitem__):
            if serves(head, chosen[head]):
                found[head] = chosen[head]
            elif serves(head, again := self.choice(head, found, head[0])):
                found[head] = again
        return found

    def idle(self) -> list[Head]:
        """As many heads as can be idle together, those first that alone move answers
        least.
        """
        ways = (IDLE, ZERO)
        heads = [head for head in self.heads if head not in self.needed]
        order = sorted(
            heads, key=lambda head: max(self.moved([{head: x} for x in ways]))
        )

        def possible(count: int) -> bool:
            together = self.moved([dict.fromkeys(order[:count], x) for x in ways])
            return max(together) <= self.slack

        return order[: longest(len(order), possible)]

    def choice(self, head: Head, chosen: Chosen, above: int | None = None) -> str:
        """The simplest mechanism of a head that moves answers about as little as the
        best.

        Args:
            head: to choose for.
            chosen: by other heads.
            above: see `moved`.
        """

        def moved(names: Sequence[str], few: bool = False) -> dict[str, float]:
            found = self.moved([{**chosen, head: name} for name in names], few, above)
            return dict(zip(names, found, strict=True))

        def tried(names: Sequence[str], likely: Sequence[str]) -> dict[str, float]:
            few = moved(names, few=True)
            return moved(sorted({*nsmallest(KEPT, few, key=few.__getitem__), *likely}))

        names, like = self.names[head], partial(self.likeness, head)
        explained = partial(like, rows="zero")
        looked = [name for name in names if explained(name) >= UNLIKE]
        simple = tried(looked, nlargest(BEFORE_ELSE, looked, key=like))
        plain = [name for name in looked if complexity(name) == 1]
        measured = [name for name in plain if name in simple]
        best = nsmallest(BEFORE_ELSE, measured, key=simple.__getitem__)
        firsts = {*best, *nlargest(BEFORE_ELSE, plain, key=like)}
        others = [name for name in names if complexity(name) == 1]
        pairs = [f"{first}{ELSE}{other}" for first in firsts for other in others]
        pairs = [pair for pair in pairs if self._adds(*pair.split(ELSE))]
        even = nlargest(
            KEPT, [name for name in plain if BY_WEIGHT not in name], key=explained
        )
        both = [f"{one}{AND}{also}" for one in even for also in ALSO]
        pairs += [name for name in both if explained(name) >= READ]
        pairs += self._split(head, [name for name in looked if BY_WEIGHT not in name])
        likely = nlargest(4 * KEPT, pairs, key=like)
        found = simple | tried(likely, likely[:KEPT])
        without = {**chosen, head: IDLE}
        zero = {at: ZERO if what == IDLE else what for at, what in without.items()}
        idle = self.moved([without, zero], above=above)
        may_be_idle = not self.by_place[head] and head not in self.needed
        by_mean = idle[0] if may_be_idle else math.inf
        limit = min([*found.values(), by_mean]) + self.slack
        serve = [name for name, moved in found.items() if moved <= limit]
        is_idle = max(idle) <= limit and head not in self.needed
        if is_idle or not serve:
            return IDLE
        worth = {n: like(n) - PRICE * (complexity(n) - 1) for n in serve}
        alike = [name for name in serve if worth[name] >= max(worth.values()) - ALIKE]
        name = min(alike, key=_order(names))
        return min(self._wider(head, name, serve) or [name], key=_order(names))

    def _wider(self, head: Head, name: str, among: Sequence[str]) -> list[str]:
        """Relations as simple with the same keys and more rows, where the head follows
        them, too.

        What the mean does in rows that a relation leaves out is no merit of the
        condition.
        """
        keys, own = self.patterns.one_hot(frozenset({name})), self.own[:, *head]
        rows = keys.any(2)

        def along(pattern: Tensor, rows: Tensor) -> float:
            weights = self.weights[:, *head] * rows
            return (
                (own.minimum(pattern).sum(2) * weights).sum() / weights.sum()
            ).item()

        def follows(other: str) -> bool:
            wide = self.patterns.one_hot(frozenset({other}))
            more = along(wide, wide.any(2) & ~rows)
            return torch.equal(wide[rows], keys[rows]) and more > GOES_ON * along(
                keys, rows
            )

        return [
            one for one in among if complexity(one) <= complexity(name) and follows(one)
        ]

    def likeness(self, head: Head, name: str, rows: str | None = None) -> float:
        """The share of a head's attention that lies where its replacement would have
        it.

        With `rows`, with these where a relation gives no key.
        """
        mechanism = (
            Paths(frozenset({name}), rows) if rows else self.mechanism(name, head)
        )
        return self._along(head, mechanism).sum().item()

    def _along(
        self, head: Head, mechanism: Mechanism
    ) -> Float[Tensor, "sequence query"]:
        common = self.own[:, *head].minimum(self.patterns.dense(mechanism, head)).sum(2)
        return common * self.weights[:, *head]

    def _split(self, head: Head, names: Sequence[str]) -> list[str]:
        """Two relations that explain a head together, one for some tokens of the
        query.
        """
        if (
            not names
            or not self.relations.of_tokens
            or len(self.relations.inputs.unique()) > MANY
        ):
            return []
        along = {
            name: self._along(head, Paths(frozenset({name}), "zero")) for name in names
        }
        both = for_classes(self.relations.inputs, along)
        return [both] if both and self.likeness(head, both, "zero") >= READ else []

    def _adds(self, first: str, other: str) -> bool:
        first_rows, other_rows = (
            self.relations.part(x)[self.few].any(2) for x in (first, other)
        )
        return first != other and bool((~first_rows & other_rows).any())


def row_weights(
    model: Tappable, task: Task, batch: Batch
) -> Float[Tensor, "sequence layer head query"]:
    """The weight of every row of attention; the rows of a head are 1 together.

    That is what the head's mean in the place of the row would move, to first order; or
    what zeros would, where the mean would move next to nothing. Of heads without a
    slope, as below steps that are saturated, it is what that does move.

    Args:
        model: of any kind that has a tap.
        task: that it was trained on.
        batch: sequences.
    """
    asked = task.targets.asked(batch.targets)

    def moved(outputs: Tensor, _: Sequence[Tensor]) -> Tensor:
        return task.targets.numbers(outputs, batch.targets)[asked].square().sum()

    own, slopes = attention_slopes(model, batch.inputs, batch.targets.shape[1], moved)
    ends = own.mean(0), torch.zeros_like(own[0])
    by_mean, by_zero = (((end - own) * slopes).sum(-1).abs() for end in ends)
    most = by_zero.sum((0, 3))
    outputs = Outputs(model, task, batch)
    for layer, number in (most <= FLAT * most.max()).nonzero().tolist():
        head = layer, number
        for rows, end in zip((by_mean, by_zero), ends, strict=True):
            rows[:, *head] = outputs.moved_by(head, end[*head])
    most = (rows.sum((0, 3), keepdim=True) for rows in (by_mean, by_zero))
    rows = torch.where(next(most) < HARDLY * next(most), by_zero, by_mean)
    return rows / rows.sum((0, 3), keepdim=True).clamp(min=torch.finfo(rows.dtype).tiny)


def _order(names: Sequence[str]) -> Callable[[str], list[int]]:
    """A key that sorts relations by how simple they are, those of fewest parts
    first.
    """
    places = {name: place for place, name in enumerate(names)}

    def place(name: str) -> list[int]:
        parts = name.replace(AND, ELSE).split(ELSE)
        return [complexity(name), *(places.get(part, len(names)) for part in parts)]

    return place
