"""A study: from a trained model to its circuit, and the evidence for it.

A circuit is searched for on a sample of sequences, or heads are read; `evidence` measures it on
sequences that the search did not see; and the same way is gone again on other samples.
"""

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Gt, Le, MinLen

from headway.errors import HeadwayError
from headway.fields import AtLeastOne, Positive, require_allowed
from headway.find.search import (
    CANDIDATE_ATTENTION,
    candidates_among,
    search,
    uses_stays,
    worst_of,
)
from headway.judge.discovery import Discovery, Refusal, given_or_own, standing_of
from headway.judge.evidence import Trial, evidence_for, judged
from headway.judge.looks import MOST_IDLE, Look, looks
from headway.judge.looks import SEQUENCES as LOOKED_AT
from headway.judge.verdicts import LIMIT
from headway.judge.yardstick import NoCircuitError, Yardstick, own_loss
from headway.replace.ablation import Bench
from headway.replace.ablation import workers as threads
from headway.replace.circuit import Circuit, jaccard
from headway.replace.patterns import along_all, edges_of
from headway.replace.subject import Sequences, Subject, require_fits, studied
from headway.settings import computes_as_usual
from headway.tasks import Task
from headway.training.run import FINDINGS, Run, kind_of

SEQUENCES = 128

GIVEN = "circuit_given.json"
"""The findings about a circuit that was given, in a run's folder."""

Shares = Annotated[Sequence[Annotated[float, Gt(0), Le(1)]], MinLen(1)]

FEW_CANDIDATES = 16
"""Among so many candidate paths all sets are judged if the search finds no circuit."""

OTHER_SAMPLES = ("stability 1", "stability 2")
"""Names of samples to search on again, each half as large."""


@computes_as_usual
def discover(
    model: Run | str | Path | Any,
    task: Task | None = None,
    *,
    circuit: Circuit | Discovery | Path | str | None = None,
    step: int | None = None,
    threshold: float | None = None,
    sequences: int = SEQUENCES,
    ablation: str | None = None,
    candidate_attention: Sequence[float] = CANDIDATE_ATTENTION,
    trials: bool = True,
    workers: int | None = None,
    seed: int | None = None,
    watch: Callable[[float], None] = lambda _: None,
) -> Discovery:
    """Finds a mechanism for every head of a trained model, and measures the evidence for them.

    Where a task says what heads may look at, paths are searched for among that. If the circuit is
    not enough (see `verdicts`), heads are read as of any other task. What is read is taken if it
    serves, and exchanging all that is beside it costs less.

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
            task's own, or, if it has none, what closes 95, 90 or 80 % of the gap between the
            model's own loss and that with every head ablated (see `Yardstick`).
        sequences: how many held-out sequences to search on, and as many others to judge on: at
            least 8.
        ablation: what stands in rows without a path, of heads that have paths (`ABLATIONS`); by
            default zero, or, for such a task, mean; `corrupted` for a task that lays out corrupted
            sequences (see `circuits.corrupted` for how it is then searched and measured).
        candidate_attention: a head may use the paths along which it sends at least this much of
            its attention on average; tried in order until a circuit stays below the threshold,
            else the one with the least loss is taken.
        trials: whether to search again on other samples, to see how stable the circuit is.
        workers: how many searches and measurements to run side by side, each on one core; by
            default as many as the machine has cores. A model of others, which may keep something of
            a pass, is called by one thread alone. The findings do not depend on it.
        seed: of the held-out sequences; by default the run's, or 0.
        watch: called every second with the cost so far, in forward passes over `sequences`.

    Raises:
        HeadwayError: if the model's own loss is not below the threshold: then it has not learnt
            the task well enough for there to be a circuit to find; if its attention is linear, or
            there is one position to look at; or if an argument is out of range or does not fit the
            model.
    """
    threshold = require_allowed("threshold", threshold, Positive | None)
    require_allowed("sequences", sequences, Sequences)
    require_allowed("candidate_attention", candidate_attention, Shares)
    require_allowed("workers", workers, AtLeastOne | None)
    given = circuit
    if circuit is not None:
        circuit, known = given_or_own(circuit)
        ablation = ablation or known
    with studied(model, task, step, seed) as subject:
        name = None if subject.run is None else circuit_file(subject.run, step, circuit)
        about = threshold, sequences, candidate_attention, trials, workers, watch
        try:
            found = _study(subject, circuit, ablation, *about)
        except NoCircuitError as error:
            if subject.run is not None and name == "circuit.json":
                subject.run.save(Refusal(str(error)))
            raise
        if given is not None:
            file = given if isinstance(given, str | Path) else f"RUN/{GIVEN}"
            found = replace(found, asked={"circuit": str(file), **found.asked})
        if subject.run is not None and name is not None:
            _keep(subject.run, name, {"step": subject.step, "seed": subject.seed}, found)
    return found


Way = Callable[[Bench, Yardstick], Circuit]
"""A way to a circuit, on some sequences."""


@dataclass(frozen=True)
class Attempt:
    """A circuit that one way has led to.

    Attributes:
        way: to go again on other sequences.
        bench: with the sequences that it was gone on.
        yardstick: when circuits are faithful, as it is on these.
        circuit: a mechanism for every head.
        looks: at its heads.
    """

    way: Way
    bench: Bench
    yardstick: Yardstick
    circuit: Circuit
    looks: list[Look]

    @property
    def serves(self) -> bool:
        """True if the loss is as low as it must be."""
        return self.bench.loss(self.circuit) < self.yardstick.limits(self.bench)[-1]


def _study(
    subject: Subject,
    circuit: Circuit | None,
    ablation: str | None,
    threshold: float | None,
    sequences: int,
    candidate_attention: Sequence[float],
    trials: bool,
    workers: int | None,
    watch: Callable[[float], None],
) -> Discovery:
    """Finds a model's circuit, or takes the one given, and measures it on other sequences."""
    model, task, started = subject.model, subject.task, time.perf_counter()
    default = "corrupted" if task.is_corrupted else "mean" if task.is_read_blind else "zero"
    rows, benches = ablation or default, list[Bench]()

    @cache
    def bench(rows: str, purpose: str, count: int = sequences) -> Bench:
        benches.append(Bench(model, task, subject.sequences(count, purpose), rows))
        return benches[-1]

    def forwards() -> float:
        return sum(one.forwards * one.sequences for one in benches) / sequences

    def waited(future: Future[Any]) -> Any:
        while wait([future], 1.0).not_done:
            watch(forwards())
        return future.result()

    def tried(way: Way, rows: str) -> Attempt:
        yardstick = Yardstick.of(bench(rows, "circuit"), threshold)
        found = waited(work.submit(way, bench(rows, "circuit"), yardstick))
        idle = sorted(set(found.mechanisms) - set(found.useful_heads))[:MOST_IDLE]
        heads = [] if rows == "corrupted" else [*found.useful_heads, *idle]
        seen = looks(model, task, subject.sequences(LOOKED_AT, "looks"), found, heads)
        return Attempt(way, bench(rows, "circuit"), yardstick, found, seen)

    def beside(attempt: Attempt) -> float:
        """What it costs to exchange all that is beside a circuit; 0 if that cannot be known."""
        cost, passes = cost_beside(subject, attempt.circuit, sequences)
        attempt.bench.add_forwards(passes)
        return cost

    from headway.find.spared import spared_once  # with all that exchanges parts of models

    asked = {"threshold": threshold, "ablation": ablation, "sequences": sequences}
    asked = {k: x for k, x in asked.items() if x is not None and (k, x) != ("sequences", SEQUENCES)}
    first = bench(rows, "circuit")
    require_learnt(first, Yardstick.of(first, threshold).limits(first)[-1])
    if circuit is not None:
        require_fits(circuit, model)
        first.loss(circuit)  # a path that there is not is refused here
    is_told = False
    with threads(workers, benches) as work:
        if circuit is not None:
            best = tried(lambda *_: circuit, rows)
        elif rows == "corrupted":
            from headway.find import corrupted  # few tasks have corrupted sequences

            best = tried(partial(corrupted.found, candidate_attention=candidate_attention), rows)
        elif task.is_read_blind:
            best = tried(heads_read, rows)
        else:
            told = partial(searched, candidate_attention=candidate_attention)
            spared_once(first)  # what taps a model anew must not meet other threads' passes
            best = tried(told, rows)
            if ablation is None and (lost := beside(best)) >= LIMIT:
                read = tried(heads_read, "mean")
                best = read if read.serves and beside(read) < lost else best
            if best.way is told:
                is_told = True
                stays = uses_stays(best.bench.patterns, best.circuit)
                best = replace(best, way=partial(told, stays=stays))
        # The model is called here before there is work for the threads, and not meanwhile.
        again, rows = OTHER_SAMPLES if trials and not circuit else (), best.bench.patterns.rows
        elsewhere = [bench(rows, name, math.ceil(sequences / 2)) for name in again]
        if is_told:
            for one in elsewhere:
                spared_once(one)
        unseen = bench(rows, "certificate")
        edges = dict(edges_of(task, model, best.bench.batch))
        edges |= {n: best.bench.patterns.relation(n) for _, _, n in best.circuit.paths}
        attention = along_all(best.bench.patterns.own, edges)
        judgement = judged(subject, best.circuit, unseen)
        found = [work.submit(best.way, one, best.yardstick) for one in elsewhere]
        about = best.circuit, attention, best.yardstick, subject, judgement
        measuring = work.submit(evidence_for, unseen, *about)
        others = (waited(one).paths for one in found)
        more = [Trial(paths, jaccard(paths, best.circuit.paths)) for paths in others]
        limit, evidence = waited(measuring)
    return Discovery(
        circuit=best.circuit,
        yardstick=best.yardstick,
        threshold=limit,
        ablation=rows,
        evidence=replace(evidence, trials=more),
        attention=attention,
        standing=standing_of(task),
        candidates=sum(b.candidates for b in benches),
        forwards=round(forwards(), 6),
        looks=best.looks,
        asked=asked,
        seconds=round(time.perf_counter() - started, 3),
    )


def circuit_file(run: Run, step: int | None = None, circuit: Circuit | None = None) -> str:
    """The file in which `discover` leaves its findings in a run's folder, for these arguments."""
    if circuit is not None:
        return GIVEN
    last = step is None or step == run.checkpoint_steps()[-1]
    return "circuit.json" if last else f"circuit_{step:07d}.json"


def _keep(run: Run, name: str, about: dict[str, Any], found: Discovery) -> None:
    """Leaves a discovery in a run's folder, and removes what is about another circuit."""
    data, known = {**about, **found.to_json()}, run.read("circuit.json")
    if name == "circuit.json" and known != data:
        for file in FINDINGS.keys() - {name}:
            kind = kind_of(file)
            with suppress(HeadwayError):  # what is damaged goes, too
                if (other := run.load(kind)) is None or other.is_of(found):
                    continue
            run.remove(file)
    run.write(name, data)


def require_learnt(bench: Bench, threshold: float) -> None:
    """Makes sure that the model's own loss is below the threshold."""
    own_loss(bench)  # numbers at all
    losses = bench.errors([{}])[0].mean(0)
    if not losses.mean() < threshold:
        each = zip(bench.hops, losses.tolist(), strict=True)
        raise NoCircuitError(
            f"there is no circuit to find at threshold {threshold:g}: the model's own loss is"
            f" {losses.mean():.3f} ({', '.join(f'{hop} {loss:.3f}' for hop, loss in each)})"
        )


def heads_read(bench: Bench, yardstick: Yardstick) -> Circuit:
    """What heads are read to follow (`reading.read_missed`)."""
    from headway.find.blind import read_missed  # with more than a search needs

    return read_missed(bench, yardstick)


def cost_beside(subject: Subject, circuit: Circuit, sequences: int) -> tuple[float, int]:
    """What it costs to exchange all that is beside a circuit, and how many passes that took.

    It is 0 if nothing can be exchanged.
    """
    from headway.judge.by_exchange import enough
    from headway.replace.exchange import Exchange  # with more than starting headway needs

    try:
        drawn = subject.partners(sequences, "circuit, exchanged")
        exchange = Exchange.among(subject.model, subject.task, drawn)
    except HeadwayError:
        return 0.0, 0
    costs = enough(exchange, circuit)
    return max(cost.most for cost in costs.values()), exchange.passes


def searched(
    bench: Bench,
    yardstick: Yardstick,
    candidate_attention: Sequence[float] = CANDIDATE_ATTENTION,
    stays: bool = False,
) -> Circuit:
    """A circuit among what a task says that heads may look at.

    Heads that can be spared get their mean pattern. The circuit is below the least limit that one
    is found below, with every head replaced and with its useful heads free. If paths do not serve,
    heads may keep some of what stands at a position beside what they bring there: paths from roles
    to themselves. The last resort is to judge all sets of paths, if there are few, for the smallest
    that serves.

    Args:
        bench: with the sequences to search on.
        yardstick: has the limits.
        candidate_attention: see `search.search`.
        stays: whether to search among paths from roles to themselves at once.
    """
    paths, own = map(bench.patterns.used_as, ("path", "stay"))
    among = [paths, [*paths, *own]][stays : 1 + bool(own)]
    from headway.find.spared import spared_once

    tried, limits, unneeded = list[Circuit](), yardstick.limits(bench), spared_once(bench)
    for limit in limits:
        tried.append(search(bench, limit, among, candidate_attention, unneeded))
        if worst_of(bench, tried[-1]) < limit:
            return tried[-1]
    from headway.find.exhaustive import Exhaustive

    candidates = candidates_among(bench, tried[-1])
    if len(candidates) > FEW_CANDIDATES:
        return min(tried, key=partial(worst_of, bench))
    sets = Exhaustive(bench.losses, candidates, tried[-1], limits[-1])
    whole = [Circuit.of(paths, sets.idle) for paths in sets.search(first=True)]
    return min(whole or tried, key=partial(worst_of, bench))
