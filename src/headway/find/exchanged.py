"""Circuits of large models by exchange with corrupted sequences.

Every head carries what it carries in the corrupted sequence, attention and values, but
for those of the circuit. How much each cell of attention does is told to first order
(`ExchangedBench.effects`). The heads of the largest effects are exchanged one by one in
the model as it is. Those that change the loss most are named, as many as close enough
of the gap, down to where the next head changes it much less. If no such heads close
enough, forward passes judge the order of effects: the fewest heads that close enough,
and of these none that can be spared. Then every head keeps only the rows that matter,
each under the name of where most of it comes from.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from headway.find.gap import HeadCut, cuts_of
from headway.judge.yardstick import Yardstick
from headway.relations.paths import Relation
from headway.replace.ablation import Bench
from headway.replace.circuit import Circuit
from headway.replace.exchanged import ExchangedBench
from headway.replace.heads import Head
from headway.replace.mechanism import Exchanged, Mechanism, Paths
from headway.tasks.prompts.task import ANYWHERE

SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Between the corrupted sequence, 0, and the clean one."""

MOST = 30
"""Heads that a circuit has at most."""

COUNTS = (1, 2, 4, 8, 12, 16, 20, 25)
"""Heads that are tried together, until the loss is below the limit."""

EXCHANGED_ALONE = 48
"""Heads that are exchanged alone, by each of two estimates of what that changes."""

DROP = 0.75
"""The most that the next head may do, as a share of what the last one named does."""

MATTERS = 0.1
"""The least share of what a head does that must be done in a row with a path."""

TELLS = 0.5
"""The least share of what is done in a row that must come along a relation for the row
to be named after it."""

Rows = Mapping[Head, frozenset[str]]
"""The relations of every head of a circuit."""


def circuit_for(bench: Bench, yardstick: Yardstick) -> Circuit:
    """The fewest heads that close enough of the gap, each with the rows that matter.

    Args:
        bench: whose rows without a path are exchanged.
        yardstick: has the shares of the gap to close: the first is aimed at.
    """
    assert isinstance(bench, ExchangedBench), "the way has no other rows"
    effects = bench.effects(SHARES)
    limit = yardstick.limits(bench)[0]
    search = _Search(bench, limit, effects)
    heads = search.strongest_heads() or search.needed_heads()
    return search.circuit(search.rows_of(heads))


class _Search:
    """A search for a circuit by exchange.

    Args:
        bench: with the sequences.
        limit: the loss to stay below.
        effects: of every cell of attention.
    """

    def __init__(self, bench: ExchangedBench, limit: float, effects: Tensor):
        self.bench = bench
        self.limit = limit
        self.by_head = _by_head(bench, effects)
        self.totals = _totals(self.by_head)
        self.relations = bench.patterns.used_as("path")
        self.names_all = ANYWHERE in self.relations

    def strongest_heads(self) -> list[Head]:
        """The heads that do most alone, down to a drop; none if these do not keep the
        loss below the limit.
        """
        cuts = self.cuts_alone()
        order = [cut.head for cut in cuts]
        drops = dict[int, float]()
        for count in self.serving(order[:MOST]):
            drops[count] = _drop_behind(count, cuts)
        if not drops:
            return []
        large = [count for count in drops if drops[count] <= DROP]
        best = min(drops, key=drops.__getitem__)
        if large:
            best = min(large)
        return order[:best]

    def serving(self, order: Sequence[Head]) -> list[int]:
        """The numbers of first heads that keep the loss below the limit."""
        counts = range(1, len(order) + 1)
        groups = [self.whole(order[:count]) for count in counts]
        losses = self.bench.losses(groups)
        serving = list[int]()
        for count, loss in zip(counts, losses, strict=True):
            if loss < self.limit:
                serving.append(count)
        return serving

    def cuts_alone(self) -> list[HeadCut]:
        """The work of heads in the model as it is, the most first, be it for or against
        the answer.
        """
        likely = set(_largest(self.totals))
        likely |= set(likely_heads(self.bench))
        heads = sorted(likely)
        cuts = cuts_of(self.bench, heads)
        return sorted(cuts, key=lambda cut: -abs(cut.lost))

    def needed_heads(self) -> list[Head]:
        """The first heads by their effects that keep the loss below the limit, without
        those that can be spared.
        """
        chosen = self.first_serving()
        loss = self.bench.loss(self.whole(chosen))
        most = max(self.limit, loss + 1e-6)
        for head in reversed(chosen):
            fewer = [other for other in chosen if other != head]
            if fewer and self.bench.loss(self.whole(fewer)) < most:
                chosen = fewer
        return chosen

    def first_serving(self) -> list[Head]:
        """The first heads by their effects that keep the loss below the limit, else as
        many as lose least.
        """
        ranked = self.ranked()
        counts = [count for count in COUNTS if count < len(ranked)]
        groups = [ranked[:count] for count in [*counts, len(ranked)]]
        losses = self.bench.losses([self.whole(heads) for heads in groups])
        for heads, loss in zip(groups, losses, strict=True):
            if loss < self.limit:
                return heads
        least = losses.index(min(losses))
        return groups[least]

    def ranked(self) -> list[Head]:
        """The heads that close some of the gap, the largest effect first."""
        helping = [head for head in self.totals if self.totals[head] > 0]
        return sorted(helping, key=lambda head: -self.totals[head])[:MOST]

    def whole(self, heads: Sequence[Head]) -> dict[Head, Mechanism]:
        """The model with all heads exchanged but these."""
        return {head: Exchanged() for head in self.bench.heads if head not in heads}

    def circuit(self, rows: Rows) -> Circuit:
        """The circuit of heads with their relations."""
        mechanisms: dict[Head, Mechanism] = {}
        for head in self.bench.heads:
            mechanisms[head] = Paths(rows[head]) if head in rows else Exchanged()
        return Circuit(mechanisms)

    def rows_of(self, heads: Sequence[Head]) -> Rows:
        """The relations of every head: as few rows as keep the loss low enough.

        Where these do not do, the heads of which they leave most out are kept whole,
        one after the other.
        """
        rows = {head: self.named(head) for head in heads}
        loss = self.bench.loss(self.whole(heads))
        aimed = max(self.limit, loss)
        left_out = {head: self.left_out(head, rows[head]) for head in heads}
        for head in sorted(heads, key=lambda head: -left_out[head]):
            if not self.names_all or self.bench.loss(self.circuit(rows)) <= aimed:
                break
            rows[head] = frozenset({ANYWHERE})
        return rows

    def named(self, head: Head) -> frozenset[str]:
        """The relations by which a head's rows that matter are named.

        A row of a role is named after where most of what it brings comes from, and
        other rows after the relation along which most comes.
        """
        cells = self.by_head[head]
        if cells.sum() < 0:
            cells = -cells  # a head that works against the answer
        least = MATTERS * cells.sum().item()
        names = set[str]()
        for role in self.bench.task.roles:
            anywhere = Relation.between(role, ANYWHERE)
            whole = self.along(anywhere, cells)
            if whole >= least:
                names.add(self.best(role, cells, whole))
        in_named_rows = cells[self.kept(names)]
        rest = cells.sum().item() - in_named_rows.sum().item()
        is_much = rest >= max(3 * least, 0.0)
        if is_much or not names:
            names.add(self.best_of_others(cells, rest))
        return frozenset(names)

    def best_of_others(self, cells: Tensor, rest: float) -> str:
        """The relation of no role along which most comes; anywhere, if that is little
        of the rest that no role names.
        """
        others = [name for name in self.relations if "←" not in name]
        ends = [name for name in others if name != ANYWHERE]
        gains = {name: self.along(name, cells) for name in ends}
        best = max(gains, key=gains.__getitem__)
        is_named = gains[best] >= TELLS * rest or not self.names_all
        return best if is_named else ANYWHERE

    def best(self, role: str, cells: Tensor, whole: float) -> str:
        """The relation from a role along which most comes, if that is much of it all;
        of relations along which as much comes, the first.
        """
        anywhere = Relation.between(role, ANYWHERE)
        from_role = [name for name in self.relations if name.startswith(f"{role}←")]
        names = [name for name in from_role if name != anywhere]
        gains = {name: self.along(name, cells) for name in names}
        if not gains:
            return anywhere
        most = max(gains.values())
        first = next(name for name in names if gains[name] >= 0.99 * most)
        return first if most >= TELLS * whole else anywhere

    def along(self, name: str, cells: Tensor) -> float:
        """The work of a head along a relation."""
        if not self.bench.patterns.has(name):
            return 0.0
        mask = self.bench.patterns.alone(name) > 0
        return cells[mask].sum().item()

    def kept(self, names: set[str]) -> Tensor:
        """The rows of some relations, as cells."""
        patterns = self.bench.patterns
        shape = next(iter(self.by_head.values())).shape
        kept = torch.zeros(shape, dtype=torch.bool)
        for name in names:
            has_key = patterns.alone(name).any(2, keepdim=True)
            kept |= has_key.to(kept.device)
        return kept

    def left_out(self, head: Head, names: frozenset[str]) -> float:
        """The work of a head in rows that its relations leave out."""
        cells = self.by_head[head]
        kept = cells[self.kept({*names})]
        return (cells.sum() - kept.sum()).item()


def likely_heads(bench: ExchangedBench) -> list[Head]:
    """The heads that change the loss most when exchanged alone, to first order."""
    cells = _by_head(bench, bench.effects([1.0]))
    return _largest(_totals(cells))


def _by_head(bench: ExchangedBench, effects: Tensor) -> dict[Head, Tensor]:
    """The effects of every head's cells."""
    by_head = dict[Head, Tensor]()
    for layer, head in bench.heads:
        by_head[layer, head] = effects[layer, :, head].double()
    return by_head


def _totals(by_head: Mapping[Head, Tensor]) -> dict[Head, float]:
    """The effects of every head's cells together."""
    return {head: cells.sum().item() for head, cells in by_head.items()}


def _largest(sizes: Mapping[Head, float]) -> list[Head]:
    """The heads of the largest sizes, as many as are exchanged alone."""
    ranked = sorted(sizes, key=lambda head: -abs(sizes[head]))
    return ranked[:EXCHANGED_ALONE]


def _drop_behind(count: int, cuts: Sequence[HeadCut]) -> float:
    """The work of the head behind the first ones, as a share of the last of these."""
    if count >= len(cuts):
        return 0.0
    last = cuts[count - 1].lost
    behind = cuts[count].lost
    if last == 0:
        return 1.0
    return abs(behind / last)
