"""How a circuit is searched for on a sample of sequences, by what is known of its task."""

import math
from collections.abc import Sequence
from functools import partial

from headway.circuits import corrupted
from headway.circuits.ablation import Bench, First
from headway.circuits.exhaustive import Exhaustive, idle_mechanisms
from headway.circuits.mechanism import Circuit, Mean, Paths
from headway.circuits.patterns import Attention, relation_attention
from headway.circuits.reading import read
from headway.circuits.search import (
    CANDIDATE_ATTENTION,
    candidates_of,
    ends_read,
    search,
    searched,
    simplify,
)
from headway.circuits.yardstick import THRESHOLD, Yardstick
from headway.errors import HeadwayError

HARDLY = 0.4
"""The part of the way from the model's own loss to the threshold that a path which is hardly missed
may cost, with all others that went; at most `THRESHOLD`."""

DRAFT = 16
"""Sequences on which a first circuit is drafted."""

DRAFT_MARGIN = 0.9
"""A draft must stay below this part of the threshold, so as seldom to fail on all sequences."""

FEW_CANDIDATES = 16
"""Among so many candidate paths all sets are judged if the search finds no circuit."""

MARGIN = 0.97
"""A settled draft must stay below this part of the threshold on the sequences that it was searched
on, so that it stays below the threshold on others."""


class Sample:
    """The first sequences of a bench, to search on."""

    def __init__(
        self, bench: Bench, count: int, candidate_attention: Sequence[float] = CANDIDATE_ATTENTION
    ):
        self.bench, self.candidate_attention = bench, candidate_attention
        self.all, self.few = First(bench, count), First(bench, min(DRAFT, count))
        batch = bench.batch.part(slice(count))
        self.attention = relation_attention(bench.model, bench.task, batch)
        self.likeness = relation_attention(bench.model, bench.task, batch, shared=True)
        self.read = ends_read(bench.model, bench.patterns, bench.batch)

    def part(self, count: int) -> "Sample":
        """The first `count` sequences as a sample of their own."""
        return type(self)(self.bench, count, self.candidate_attention)

    def attention_with(self, circuit: Circuit) -> Attention:
        """Attention along the task's relations, and along those that a circuit composes."""
        names = [path.relation for path in circuit.paths if path.relation not in self.attention]
        batch = self.bench.batch.part(slice(self.all.sequences))
        more = relation_attention(self.bench.model, self.bench.task, batch, names=names)
        return self.attention | more

    def require_learnt(self, threshold: float) -> float:
        """The model's own loss; raises unless it is below the threshold."""
        partial = self.bench.partial()
        if not partial.mean() < threshold:
            names = self.bench.hops
            hops = ", ".join(f"{h} {x:.3f}" for h, x in zip(names, partial.tolist(), strict=True))
            raise HeadwayError(
                f"there is no circuit to find at threshold {threshold:g}: the model's own loss is"
                f" {partial.mean():.3f} ({hops})"
            )
        return partial.mean().item()

    def circuit(self, yardstick: Yardstick) -> Circuit:
        """The circuit below the least limit that one is found below, or else the last found."""
        *stricter, last = yardstick.limits(self.bench)
        for limit in stricter:
            found = self.search(limit, exhaust=False)
            if self.all.loss(found) < limit:
                return found
        return self.search(last)

    def search(self, threshold: float, exhaust: bool = True) -> Circuit:
        """A circuit: drafted on a few sequences, settled on all of them.

        If the draft fails on all of them, the search is made on all of them. If that fails too,
        heads may keep some of what stands at a position beside what they bring there: paths from
        roles to themselves. The last resort is to judge all sets of paths, unless `exhaust` is off.
        """
        limit = max(MARGIN * threshold, (self.all.loss() + threshold) / 2)
        few = max(DRAFT_MARGIN * threshold, (self.few.loss() + threshold) / 2)
        paths, stays = (searched(self.bench.patterns, use) for use in ("path", "stay"))
        tried: list[tuple[float, int, Circuit]] = []
        known = {"likeness": self.likeness, "read": self.read}
        for relations in (paths, [*paths, *stays]):
            how = (self.attention, relations)
            least = self.candidate_attention
            draft = search(self.few, *how, few, least, pairs=False, **known)
            if self.all.losses([draft], limit)[0] < math.inf:
                return simplify(self.all, draft, limit)
            circuit = search(self.all, *how, threshold, least, **known)
            tried.append((self.all.loss(circuit), len(tried), circuit))
            if tried[-1][0] < threshold:
                break
        loss, _, circuit = min(tried)
        enough = loss < threshold or not exhaust
        return circuit if enough else self.exhausted(circuit, threshold)

    def exhausted(self, circuit: Circuit, threshold: float) -> Circuit:
        """The smallest circuit among all sets of candidate paths, if there are few.

        If none is below the threshold, it is the one given.
        """
        candidates = candidates_of(self.bench, self.attention, circuit)
        if len(candidates) > FEW_CANDIDATES:
            return circuit
        idle = idle_mechanisms(circuit)
        losses = partial(self.bench.losses, sequences=self.all.sequences)
        sets = Exhaustive(losses, candidates, idle, threshold)
        sets.allow(circuit)
        found = sets.search(first=True)
        whole = [Circuit({**idle, **Circuit.of(paths).mechanisms}) for paths in found]
        return min(whole, key=self.all.loss, default=circuit)


class BlindSample(Sample):
    """A sample of a task of which nobody says what heads may look at."""

    def circuit(self, yardstick: Yardstick) -> Circuit:
        """What heads are read to look at; the limit decides of what is hardly missed alone."""
        return self.search(yardstick.limits(self.bench)[0])

    def search(self, threshold: float, exhaust: bool = True) -> Circuit:
        """What heads are read to look at, without all that is hardly missed.

        Paths go as long as the loss stays as low as it is, or near the model's own, with zeros in
        the place of all idle heads, since one whose mean pattern does can do the work of another.
        """
        bench, own = self.bench, self.all.loss()
        batch = bench.batch.part(slice(self.all.sequences))
        circuit, passes = read(bench.model, bench.task, batch)
        bench.add_forwards(passes * len(batch.inputs) / bench.sequences)
        nothing = Paths(frozenset())
        bare = Circuit({h: nothing if m == Mean() else m for h, m in circuit.mechanisms.items()})
        near = max(own + min(HARDLY * (threshold - own), THRESHOLD), self.all.loss(bare))
        limit = math.nextafter(near, math.inf)
        bare = simplify(self.all, bare, limit, plain=())
        idle = Circuit({h: Mean() if m == nothing else m for h, m in bare.mechanisms.items()})
        return idle if self.all.losses([idle], limit)[0] < math.inf else bare


class CorruptedSample(Sample):
    """A sample of a task that lays out corrupted sequences (`circuits.corrupted`)."""

    def __init__(self, bench: Bench, count: int, candidate_attention: Sequence[float]):
        self.bench, self.all = bench, First(bench, count)
        self.candidate_attention = candidate_attention
        self.attention = corrupted.attention_of(bench)

    def circuit(self, yardstick: Yardstick) -> Circuit:
        """Of the gap, half of what may be left open is kept for other sequences."""
        limit = yardstick.limits(self.bench)[-1]
        return self.search(limit if yardstick.loss else (self.all.loss() + limit) / 2)

    def search(self, threshold: float, exhaust: bool = True) -> Circuit:
        """The fewest heads that take the loss below a threshold, and what brings their keys."""
        return corrupted.found(self.bench, threshold, self.candidate_attention)
