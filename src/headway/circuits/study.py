"""A study: sample, search, measure the evidence, and search again elsewhere."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from headway.circuits import corrupted
from headway.circuits.ablation import Bench, First, heads_of
from headway.circuits.candidates import Attention, ends_read, relation_attention, searched
from headway.circuits.comparison import jaccard
from headway.circuits.evidence import evidence_for
from headway.circuits.evidence_records import Evidence, Trial
from headway.circuits.mechanism import Circuit, KnockOut, Mean, Paths, name_of
from headway.circuits.reading import read
from headway.circuits.search import search, simplify
from headway.circuits.workers import Workers
from headway.errors import HeadwayError, require
from headway.models import Tappable
from headway.tasks import Task
from headway.training.data import held_out

THRESHOLD = 0.05
"""The loss below which a circuit must stay with every head replaced (appendix E)."""

GAP = 0.1
"""Where nobody says what heads may look at, a circuit must close all but this share of the gap
between the model's own loss and the loss with every head ablated."""

HARDLY = 0.2
"""The part of the way from the model's own loss to the threshold that a path which is hardly missed
may cost, with all others that went; at most `THRESHOLD`."""

DRAFT = 16
"""Sequences on which a first circuit is drafted."""

DRAFT_MARGIN = 0.9
"""A draft must stay below this part of the threshold, so as seldom to fail on all sequences."""

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
    if ablation == "corrupted":
        return study_corrupted(model, task, settings, seed, device, circuit)

    def sample(name: str, count: int) -> Sample:
        batch = held_out(task, count, seed, device, name)
        bench = Bench(model, task, batch, ablation, ends=(DRAFT, half))
        return (BlindSample if blind else Sample)(bench, count, settings)

    here = sample("circuit", whole)
    threshold = settings.threshold or here.yardstick()
    own = here.require_learnt(threshold)
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
        searching = work.start(lambda: circuit or here.search(threshold))
        elsewhere = {name: work.start(s.search, threshold) for name, s in others.items()}
        chosen = searching.result()
        attention = here.attention_with(chosen)
        at = [own + (threshold - own) * part for part in OTHER_THRESHOLDS]
        at = at if again and not blind else []
        measuring = work.start(evidence_for, fresh, chosen, attention, threshold)
        otherwise = work.start(lambda: [first.search(threshold) for threshold in at])

        def trial(name: str, threshold: float, found: Circuit) -> Trial:
            return Trial(name, threshold, found.paths, jaccard(found.paths, chosen.paths))

        there = zip(at, otherwise.result(), strict=True)
        trials = [trial("circuit", threshold, found) for threshold, found in there]
        trials += [trial(n, threshold, f.result()) for n, f in elsewhere.items()]
        evidence = replace(measuring.result(), trials=trials)
    return Studied(
        chosen,
        threshold,
        ablation,
        evidence,
        attention,
        candidates=sum(b.candidates for b in benches),
        forwards=round(sum(b.forwards * b.sequences for b in benches) / whole, 6),
    )


def study_corrupted(
    model: Tappable,
    task: Task,
    settings: Settings,
    seed: int,
    device: str,
    circuit: Circuit | None,
) -> Studied:
    """The same by way of corrupted sequences (`circuits.corrupted`).

    Unless a threshold is given, a circuit must close all but `GAP` of the gap between the model's
    own attention and that in the corrupted sequences, and half of that is left open where it is
    searched for, so that it closes enough on others.
    """
    whole, again = settings.sequences, settings.trials and circuit is None
    counts = {"circuit": whole, "certificate": whole}
    counts |= dict.fromkeys(OTHER_SAMPLES if again else (), math.ceil(0.5 * whole))
    benches = {
        name: Bench(model, task, held_out(task, count, seed, device, name), "corrupted", False)
        for name, count in counts.items()
    }

    def search(name: str) -> Circuit:
        limit = settings.threshold or corrupted.limit(benches[name], GAP / 2)
        return corrupted.found(benches[name], limit, settings.candidate_attention)

    fresh = benches["certificate"]
    threshold = settings.threshold or corrupted.limit(fresh, GAP)
    if circuit is not None:
        require_fits(circuit, model)
    chosen = circuit or search("circuit")
    attention = corrupted.attention_of(fresh)
    evidence = corrupted.evidence_of(fresh, chosen, attention)
    for name in list(counts)[2:]:
        paths = search(name).paths
        evidence.trials.append(Trial(name, threshold, paths, jaccard(paths, chosen.paths)))
    spent = sum(one.forwards * one.sequences for one in benches.values()) / whole
    candidates = sum(one.candidates for one in benches.values())
    return Studied(
        chosen, threshold, "corrupted", evidence, attention, candidates, forwards=round(spent, 6)
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

    def yardstick(self) -> float:
        """The loss to stay below unless another is asked for."""
        return THRESHOLD

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

    def search(self, threshold: float) -> Circuit:
        """A circuit: drafted on a few sequences, settled on all of them.

        If the draft fails on all of them, the search is made on all of them. If that fails too,
        heads may keep some of what stands at a position beside what they bring there: paths from
        roles to themselves.
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
        return min(tried)[2]


class BlindSample(Sample):
    """A sample of a task of which nobody says what heads may look at."""

    def yardstick(self) -> float:
        """The loss to stay below: it closes all but `GAP` of what ablating every head costs.

        Ablated heads have their mean patterns or zeros, whichever costs more.

        Raises:
            HeadwayError: if ablating every head costs nothing.
        """
        heads = self.bench.heads
        ends = [dict.fromkeys(heads, Mean()), dict.fromkeys(heads, Paths(frozenset()))]
        own, *ablated = self.bench.losses([{}, *ends])
        if not max(ablated) > own:
            raise HeadwayError(
                f"there is no circuit to find: the model's own loss is {own:.3f}, and without any"
                f" attention to what stands in a sequence it is {max(ablated):.3f}"
            )
        return own + GAP * (max(ablated) - own)

    def search(self, threshold: float) -> Circuit:
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
