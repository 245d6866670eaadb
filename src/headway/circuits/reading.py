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
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from headway.circuits.ablation import heads_of
from headway.circuits.mechanism import Circuit, Head, Mean, Mechanism, Paths, Tabled
from headway.circuits.patterns import attention_slopes, what_is_seen
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

Effect = Callable[["Answers", Chosen], float]


class Answers:
    """Answers of a model on some sequences, with mechanisms in the place of heads.

    Attributes:
        passes: forward passes so far.
    """

    def __init__(self, model: Tappable, task: Task, batch: Batch, means: Tensor, fills: Tensor):
        self.model, self.task, self.batch, self.means = model, task, batch, means
        self.fills = fills
        self.tables: Tables | None = None
        self.relations = relations_of(task, batch)
        self.passes = 0
        self._own = self._outputs({})

    def moved(self, chosen: Chosen) -> float:
        """The `Targets.divergence` of the answers from the model's own under mechanisms."""
        outputs = self._outputs(chosen)
        found = self.task.targets.divergence(self._own, outputs, self.batch.targets).item()
        return found if math.isfinite(found) else math.inf

    def agreement(self, chosen: Chosen) -> float:
        """The share of answers that are the model's own under mechanisms."""
        targets, wanted = self.task.targets, self.batch.targets
        same, asked = targets.same(self._outputs(chosen), self._own, wanted), targets.asked(wanted)
        return ((same & asked).sum() / asked.sum()).item()

    def _outputs(self, chosen: Chosen) -> Tensor:
        self.passes += 1

        def tap(layer: int, pattern: Tensor) -> Tensor:
            heads = {head: what for (at, head), what in chosen.items() if at == layer}
            if heads:
                pattern = pattern.clone()
                for head, what in heads.items():
                    pattern[:, head] = self.pattern(what, (layer, head))
            return pattern

        return self.model(self.batch.inputs, tap)[:, -self.batch.targets.shape[1] :]

    def pattern(self, what: str, head: Head) -> Float[Tensor, "sequence query key"]:
        """The pattern in the place of a head."""
        mean = self.means[head].expand(len(self.batch.inputs), -1, -1)
        if what == ZERO:
            return torch.zeros_like(mean)
        if what == IDLE:
            return mean
        if what == TABLE:
            return self._tabled[:, *head]
        return self.laid(what, self.fills[head])

    def laid(self, name: str, fill: Tensor) -> Float[Tensor, "sequence query key"]:
        """The pattern of a relation, and something else where it gives a query no key."""
        even = self.relations.even(name, self.means.dtype)
        even = F.pad(even, (0, self.means.shape[-1] - even.shape[-1]))
        return torch.where(even.any(2, keepdim=True), even, fill)

    @cached_property
    def _tabled(self) -> Float[Tensor, "sequence layer head query key"]:
        assert self.tables is not None, "heads are put to tables once these are known"
        found = self.tables.patterns(self.batch.inputs).to(self.means.dtype)
        return F.pad(found, (0, self.means.shape[-1] - found.shape[-1]))


def relations_of(task: Task, batch: Batch) -> Composed:
    """The relations that heads may follow: those that a task names, and composed ones."""
    length, given = batch.inputs.shape[1], dict[str, Tensor]()
    if not task.is_read_blind:
        edges = task.edges(batch).items()
        given = {name: one.mask(length) for name, one in edges if one.use == "path"}
    return Composed(batch.inputs, task.vocabulary is not None, task.looks_ahead, given)


@torch.no_grad()
def read(model: Tappable, task: Task, batch: Batch) -> tuple[Circuit, int]:
    """A mechanism for every head of a model, and how many forward passes it took.

    Args:
        model: of any kind that has a tap.
        task: that it was trained on.
        batch: sequences to read it on.
    """
    reader = Reader(model, task, batch)
    chosen = reader.read()
    plain: dict[str, Mechanism] = {IDLE: Mean(), TABLE: Tabled(reader.all.tables)}
    mechanisms = {head: plain.get(x, Paths(frozenset({x}))) for head, x in chosen.items()}
    return Circuit(mechanisms), reader.passes


class Reader:
    """A search for the relation that every head follows, by effect."""

    def __init__(self, model: Tappable, task: Task, batch: Batch):
        own = attention_patterns(model, batch.inputs)
        self.heads, self.own = heads_of(model), own
        self.weights = row_weights(model, task, batch)
        self.by_place = are_by_place(own, self.weights)
        seen = what_is_seen(model, batch.inputs)[0].any(0)[:, : batch.inputs.shape[1]]
        even = seen / seen.sum(1, keepdim=True).clamp(min=1)
        even = F.pad(even, (0, own.shape[-1] - even.shape[1])).to(own.dtype)
        fills = torch.where(self.by_place[..., None, None], even, own.mean(0))
        self.all = Answers(model, task, batch, own.mean(0), fills)
        self.few = Answers(model, task, batch.part(slice(FEW)), own.mean(0), fills)
        ends = {x: self.all.moved(dict.fromkeys(self.heads, x)) for x in (IDLE, ZERO)}
        self.whole = max(ends.values())
        self.slack = SHARE * self.whole
        matters = (self.weights.sum((1, 2)) > 0)[..., None]
        relations = self.all.relations
        self.names = [
            [
                n
                for n in relations.vocabulary(at, matters)
                if bool((seen | ~relations.part(n)).all())
            ]
            for at in range(model.n_layers)
        ]

    @property
    def passes(self) -> int:
        """Forward passes so far, of all sequences."""
        share = len(self.few.batch.inputs) / len(self.all.batch.inputs)
        return round(self.all.passes + share * self.few.passes)

    def read(self) -> dict[Head, str]:
        """The relation that every head follows, or that it is idle."""
        idle = self.idle()
        chosen = dict.fromkeys(idle, IDLE)
        useful = [head for head in self.heads if head not in chosen]
        for head in useful:
            chosen[head] = self.choice(head, chosen, Answers.moved)
        for _ in range(ROUNDS):
            before = dict(chosen)
            for head in useful:
                chosen[head] = self.choice(head, chosen, _both_ways(head))
            if chosen == before or len(useful) < 2:
                break
        return chosen if self.all.agreement(chosen) >= ENOUGH else self.tabled(chosen)

    def tabled(self, chosen: Chosen) -> dict[Head, str]:
        """Tables for heads that no relation explains, relations for as many others as possible.

        Heads that are read keep theirs, if all are or that keeps enough answers. Relations of the
        rest are chosen anew with the others put to tables; those that then move answers least come
        first, as long as enough answers stay.

        Args:
            chosen: what is kept if tables keep no more answers than that.
        """
        device, model = str(self.all.batch.inputs.device), self.all.model
        more = held_out(self.all.task, SEQUENCES, 0, device, "tables").inputs
        known = Tables(more, lambda: attention_patterns(model, more))
        if not known.are_possible:
            return dict(chosen)
        self.all.tables = self.few.tables = known

        def is_read(head: Head) -> bool:
            return chosen[head] != IDLE and self.likeness(head, chosen[head]) >= READ

        unread = [head for head in self.heads if not is_read(head)]
        for left in (unread, self.heads if unread else []):
            found = {**chosen, **dict.fromkeys(left, TABLE)}
            kept = self.all.agreement(found)
            if kept >= ENOUGH:
                break
        if kept <= self.all.agreement(chosen):
            return dict(chosen)
        named = {head: self.choice(head, found, _both_ways(head)) for head in left}
        moved = {head: self.all.moved({**found, head: what}) for head, what in named.items()}
        least = min(ENOUGH, kept - SHARE)
        for head in sorted(named, key=lambda head: moved[head]):
            for what in (named[head], chosen[head]):
                if self.all.agreement(fewer := {**found, head: what}) >= least:
                    found = fewer
                    break
        return found

    def idle(self) -> list[Head]:
        """As many heads as can be idle together, those first that alone move answers least."""
        ways = (IDLE, ZERO)
        alone = {head: max(self.all.moved({head: x}) for x in ways) for head in self.heads}
        order = sorted(self.heads, key=lambda head: alone[head])

        def possible(count: int) -> bool:
            together = (self.all.moved(dict.fromkeys(order[:count], x)) for x in ways)
            return max(together) <= self.slack

        return order[: longest(len(order), possible)]

    def choice(self, head: Head, chosen: Chosen, effect: Effect) -> str:
        """The simplest mechanism of a head that moves answers about as little as the best.

        Args:
            head: to choose for.
            chosen: by other heads.
            effect: of a choice, on some sequences.
        """

        def tried(names: Sequence[str], answers: Answers) -> dict[str, float]:
            return {name: effect(answers, {**chosen, head: name}) for name in names}

        def best(found: Mapping[str, float], count: int) -> list[str]:
            return sorted(found, key=lambda name: found[name])[:count]

        weighed = self.weighed[head]
        names = [*self.names[head[0]], *(name for name in weighed if BY_TABLE not in name)]
        looked = [name for name in names if self.explained(head, name) >= UNLIKE]

        def likest(names: Sequence[str], count: int) -> list[str]:
            return sorted(names, key=lambda name: -self.likeness(head, name))[:count]

        kept = {*best(tried(looked, self.few), KEPT), *likest(looked, BEFORE_ELSE)}
        simple = tried(sorted(kept), self.all)
        plain = [name for name in looked if complexity(name) == 1]
        tried_plain = {name: moved for name, moved in simple.items() if name in plain}
        firsts = {*best(tried_plain, BEFORE_ELSE), *likest(plain, BEFORE_ELSE)}
        others = [name for name in names if complexity(name) == 1]
        pairs = [f"{first}{ELSE}{other}" for first in firsts for other in others]
        pairs = [pair for pair in pairs if self._adds(*pair.split(ELSE))]
        likely = likest(pairs, 4 * KEPT)
        kept = {*best(tried(likely, self.few), KEPT), *likely[:KEPT]}
        both = tried(sorted(kept), self.all)
        idle = [effect(self.all, _with({**chosen, head: IDLE}, way)) for way in (IDLE, ZERO)]
        found = {n: x for n, x in {**simple, **both}.items() if self.explained(head, n) >= UNLIKE}
        if min([*found.values(), idle[0]]) > ROUGH * self.whole:
            names += (tables := [name for name in weighed if BY_TABLE in name])
            found |= tried(tables, self.all)
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
        return min(alike, key=_order(names))

    @cached_property
    def weighed(self) -> dict[Head, list[str]]:
        """Averages over all so far in which some tokens count less than others, by head."""
        relations, n = self.all.relations, self.all.batch.inputs.shape[1]
        own, rows = self.own[..., :n, :n], self.weights[..., :n]
        return {
            head: weighed("all so far", relations, own[:, *head], rows[:, *head])
            for head in self.heads
        }

    def likeness(self, head: Head, name: str) -> float:
        """The share of a head's attention that lies where its replacement would have it."""
        return self._common(head, self.all.pattern(name, head))

    def explained(self, head: Head, name: str) -> float:
        """The same without queries that a relation gives no key."""
        return self._common(head, self.all.laid(name, torch.zeros_like(self.own[:, 0, 0])))

    def _common(self, head: Head, pattern: Tensor) -> float:
        common = self.own[:, *head].minimum(pattern).sum(2)
        return (common * self.weights[:, *head]).sum().item()

    def _adds(self, first: str, other: str) -> bool:
        relations = self.few.relations
        left = ~relations.part(first).any(2)
        return first != other and bool((left & relations.part(other).any(2)).any())


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


def are_by_place(
    own: Float[Tensor, "sequence layer head query key"],
    rows: Float[Tensor, "sequence layer head query"],
) -> Bool[Tensor, "layer head"]:
    """The heads of whose attention their mean has nearly all."""
    return (own.minimum(own.mean(0)).sum(-1) * rows).sum((0, 3)) >= READ


def _order(names: Sequence[str]) -> Callable[[str], list[int]]:
    """A key that sorts relations by how simple they are, those of fewest parts first."""

    def place(name: str) -> list[int]:
        return [complexity(name), *(names.index(part) for part in name.split(ELSE))]

    return place


def _with(chosen: Chosen, way: str) -> Chosen:
    """The same with idle heads replaced in some way."""
    return {head: way if what == IDLE else what for head, what in chosen.items()}


def _both_ways(head: Head) -> Effect:
    """The change of answers with every head replaced, and with the layers above this head free."""

    def effect(answers: Answers, chosen: Chosen) -> float:
        below = {at: what for at, what in chosen.items() if at[0] <= head[0]}
        whole = answers.moved(chosen)
        return whole if len(below) == len(chosen) else whole + answers.moved(below)

    return effect
