"""A study: from a trained model to its circuit, and the evidence for it.

A circuit is searched for on a sample of sequences, by what is known of the task; `evidence`
measures it on sequences that the search did not see; and searches are made again elsewhere.
"""

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import Any

from headway.circuits.ablation import Bench, First
from headway.circuits.ablation import workers as threads
from headway.circuits.discovery import Discovery, Refusal, given_or_own, standing_of
from headway.circuits.evidence import Trial, evidence_for
from headway.circuits.looks import MOST_IDLE, Look, astray, looks
from headway.circuits.looks import SEQUENCES as LOOKED_AT
from headway.circuits.mechanism import Circuit, Mean, Paths, jaccard
from headway.circuits.patterns import Attention, along_all
from headway.circuits.reading import read
from headway.circuits.search import (
    CANDIDATE_ATTENTION,
    candidate_paths,
    candidates_among,
    ends_read,
    relations_for,
    search,
    simplify,
    uses_stays,
)
from headway.circuits.subject import Subject, require_count, require_fits, studied
from headway.circuits.verdicts import LAYERWISE
from headway.circuits.yardstick import THRESHOLD, NoCircuitError, Yardstick, layerwise
from headway.errors import HeadwayError, require
from headway.relations.paths import AttentionPath
from headway.tasks import Task
from headway.training.run import Run

HARDLY = 0.4
"""The part of the way from the model's own loss to the threshold that a path which is hardly missed
may cost, with all others that went; at most `THRESHOLD`."""

DRAFT = 16
"""Sequences on which a first circuit is drafted."""

FEW_CANDIDATES = 16
"""Among so many candidate paths all sets are judged if the search finds no circuit."""

OTHER_SAMPLES = ("stability 1", "stability 2")
"""Names of samples to search on again, each half as large."""


def discover(
    model: Run | str | Path | Any,
    task: Task | None = None,
    *,
    circuit: Circuit | Discovery | Path | str | None = None,
    step: int | None = None,
    threshold: float | None = None,
    sequences: int = 128,
    ablation: str | None = None,
    candidate_attention: Sequence[float] = CANDIDATE_ATTENTION,
    trials: bool = True,
    workers: int | None = None,
    seed: int | None = None,
) -> Discovery:
    """Finds a mechanism for every head of a trained model, and measures the evidence for them.

    Where a task says what heads may look at, paths are searched for among that. If a head hardly
    follows those that it got, and the model does not go on from the circuit layer by layer, the
    search is made again without them; and if that finds none, heads are read as of any other task.
    What serves is taken if heads follow it, and the model goes on from it no less.

    Given a run, takes its last checkpoint and leaves the findings in its `circuit.json`, or why
    there is no circuit to find in its `refused.json`; of another checkpoint, in
    `circuit_STEP.json`; of a circuit that was given, in `circuit_given.json`.

    Args:
        model: a run or its folder; or a model together with its task: one with a tap
            (`models.Tappable`), or any module whose attention can be tapped (`tapped`).
        task: the model's task, if a model is given.
        circuit: to be measured as it is, or a file of it, instead of searching for one.
        step: the checkpoint to study, if a run is given; by default the last.
        threshold: the loss that the model must stay below with every head replaced; by default the
            task's own, or, if it has none, what closes 90 or 80 % of the gap between the model's
            own loss and that with every head ablated (see `Yardstick`).
        sequences: how many held-out sequences to search on, and as many others to judge on.
        ablation: what stands in rows without a path, of heads that have paths (`ABLATIONS`); by
            default zero, or, for such a task, mean; `corrupted` for a task that lays out corrupted
            sequences (see `circuits.corrupted` for how it is then searched and measured).
        candidate_attention: a head may use the paths along which it sends at least this much of
            its attention on average; tried in order until a circuit stays below the threshold,
            else the one with the least loss is taken.
        trials: whether to search again on other samples, to see how stable the circuit is.
        workers: how many searches and measurements to run side by side, each on one core; by
            default as many as the machine has cores. The findings do not depend on it.
        seed: of the held-out sequences; by default the run's, or 0.

    Raises:
        HeadwayError: if the model's own loss is not below the threshold: then it has not learnt
            the task well enough for there to be a circuit to find; if its attention is linear, or
            there is one position to look at; or if an argument is out of range or does not fit the
            model.
    """
    fits = threshold is None or 0 < threshold < math.inf
    require(fits, "threshold", threshold, "a positive number")
    require_count("sequences", sequences, 8)
    fits = bool(candidate_attention) and all(0 < one <= 1 for one in candidate_attention)
    require(fits, "candidate_attention", candidate_attention, "numbers above 0, up to 1")
    require_count("workers", 1 if workers is None else workers, 1)
    if circuit is not None:
        circuit, known = given_or_own(circuit)
        ablation = ablation or known
    with studied(model, task, step, seed) as subject:
        name = None if subject.run is None else circuit_file(subject.run, step, circuit)
        try:
            how = candidate_attention, trials, workers
            found = _study(subject, circuit, threshold, sequences, ablation, *how)
            least = min(found.evidence.likeness.layerwise, default=0.0)
            is_own = least >= LAYERWISE or not found.astray
            if ablation is None and circuit is None and found.faithful and not is_own:
                read = _study(subject, None, threshold, sequences, "mean", *how, blind=True)
                is_liker = min(read.evidence.likeness.layerwise, default=0.0) >= least
                found = read if read.faithful and not read.astray and is_liker else found
        except NoCircuitError as error:
            if subject.run is not None and name == "circuit.json":
                subject.run.save(Refusal(str(error)))
            raise
        if subject.run is not None and name is not None:
            _keep(subject.run, name, {"step": subject.step, "seed": subject.seed}, found)
    return found


def _study(
    subject: Subject,
    circuit: Circuit | None,
    threshold: float | None,
    whole: int,
    ablation: str | None,
    candidate_attention: Sequence[float],
    trials: bool,
    workers: int | None,
    blind: bool = False,
) -> Discovery:
    """Finds a model's circuit, or takes the one given, and measures it on other sequences.

    With `blind`, heads are read as if nobody had said what they may look at; what is said may be.
    """
    model, task, started = subject.model, subject.task, time.perf_counter()
    half, can, blind = math.ceil(0.5 * whole), task.is_corrupted, blind or task.is_read_blind
    ablation = ablation or ("corrupted" if can else "mean" if blind else "zero")
    kind = CorruptedSample if ablation == "corrupted" else BlindSample if blind else Sample

    def sample(name: str, count: int) -> Sample:
        batch = subject.sequences(count, name)
        return kind(Bench(model, task, batch, ablation, ends=(DRAFT,)), candidate_attention)

    here = sample("circuit", whole)
    yardstick = Yardstick.of(here.bench, threshold)
    here.require_learnt(yardstick.limits(here.bench)[-1])
    again = trials and circuit is None
    others = {name: sample(name, half) for name in OTHER_SAMPLES} if again else {}
    fresh = Bench(model, task, subject.sequences(whole, "certificate"), ablation)
    if circuit is not None:
        require_fits(circuit, model)
        fresh.loss(circuit)  # a path that there is not is refused here

    benches = list({fresh, *(one.bench for one in (here, *others.values()))})

    def seen(circuit: Circuit) -> list[Look]:
        idle = sorted(set(circuit.mechanisms) - set(circuit.useful_heads))[:MOST_IDLE]
        heads = [] if ablation == "corrupted" else [*circuit.useful_heads, *idle]
        return looks(model, task, subject.sequences(LOOKED_AT, "looks"), circuit, heads)

    with threads(workers, benches) as work:
        chosen = circuit or work.submit(here.circuit, yardstick).result()
        looked = seen(chosen)
        given = circuit is not None or blind or ablation == "corrupted"
        lost = frozenset() if given else astray(looked, chosen)
        least = min(layerwise(here.bench, chosen), default=0.0) if lost else 1.0
        if least < LAYERWISE:
            here.without = lost
            other = work.submit(here.circuit, yardstick).result()
            serves = here.all.loss(other) < yardstick.limits(here.bench)[-1]
            serves = serves and min(layerwise(here.bench, other), default=0.0) >= least
            if serves and not astray(others_looked := seen(other), other):
                chosen, looked = other, others_looked
                for one in others.values():
                    one.without = here.without
        for one in others.values():
            one.stays = uses_stays(here.bench.patterns, chosen)
        elsewhere = {name: work.submit(s.circuit, yardstick) for name, s in others.items()}
        attention = here.attention_with(chosen)
        measuring = work.submit(evidence_for, fresh, chosen, attention, yardstick, subject.seed)
        found = {name: there.result().paths for name, there in elsewhere.items()}
        threshold, evidence = measuring.result()
    again_found = [Trial(n, paths, jaccard(paths, chosen.paths)) for n, paths in found.items()]
    return Discovery(
        circuit=chosen,
        yardstick=yardstick,
        threshold=threshold,
        ablation=ablation,
        evidence=replace(evidence, trials=again_found),
        attention=attention,
        standing=standing_of(task),
        candidates=sum(b.candidates for b in benches),
        forwards=round(sum(b.forwards * b.sequences for b in benches) / whole, 6),
        looks=looked,
        seconds=round(time.perf_counter() - started, 3),
    )


def circuit_file(run: Run, step: int | None = None, circuit: Circuit | None = None) -> str:
    """The file in which `discover` leaves its findings in a run's folder, for these arguments."""
    if circuit is not None:
        return "circuit_given.json"
    last = step is None or step == run.checkpoint_steps()[-1]
    return "circuit.json" if last else f"circuit_{step:07d}.json"


def _keep(run: Run, name: str, about: dict[str, Any], found: Discovery) -> None:
    """Leaves a discovery in a run's folder, and removes what is about another circuit."""
    data, known = {**about, **found.to_json()}, run.read("circuit.json")
    same = isinstance(known, dict) and {**known, "seconds": 0} == {**data, "seconds": 0}
    if name == "circuit.json" and not same:
        from headway.circuits.certificate import Certificate  # with more than a search needs
        from headway.circuits.dependence import Dependence
        from headway.circuits.emergence import Timeline
        from headway.circuits.exhaustive import MinimalCircuits

        for kind in (MinimalCircuits, Refusal, Timeline, Dependence, Certificate):
            with suppress(HeadwayError):  # what is damaged goes, too
                if (other := run.load(kind)) is None or other.is_of(found):
                    continue
            run.remove(kind.FILE)
    run.write(name, data)


class Sample:
    """Sequences on a bench to search on, a first draft on the first few.

    Attributes:
        without: paths that are no candidates; with any, not all sets of paths are judged.
        stays: whether to search among paths from roles to themselves at once.
    """

    def __init__(self, bench: Bench, candidate_attention: Sequence[float] = CANDIDATE_ATTENTION):
        self.bench, self.candidate_attention = bench, candidate_attention
        self.without: frozenset[AttentionPath] = frozenset()
        self.stays = False
        self.all = First(bench, bench.sequences)
        self.few = First(bench, min(DRAFT, bench.sequences))
        own, edges = bench.patterns.own, bench.task.edges(bench.batch)
        self.attention, self.likeness = (along_all(own, edges, shared) for shared in (False, True))
        self.read = ends_read(bench.model, bench.patterns, bench.batch)

    def attention_with(self, circuit: Circuit) -> Attention:
        """Attention along the task's relations, and along those that a circuit composes."""
        patterns, known = self.bench.patterns, self.attention
        names = [str(path.relation) for path in circuit.paths if path.relation not in known]
        more = {name: patterns.relation(name) for name in names}
        return known | (along_all(patterns.own, more) if more else {})

    def require_learnt(self, threshold: float) -> None:
        """Makes sure that the model's own loss is below the threshold."""
        losses, names = self.bench.errors([{}])[0].mean(0), self.bench.hops
        if not losses.mean() < threshold:
            hops = ", ".join(f"{h} {x:.3f}" for h, x in zip(names, losses.tolist(), strict=True))
            raise NoCircuitError(
                f"there is no circuit to find at threshold {threshold:g}: the model's own loss is"
                f" {losses.mean():.3f} ({hops})"
            )

    def circuit(self, yardstick: Yardstick) -> Circuit:
        """The circuit below the least limit that one is found below, or else the last found."""
        *stricter, last = yardstick.limits(self.bench)
        for limit in stricter:
            found = self.search(limit, exhaust=False)
            if self.all.loss(found) < limit:
                return found
        return self.search(last)

    def search(self, threshold: float, exhaust: bool = True) -> Circuit:
        """A circuit, as `search.search` finds it.

        If none is below the threshold, heads may keep some of what stands at a position beside what
        they bring there: paths from roles to themselves. The last resort is to judge all sets of
        paths, unless `exhaust` is off.
        """
        paths, stays = (relations_for(self.bench.patterns, use) for use in ("path", "stay"))
        tried: list[tuple[float, int, Circuit]] = []
        first = [(paths, True), ([*paths, *stays], False)] if stays else []
        for relations, hopeful in [*first, (paths, False)][self.stays :]:
            about = self.bench.heads, self.attention, relations
            known = {"likeness": self.likeness, "read": self.read, "without": self.without}
            candidates = partial(candidate_paths, *about, **known)
            about = self.few, self.all, candidates, threshold, self.candidate_attention
            circuit = search(*about, hopeful)
            if circuit is None:
                continue
            tried.append((self.all.loss(circuit), -len(tried), circuit))
            if tried[-1][0] < threshold:
                return circuit
        circuit = min(tried)[2]
        return self.exhausted(circuit, threshold) if exhaust and not self.without else circuit

    def exhausted(self, circuit: Circuit, threshold: float) -> Circuit:
        """The smallest circuit among all sets of candidate paths, if there are few.

        If none is below the threshold, it is the one given.
        """
        from headway.circuits.exhaustive import Exhaustive

        candidates = candidates_among(self.bench, self.attention, circuit)
        if len(candidates) > FEW_CANDIDATES:
            return circuit

        idle = reduce(Circuit.without, circuit.paths, circuit).mechanisms
        sets = Exhaustive(self.bench.losses, candidates, idle, threshold)
        sets.allow(circuit)
        found = sets.search(first=True)
        whole = [Circuit.of(paths, idle) for paths in found]
        return min(whole, key=self.all.loss, default=circuit)


class BlindSample(Sample):
    """A sample of a task of which nobody says what heads may look at, or not all of it."""

    def circuit(self, yardstick: Yardstick) -> Circuit:
        """The relations that heads are read to follow, without all that is hardly missed.

        The least limit decides of that alone. Paths go as long as the loss stays as low as it is,
        or near the model's own, with zeros in the place of all idle heads, since one whose mean
        pattern does can do the work of another.
        """
        bench, own, threshold = self.bench, self.all.loss(), yardstick.limits(self.bench)[0]
        circuit = read(bench)
        nothing = Paths(frozenset())
        bare = Circuit({h: nothing if m == Mean() else m for h, m in circuit.mechanisms.items()})
        near = max(own + min(HARDLY * (threshold - own), THRESHOLD), self.all.loss(bare))
        if near >= threshold:
            return circuit
        limit = math.nextafter(near, math.inf)
        bare = simplify(self.all, bare, limit, plain=())
        idle = Circuit({h: Mean() if m == nothing else m for h, m in bare.mechanisms.items()})
        serves = self.all.losses([idle], limit)[0] < math.inf
        return idle if serves and simplify(self.all, idle, limit, plain=()) == idle else bare


class CorruptedSample(Sample):
    """A sample of a task that lays out corrupted sequences (`circuits.corrupted`)."""

    def __init__(self, bench: Bench, candidate_attention: Sequence[float]):
        self.bench, self.all = bench, First(bench, bench.sequences)
        self.candidate_attention = candidate_attention
        self.attention = along_all(bench.patterns.own, bench.patterns.relations)

    def circuit(self, yardstick: Yardstick) -> Circuit:
        """The fewest heads that take the loss below a limit, and what brings their keys.

        Of the gap, half of what may be left open is kept for other sequences.
        """
        from headway.circuits.corrupted import found

        limit = yardstick.limits(self.bench)[-1]
        limit = limit if yardstick.loss else (self.all.loss() + limit) / 2
        return found(self.bench, limit, self.candidate_attention)
