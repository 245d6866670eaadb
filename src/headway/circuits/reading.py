"""Reading heads of which nobody says what they may look at: by what their replacement does.

Every head gets the simplest mechanism that moves the model's answers little: its mean over
sequences, a relation composed of few words (`headway.relations`), or one with an `else`. Answers
are compared with the model's own, at what is asked, with all that is chosen in place and, where
there are layers above, also with those attending freely: what a head does for the heads above shows
only while they look for themselves.

A head is idle if neither its mean pattern nor zeros in its place move the answers. The mean of a
head that attends by place is what it does. So that is no merit of a relation which leaves rows to
the mean: of such a head, these rows are even.

Likeness of patterns is a poor judge by itself, as most rows do not matter. It decides among the
relations whose effects are alike.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from headway.circuits.ablation import Bench
from headway.circuits.mechanism import Circuit, Head, Mean, Mechanism, Paths, Tabled
from headway.circuits.patterns import attention_slopes
from headway.circuits.search import longest
from headway.models import Tappable, attention_patterns
from headway.relations import Composed
from headway.relations.composed import BY_TABLE, ELSE, complexity
from headway.relations.fitted import SEQUENCES, Tables, weighed
from headway.tasks import Batch, Task
from headway.training.data import held_out

SHARE = 0.005
"""A simpler mechanism may move the answers more than the best one does, by this share of what
ablating every head does."""

FEW = 24
"""Sequences on which all relations are tried; those that move answers least are tried on all."""

KEPT = 10
"""Relations that are tried on all sequences, of those with an `else` and of those without."""

BEFORE_ELSE = 3
"""Relations to which every `else` is tried."""

PRICE = 0.1
"""So much liker the head's attention a relation must be for every part more (`complexity`)."""

ALIKE = 0.03
"""Of relations that serve and differ by less in likeness, the simplest is named."""

GOES_ON = 0.5
"""A condition is no part of a relation that the head follows without it, too: at least so much of
what it follows it with the condition."""

ROUGH = 0.2
"""A table of weights by two tokens is tried if all else moves answers by more than this share of
what ablating every head does."""

HARDLY = 0.05
"""A head's mean moves next to nothing if it moves less than this share of what zeros move."""

UNLIKE = 0.1
"""A relation that has less of a head's attention is not what it looks at, whatever it does."""

ENOUGH = 0.95
"""The share of answers that relations must keep; else some heads are put to tables."""

READ = 0.8
"""A head of whose attention a relation has so much is not put to a table; one of whose attention
its mean has so much attends by place."""

ROUNDS = 2

IDLE, ZERO, TABLE = "idle", "zero", "by table"

Chosen = Mapping[Head, str]
"""A relation, `IDLE`, `ZERO` or `TABLE`, by head; the others attend as they do."""


@torch.no_grad()
def read(bench: Bench) -> Circuit:
    """A mechanism for every head of the model on a bench."""
    reader = Reader(bench)
    return Circuit({head: reader.mechanism(what) for head, what in reader.read().items()})


class Reader:
    """A search for the relation that every head follows, by effect."""

    def __init__(self, bench: Bench):
        self.bench, self.patterns, self.heads = bench, bench.patterns, bench.heads
        model, task, batch = bench.model, bench.task, bench.batch
        self.whole, self.few = slice(0, bench.sequences), slice(0, min(FEW, bench.sequences))
        self.answers = bench.outputs([{}], self.whole)[0]
        self.own, self.tables = self.patterns.own, self.patterns.tables
        self.weights = row_weights(model, task, batch)
        by_mean = self.own.minimum(self.own.mean(0)).sum(-1)
        self.by_place = (by_mean * self.weights).sum((0, 3)) >= READ
        ends = self.moved([dict.fromkeys(self.heads, x) for x in (IDLE, ZERO)])
        self.most = max(ends)
        self.slack = SHARE * self.most
        matters = (self.weights.sum((1, 2)) > 0)[..., None]
        self.relations = Composed(batch.inputs, task.vocabulary is not None, task.looks_ahead)
        tried = [self.relations.vocabulary(at, matters) for at in range(model.n_layers)]
        self.names = [[name for name in names if self.patterns.has(name)] for names in tried]

    def mechanism(self, what: str, head: Head | None = None) -> Mechanism:
        """The mechanism of a choice; of a head, with what fills rows without a path."""
        if what in (IDLE, ZERO, TABLE):
            return {IDLE: Mean(), ZERO: Paths(frozenset()), TABLE: Tabled(self.tables)}[what]
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

        With `few`, in the first sequences. With `above` that with the layers above one free is
        added, if any choice is made there.
        """
        part = self.few if few else self.whole
        wanted, own = self.bench.batch.targets[part], self.answers[part]
        divergence = self.bench.task.targets.divergence
        found = [divergence(own, one, wanted).item() for one in self.outputs(chosen, part)]
        found = [x if math.isfinite(x) else math.inf for x in found]
        if above is None or all(at[0] <= above for one in chosen for at in one):
            return found
        below = [{at: x for at, x in one.items() if at[0] <= above} for one in chosen]
        return [x + y for x, y in zip(found, self.moved(below, few), strict=True)]

    def agreement(self, chosen: Chosen) -> float:
        """The share of answers that are the model's own under a choice."""
        targets, wanted = self.bench.task.targets, self.bench.batch.targets
        same = targets.same(self.outputs([chosen], self.whole)[0], self.answers, wanted)
        return (same.sum() / targets.asked(wanted).sum()).item()

    def read(self) -> dict[Head, str]:
        """The relation that every head follows, or that it is idle."""
        chosen = dict.fromkeys(self.idle(), IDLE)
        useful = [head for head in self.heads if head not in chosen]
        for head in useful:
            chosen[head] = self.choice(head, chosen)
        for _ in range(ROUNDS):
            before = dict(chosen)
            for head in useful:
                chosen[head] = self.choice(head, chosen, head[0])
            if chosen == before or len(useful) < 2:
                break
        return chosen if self.agreement(chosen) >= ENOUGH else self.tabled(chosen)

    def tabled(self, chosen: Chosen) -> dict[Head, str]:
        """Tables for heads that no relation explains, relations for as many others as possible.

        Heads that are read keep theirs, if all are or that keeps enough answers. Relations of the
        rest are chosen anew with the others put to tables; those that then move answers least come
        first, as long as enough answers stay.

        Args:
            chosen: what is kept if tables keep no more answers than that.
        """
        model, device = self.bench.model, str(self.answers.device)
        more = held_out(self.bench.task, SEQUENCES, 0, device, "tables").inputs
        self.tables = Tables(more, lambda: attention_patterns(model, more))
        if not self.tables.are_possible:
            return dict(chosen)

        def is_read(head: Head) -> bool:
            return chosen[head] != IDLE and self.likeness(head, chosen[head]) >= READ

        unread = [head for head in self.heads if not is_read(head)]
        for left in (unread, self.heads if unread else []):
            found = {**chosen, **dict.fromkeys(left, TABLE)}
            kept = self.agreement(found)
            if kept >= ENOUGH:
                break
        if kept <= self.agreement(chosen):
            return dict(chosen)
        named = {head: self.choice(head, found, head[0]) for head in left}
        moved = self.moved([{**found, head: what} for head, what in named.items()])
        least = min(ENOUGH, kept - SHARE)
        for _, head in sorted(zip(moved, named, strict=True)):
            for what in (named[head], chosen[head]):
                if self.agreement(fewer := {**found, head: what}) >= least:
                    found = fewer
                    break
        return found

    def idle(self) -> list[Head]:
        """As many heads as can be idle together, those first that alone move answers least."""
        ways = (IDLE, ZERO)
        alone = {head: max(self.moved([{head: x} for x in ways])) for head in self.heads}
        order = sorted(self.heads, key=lambda head: alone[head])

        def possible(count: int) -> bool:
            together = self.moved([dict.fromkeys(order[:count], x) for x in ways])
            return max(together) <= self.slack

        return order[: longest(len(order), possible)]

    def choice(self, head: Head, chosen: Chosen, above: int | None = None) -> str:
        """The simplest mechanism of a head that moves answers about as little as the best.

        Args:
            head: to choose for.
            chosen: by other heads.
            above: see `moved`.
        """

        def tried(names: Sequence[str], few: bool = False) -> dict[str, float]:
            candidates = [{**chosen, head: name} for name in names]
            moved = self.moved(candidates, few, above) if candidates else []
            return dict(zip(names, moved, strict=True))

        def best(found: Mapping[str, float], count: int) -> list[str]:
            return sorted(found, key=lambda name: found[name])[:count]

        weighed = self.weighed[head]
        names = [*self.names[head[0]], *(name for name in weighed if BY_TABLE not in name)]
        looked = [name for name in names if self.explained(head, name) >= UNLIKE]

        def likest(names: Sequence[str], count: int) -> list[str]:
            return sorted(names, key=lambda name: -self.likeness(head, name))[:count]

        kept = {*best(tried(looked, few=True), KEPT), *likest(looked, BEFORE_ELSE)}
        simple = tried(sorted(kept))
        plain = [name for name in looked if complexity(name) == 1]
        tried_plain = {name: moved for name, moved in simple.items() if name in plain}
        firsts = {*best(tried_plain, BEFORE_ELSE), *likest(plain, BEFORE_ELSE)}
        others = [name for name in names if complexity(name) == 1]
        pairs = [f"{first}{ELSE}{other}" for first in firsts for other in others]
        pairs = [pair for pair in pairs if self._adds(*pair.split(ELSE))]
        likely = likest(pairs, 4 * KEPT)
        kept = {*best(tried(likely, few=True), KEPT), *likely[:KEPT]}
        both = tried(sorted(kept))
        without = {**chosen, head: IDLE}
        zero = {at: ZERO if what == IDLE else what for at, what in without.items()}
        idle = self.moved([without, zero], above=above)
        found = {n: x for n, x in {**simple, **both}.items() if self.explained(head, n) >= UNLIKE}
        if min([*found.values(), idle[0]]) > ROUGH * self.most:
            names += (tables := [name for name in weighed if BY_TABLE in name])
            found |= tried(tables)
        least = math.inf if self.by_place[head] else idle[0]
        limit = min(found.values(), default=math.inf)
        limit = min(limit, least) + self.slack
        if max(idle) <= limit:
            return IDLE
        serve = [name for name, moved in found.items() if moved <= limit]
        if not serve:
            return IDLE
        worth = {n: self.likeness(head, n) - PRICE * (complexity(n) - 1) for n in serve}
        alike = [name for name in serve if worth[name] >= max(worth.values()) - ALIKE]
        name = min(alike, key=_order(names))
        return min(self._wider(head, name, serve) or [name], key=_order(names))

    def _wider(self, head: Head, name: str, among: Sequence[str]) -> list[str]:
        """Relations as simple with the same keys and more rows, where the head follows them, too.

        What the mean does in rows that a relation leaves out is no merit of the condition.
        """
        keys, own = self.patterns.one_hot(frozenset({name})), self.own[:, *head]
        rows = keys.any(2)

        def along(pattern: Tensor, rows: Tensor) -> float:
            weights = self.weights[:, *head] * rows
            return ((own.minimum(pattern).sum(2) * weights).sum() / weights.sum()).item()

        found = list[str]()
        for other in (one for one in among if complexity(one) <= complexity(name)):
            wide = self.patterns.one_hot(frozenset({other}))
            more = wide.any(2) & ~rows
            if torch.equal(wide[rows], keys[rows]) and along(wide, more) > GOES_ON * along(
                keys, rows
            ):
                found.append(other)
        return found

    @cached_property
    def weighed(self) -> dict[Head, list[str]]:
        """Averages over all so far in which some tokens count less than others, by head."""
        n = self.relations.length
        own, rows = self.own[..., :n, :n], self.weights[..., :n]
        return {
            head: weighed("all so far", self.relations, own[:, *head], rows[:, *head])
            for head in self.heads
        }

    def likeness(self, head: Head, name: str) -> float:
        """The share of a head's attention that lies where its replacement would have it."""
        return self._common(head, self.patterns.dense(self.mechanism(name, head), head))

    def explained(self, head: Head, name: str) -> float:
        """That share without queries that a relation gives no key."""
        return self._common(head, self.patterns.one_hot(frozenset({name})))

    def _common(self, head: Head, pattern: Tensor) -> float:
        common = self.own[:, *head].minimum(pattern).sum(2)
        return (common * self.weights[:, *head]).sum().item()

    def _adds(self, first: str, other: str) -> bool:
        first_rows, other_rows = (self.relations.part(x)[self.few].any(2) for x in (first, other))
        return first != other and bool((~first_rows & other_rows).any())


def row_weights(
    model: Tappable, task: Task, batch: Batch
) -> Float[Tensor, "sequence layer head query"]:
    """The weight of every row of attention; the rows of a head are 1 together.

    That is what the head's mean in the place of the row would move, to first order; or what zeros
    would, where the mean would move next to nothing.

    Args:
        model: of any kind that has a tap.
        task: that it was trained on.
        batch: sequences.
    """
    asked = task.targets.asked(batch.targets)

    def moved(outputs: Tensor, _: Sequence[Tensor]) -> Tensor:
        return task.targets.numbers(outputs, batch.targets)[asked].square().sum()

    own, slopes = attention_slopes(model, batch.inputs, batch.targets.shape[1], moved)
    by_mean, by_zero = (((end - own) * slopes).sum(-1).abs() for end in (own.mean(0), 0.0))
    most = (rows.sum((0, 3), keepdim=True) for rows in (by_mean, by_zero))
    rows = torch.where(next(most) < HARDLY * next(most), by_zero, by_mean)
    return rows / rows.sum((0, 3), keepdim=True).clamp(min=torch.finfo(rows.dtype).tiny)


def _order(names: Sequence[str]) -> Callable[[str], list[int]]:
    """A key that sorts relations by how simple they are, those of fewest parts first."""

    def place(name: str) -> list[int]:
        return [complexity(name), *(names.index(part) for part in name.split(ELSE))]

    return place
