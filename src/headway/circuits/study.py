"""A study: sample, search, measure the evidence, and search again elsewhere."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from headway.circuits import corrupted
from headway.circuits.ablation import Bench, First, heads_of
from headway.circuits.candidates import (
    Attention,
    candidates_of,
    ends_read,
    relation_attention,
    searched,
)
from headway.circuits.comparison import jaccard
from headway.circuits.evidence import Evidence, Trial, evidence_for
from headway.circuits.exhaustive import Exhaustive, idle_mechanisms
from headway.circuits.mechanism import Circuit, KnockOut, Mean, Paths, name_of
from headway.circuits.reading import read
from headway.circuits.refusal import NoCircuitError
from headway.circuits.search import search, simplify
from headway.circuits.workers import Workers
from headway.circuits.yardstick import THRESHOLD, Yardstick
from headway.errors import require
from headway.models import Tappable
from headway.tasks import Task
from headway.training.data import held_out

HARDLY = 0.4
"""The part of the way from the model's own loss to the threshold that a path which is hardly missed
may cost, with all others that went; at most `THRESHOLD`."""

DRAFT = 16
"""Sequences on which a first circuit is drafted."""

DRAFT_MARGIN = 0.9
"""A draft must stay below this part of the threshold, so as seldom to fail on all sequences."""

FEW_CANDIDATES = 16
"""Among so many candidate paths all sets are judged if the search finds no circuit."""

OTHER_THRESHOLDS = (0.75, 1.5)
"""Where else to search, in parts of the way from the model's own loss to the threshold."""

OTHER_SAMPLES = ("stability 1", "stability 2")
"""Names of samples to search on again, each half as large. (Other thresholds are tried on half of
the first sample.)"""

MARGIN = 0.97
"""A settled draft must stay below this part of the threshold on the sequences that it was searched
on, so that it stays below the threshold on others."""


@dataclass(frozen=True)
class Settings:
    """How to study a model (see `discover` for the fields)."""

    threshold: float | None
    sequences: int
    ablation: str | None
    candidate_attention: Sequence[float]
    trials: bool
    workers: int | None

    def __post_init__(self):
        if self.threshold is not None:
            require_threshold(self.threshold)
        whole = isinstance(self.sequences, int) and self.sequences >= 8
        require(whole, "sequences", self.sequences, "a whole number of at least 8")
        least, workers = self.candidate_attention, self.workers
        fits = bool(least) and all(0 < one <= 1 for one in least)
        require(fits, "candidate_attention", least, "numbers above 0, up to 1")
        require(workers is None or workers >= 1, "workers", workers, "a whole number of at least 1")


def require_threshold(threshold: float) -> None:
    """Makes sure that a number can be a threshold of losses."""
    require(0 < threshold < math.inf, "threshold", threshold, "a positive number")


@dataclass(frozen=True)
class Studied:
    """What a study found; see `Discovery` for the fields."""

    circuit: Circuit
    yardstick: Yardstick
    threshold: float
    ablation: str
    evidence: Evidence
    attention: Attention
    candidates: int
    forwards: float


def study(
    model: Tappable,
    task: Task,
    settings: Settings,
    seed: int,
    device: str,
    circuit: Circuit | None = None,
) -> Studied:
    """Finds a model's circuit, or takes the one given, and measures it on other sequences."""

    whole, half = settings.sequences, math.ceil(0.5 * settings.sequences)
    blind, can = task.is_read_blind, task.is_corrupted
    ablation = settings.ablation or ("corrupted" if can else "mean" if blind else "zero")

    kind = CorruptedSample if ablation == "corrupted" else BlindSample if blind else Sample

    def sample(name: str, count: int) -> Sample:
        batch = held_out(task, count, seed, device, name)
        bench = Bench(model, task, batch, ablation, ends=(DRAFT, half))
        return kind(bench, count, settings)

    here = sample("circuit", whole)
    yardstick = Yardstick.of(here.bench, settings.threshold)
    own = here.require_learnt(yardstick.limits(here.bench)[-1])
    again = settings.trials and circuit is None
    first = here.part(half) if again else here
    others = {name: sample(name, half) for name in OTHER_SAMPLES} if again else {}
    batch = held_out(task, whole, seed, device, "certificate")
    fresh = Bench(model, task, batch, ablation)
    if circuit is not None:
        require_fits(circuit, model)
        fresh.loss(circuit)  # a path that there is not is refused here

    benches = list({fresh, *(one.bench for one in (here, first, *others.values()))})
    with Workers(settings.workers, device, benches) as work:
        searching = work.start(lambda: circuit or here.circuit(yardstick))
        elsewhere = {name: work.start(s.circuit, yardstick) for name, s in others.items()}
        chosen = searching.result()
        attention = here.attention_with(chosen)
        limit = yardstick.met(here.bench, here.all.loss(chosen))
        at = [own + (limit - own) * part for part in OTHER_THRESHOLDS]
        at = at if again and kind is Sample else []
        measuring = work.start(evidence_for, fresh, chosen, attention, yardstick, seed)
        otherwise = work.start(lambda: [first.search(limit) for limit in at])

        def trial(name: str, threshold: float, found: Circuit) -> Trial:
            return Trial(name, threshold, found.paths, jaccard(found.paths, chosen.paths))

        there = zip(at, otherwise.result(), strict=True)
        trials = [trial("circuit", limit, found) for limit, found in there]
        threshold, measured = measuring.result()
        trials += [trial(n, threshold, f.result()) for n, f in elsewhere.items()]
        evidence = replace(measured, trials=trials)
    return Studied(
        chosen,
        yardstick,
        threshold,
        ablation,
        evidence,
        attention,
        candidates=sum(b.candidates for b in benches),
        forwards=round(sum(b.forwards * b.sequences for b in benches) / whole, 6),
    )


class Sample:
    """The first sequences of a bench, to search on."""

    def __init__(self, bench: Bench, count: int, settings: Settings):
        self.bench, self.settings = bench, settings
        self.all, self.few = First(bench, count), First(bench, min(DRAFT, count))
        batch = bench.batch.part(slice(count))
        self.attention = relation_attention(bench.model, bench.task, batch)
        self.likeness = relation_attention(bench.model, bench.task, batch, shared=True)
        self.read = ends_read(bench.model, bench.patterns, bench.batch)

    def part(self, count: int) -> "Sample":
        """The first `count` sequences as a sample of their own."""
        return type(self)(self.bench, count, self.settings)

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
            raise NoCircuitError(
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
            least = self.settings.candidate_attention
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
        found = sets.search(first=True).circuits
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

    def __init__(self, bench: Bench, count: int, settings: Settings):
        self.bench, self.settings, self.all = bench, settings, First(bench, count)
        self.attention = corrupted.attention_of(bench)

    def circuit(self, yardstick: Yardstick) -> Circuit:
        """Of the gap, half of what may be left open is kept for other sequences."""
        limit = yardstick.limits(self.bench)[-1]
        return self.search(limit if yardstick.loss else (self.all.loss() + limit) / 2)

    def search(self, threshold: float, exhaust: bool = True) -> Circuit:
        """The fewest heads that take the loss below a threshold, and what brings their keys."""
        return corrupted.found(self.bench, threshold, self.settings.candidate_attention)


def require_fits(circuit: Circuit, model: Tappable) -> None:
    """Checks that a circuit has a mechanism for every head of a model and no others.

    Raises:
        HeadwayError: if not.
    """
    for head, mechanism in circuit.mechanisms.items():
        stands = not isinstance(mechanism, KnockOut)
        allowed = "uniform, identity or paths"
        require(stands, f"circuit: {name_of(head)}", str(mechanism), allowed)
    odd = sorted(set(circuit.mechanisms) ^ set(heads_of(model)))
    require(
        not odd,
        "circuit: head",
        name_of(odd[0]) if odd else None,
        f"given just once for every head of the model, which has {model.n_layers} layers of"
        f" {model.n_heads}",
    )
