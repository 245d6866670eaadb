"""A study: from a trained model to its circuit, and the evidence for it.

A circuit is searched for on a sample of sequences, or heads are read; `evidence`
measures it on sequences that the search did not see; and the same way is gone again on
other samples.
"""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Gt, Le, MinLen

from headway.errors import HeadwayError, require
from headway.fields import AtLeastOne, Positive, require_allowed
from headway.find.search import CANDIDATE_ATTENTION
from headway.find.ways import Blind, Given, Told, Way, way_for
from headway.judge.discovery import Discovery, Refusal, given_or_own, standing_of
from headway.judge.evidence import Trial, evidence_for, judged
from headway.judge.looks import MOST_IDLE, Look, looks
from headway.judge.looks import SEQUENCES as LOOKED_AT
from headway.judge.verdict import LIMIT
from headway.judge.yardstick import NoCircuitError, Yardstick, own_loss
from headway.replace.ablation import Bench
from headway.replace.ablation import workers as threads
from headway.replace.circuit import Circuit, jaccard
from headway.replace.mechanism import OF_CORRUPTED
from headway.replace.patterns import Attention, along_all, edges_of
from headway.replace.subject import Sequences, Subject, require_fits, studied
from headway.settings import computes_as_usual
from headway.tasks import Task
from headway.tasks.base import OTHER_SAMPLES, SEARCHED_ON
from headway.training.run import FINDINGS, Run, kind_of

SEQUENCES = 128

GIVEN = "circuit_given.json"
"""The findings about a circuit that was given, in a run's folder."""

Shares = Annotated[Sequence[Annotated[float, Gt(0), Le(1)]], MinLen(1)]


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
    way: str | Way | None = None,
    candidate_attention: Sequence[float] = CANDIDATE_ATTENTION,
    trials: bool = True,
    workers: int | None = None,
    seed: int | None = None,
    watch: Callable[[float], None] | None = None,
) -> Discovery:
    """Finds a mechanism for every head of a trained model, and the evidence.

    Where a task says what heads may look at, paths are searched for among that. If
    neither `way` nor `ablation` is given, and exchanging all that is beside the circuit
    costs something, heads are read as of any other task. What is read is taken if it
    serves, and exchanging all that is beside it costs less.

    Given a run, takes its last checkpoint and leaves the findings in its
    `circuit.json`, or why there is no circuit to find in its `refused.json`; of another
    checkpoint, in `circuit_STEP.json`; of a circuit that was given, in
    `circuit_given.json`.

    Args:
        model: a run or its folder; or a model together with its task: one with a tap
            (`models.Tappable`), or any module whose attention can be tapped (`tapped`).
        task: the model's task, if a model is given.
        circuit: to be measured as it is, or a file of it, instead of searching for one.
        step: the checkpoint to study, if a run is given; by default the last.
        threshold: the loss that the model must stay below with every head replaced; by
            default the task's own, or, if it has none, what closes 95, 90 or 80 % of
            the gap between the model's own loss and that with every head ablated (see
            `Yardstick`).
        sequences: how many held-out sequences to search on, and as many others to judge
            on: at least 8.
        ablation: what stands in rows without a path, of heads that have paths
            (`ABLATIONS`); by default zero, or, for such a task, mean; `corrupted` for a
            task that lays out corrupted sequences (see `find.corrupted` for how it is
            then searched and measured).
        way: to the circuit, or its name (`ways.WAYS`); by default the one that suits
            the task.
        candidate_attention: a head may use the paths along which it sends at least this
            much of its attention on average; tried in order until a circuit stays below
            the threshold, else the one with the least loss is taken.
        trials: whether to search again on other samples, to see how stable the circuit
            is.
        workers: how many searches and measurements to run side by side, each on one
            core; by default as many as the machine has cores. A model of others, which
            may keep something of a pass, is called by one thread alone. The findings do
            not depend on it.
        seed: of the held-out sequences; by default the run's, or 0.
        watch: called every second with the cost so far, in forward passes over
            `sequences`; by default a line tells it on a terminal or in a notebook.

    Raises:
        HeadwayError: if the model's own loss is not below the threshold: then it has
            not learnt the task well enough for there to be a circuit to find; if its
            attention is linear, or there is one position to look at; or if an argument
            is out of range or does not fit the model.
    """
    threshold = require_allowed("threshold", threshold, Positive | None)
    require_allowed("sequences", sequences, Sequences)
    require_allowed("candidate_attention", candidate_attention, Shares)
    require_allowed("workers", workers, AtLeastOne | None)
    allowed = "left out where a circuit is given: nothing is searched then"
    require(way is None or circuit is None, "way", way, allowed)
    given, rows = _given_and_rows(circuit, ablation)
    options = Options(
        threshold=threshold,
        sequences=sequences,
        ablation=rows,
        way=way,
        candidate_attention=candidate_attention,
        trials=trials,
        workers=workers,
        watch=watch,
    )
    asked = options.asked
    if circuit is not None:
        asked = {"circuit": _file_of(circuit), **asked}
    with studied(model, task, step, seed) as subject:
        run = subject.run
        file = None if run is None else circuit_file(run, step, given)
        if run is not None and file != "circuit.json" and step is not None:
            asked["step"] = step
        try:
            discovery = _discovered(subject, options, given)
        except NoCircuitError as error:
            if run is not None and file == "circuit.json":
                run.save(Refusal(str(error)))
            raise
        discovery = replace(discovery, asked=asked)
        if run is not None and file is not None:
            _keep(run, file, subject, discovery)
    return discovery


def _given_and_rows(
    circuit: Any, ablation: str | None
) -> tuple[Circuit | None, str | None]:
    """A circuit that was given, if any, and what stands in rows without a path: as
    asked for, or as the circuit's own discovery had it.
    """
    if circuit is None:
        return None, ablation
    given, known = given_or_own(circuit)
    return given, ablation or known


def _file_of(circuit: Any) -> str:
    """The file of a circuit that was given, or the one in which a run keeps it."""
    return str(circuit) if isinstance(circuit, str | Path) else f"RUN/{GIVEN}"


@dataclass(frozen=True)
class Options:
    """The options of `discover` (see there)."""

    threshold: float | None
    sequences: int
    ablation: str | None
    way: str | Way | None
    candidate_attention: Sequence[float]
    trials: bool
    workers: int | None
    watch: Callable[[float], None] | None

    @property
    def asked(self) -> dict[str, int | float | str]:
        """The options that were given, without defaults."""
        sequences = None if self.sequences == SEQUENCES else self.sequences
        way = self.way if isinstance(self.way, str) else None
        values: dict[str, int | float | str | None] = {
            "threshold": self.threshold,
            "ablation": self.ablation,
            "sequences": sequences,
            "way": way,
        }
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class Attempt:
    """A circuit that one way has led to.

    Attributes:
        way: that was gone.
        bench: with the sequences that it was gone on.
        yardstick: when circuits are faithful, as it is on these.
        circuit: a mechanism for every head.
    """

    way: Way
    bench: Bench
    yardstick: Yardstick
    circuit: Circuit

    @property
    def rows(self) -> str:
        """The fill of rows without a path."""
        return self.bench.patterns.rows

    @property
    def serves(self) -> bool:
        """True if the loss is as low as it must be."""
        limit = self.yardstick.limits(self.bench)[-1]
        return self.bench.loss(self.circuit) < limit


def _discovered(
    subject: Subject, options: Options, circuit: Circuit | None
) -> Discovery:
    """The circuit of an open subject, or a given one, with its evidence."""
    from headway.progress import watched

    way = way_for(
        subject.task, options.way, candidate_attention=options.candidate_attention
    )
    if circuit is not None:
        way = Given(circuit)
    # If the user named neither way nor ablation, heads are read blind where the task's
    # paths are not enough.
    is_asked_for = options.way is not None or options.ablation is not None
    may_read_blind = isinstance(way, Told) and not is_asked_for
    with watched(options.watch, "{:,.0f} forward passes".format) as watch:
        study = _Study(subject, options, watch)
        return study.discovery(way, options.ablation, may_read_blind)


class _Study:
    """A model under study: samples of its sequences, and what they have cost so far.

    Attributes:
        subject: the model and its task.
        options: how to go about it.
        watch: that is told what it has cost.
        benches: one for every sample and fill of rows.
        named: these by their fill and the purpose of their sample.
        known: what benches of a sample know of the model, by its purpose.
        work: threads that may call the model, while it is entered.
    """

    def __init__(
        self, subject: Subject, options: Options, watch: Callable[[float], None]
    ):
        self.subject = subject
        self.options = options
        self.watch = watch
        self.benches = list[Bench]()
        self.named = dict[tuple[str, str], Bench]()
        self.known = defaultdict[str, dict[Hashable, Any]](dict)

    def bench(self, rows: str, purpose: str, count: int | None = None) -> Bench:
        """The model on sequences that are drawn for a purpose, with a fill of rows."""
        if (rows, purpose) not in self.named:
            size = count or self.options.sequences
            sequences = self.subject.sequences(size, purpose)
            bench = self.subject.bench(sequences, rows)
            bench.known = self.known[purpose]
            self.benches.append(bench)
            self.named[rows, purpose] = bench
        return self.named[rows, purpose]

    @property
    def forwards(self) -> float:
        """The cost so far, in forward passes over the sequences asked for."""
        cost = sum(bench.forwards * bench.sequences for bench in self.benches)
        return cost / self.options.sequences

    @property
    def candidates(self) -> int:
        """The number of candidates judged so far."""
        return sum(bench.candidates for bench in self.benches)

    def discovery(
        self, way: Way, ablation: str | None, may_read_blind: bool
    ) -> Discovery:
        """The circuit that a way leads to, and the evidence for it on other sequences.

        Args:
            way: to go.
            ablation: what stands in rows without a path; by default what the way says.
            may_read_blind: whether heads may be read blind if the circuit is not
                enough.
        """
        started = time.perf_counter()
        rows = ablation or way.rows
        way.require_rows(rows)
        first = self.bench(rows, SEARCHED_ON)
        yardstick = Yardstick.of(first, self.options.threshold)
        limit = yardstick.limits(first)[-1]
        require_learnt(first, limit)
        if isinstance(way, Given):
            require_fits(way.given, self.subject.model)
            first.loss(way.given)  # a path that there is not is refused here
        with threads(self.options.workers, self.benches) as self.work:
            best = self.attempt(way, rows)
            if may_read_blind:
                best = self.read_if_better(best)
            discovery = self.measured(best)
        seconds = round(time.perf_counter() - started, 3)
        return replace(discovery, seconds=seconds)

    def attempt(self, way: Way, rows: str) -> Attempt:
        """Goes a way."""
        bench = self.bench(rows, SEARCHED_ON)
        yardstick = Yardstick.of(bench, self.options.threshold)
        way.prepare(bench)
        searching = self.work.submit(way.circuit, bench, yardstick)
        circuit = self.waited(searching)
        return Attempt(way, bench, yardstick, circuit)

    def looks(self, best: Attempt) -> list[Look]:
        """A second look at the heads of a circuit."""
        circuit = best.circuit
        idle = set(circuit.mechanisms) - set(circuit.useful_heads)
        heads = [*circuit.useful_heads, *sorted(idle)[:MOST_IDLE]]
        if best.rows in OF_CORRUPTED:
            heads = []
        sequences = self.subject.sequences(LOOKED_AT, "looks")
        return looks(self.subject.model, self.subject.task, sequences, circuit, heads)

    def read_if_better(self, told: Attempt) -> Attempt:
        """The attempt by blind reading, if the circuit is not enough, and less is lost
        when all beside what is read is exchanged.
        """
        lost = cost_beside(told)
        if lost < LIMIT:
            return told
        read = self.attempt(Blind(), Blind.rows)
        if read.serves and cost_beside(read) < lost:
            return read
        return told

    def measured(self, best: Attempt) -> Discovery:
        """A circuit with its evidence, on sequences that the search did not see."""
        way = best.way.again(best.bench, best.circuit)
        others = self.other_samples(way, best.rows)
        unseen = self.bench(best.rows, "certificate")
        attention = attention_of(best, self.subject.task)
        # The model is called here before there is work for the threads, and not
        # meanwhile.
        judgement = judged(self.subject, best.circuit, unseen)
        searches = self.searches_on(others, way, best.yardstick)
        measuring = self.work.submit(
            evidence_for,
            unseen,
            best.circuit,
            attention,
            best.yardstick,
            self.subject,
            judgement,
        )
        trials = self.trials_of(searches, best.circuit)
        limit, evidence = self.waited(measuring)
        return Discovery(
            circuit=best.circuit,
            yardstick=best.yardstick,
            threshold=limit,
            ablation=best.rows,
            evidence=replace(evidence, trials=trials),
            attention=attention,
            standing=standing_of(self.subject.task),
            candidates=self.candidates,
            forwards=round(self.forwards, 6),
            looks=self.looks(best),
            asked={},
        )

    def searches_on(
        self, samples: Sequence[Bench], way: Way, yardstick: Yardstick
    ) -> list[Future[Circuit]]:
        """Begins to go a way on each of some samples."""
        searches = list[Future[Circuit]]()
        for bench in samples:
            searches.append(self.work.submit(way.circuit, bench, yardstick))
        return searches

    def trials_of(
        self, searches: Sequence[Future[Circuit]], circuit: Circuit
    ) -> list[Trial]:
        """The circuits of other samples, and how much each has in common with one."""
        trials = list[Trial]()
        for searching in searches:
            paths = self.waited(searching).paths
            likeness = jaccard(paths, circuit.paths)
            trials.append(Trial(paths, likeness))
        return trials

    def other_samples(self, way: Way, rows: str) -> list[Bench]:
        """Other samples, each half as large, for the same way to be gone again."""
        if not self.options.trials or isinstance(way, Given):
            return []
        count = math.ceil(self.options.sequences / 2)
        benches = [self.bench(rows, name, count) for name in OTHER_SAMPLES]
        for bench in benches:
            way.prepare(bench)
            bench.known.pop("exchange", None)  # nothing asks for it any more
        return benches

    def waited(self, future: Future[Any]) -> Any:
        """The result of some work; who watches is told what it costs meanwhile."""
        while wait([future], 1.0).not_done:
            self.watch(self.forwards)
        return future.result()


def attention_of(attempt: Attempt, task: Task) -> Attention:
    """Mean attention along the task's relations and those of a circuit's paths."""
    bench = attempt.bench
    edges = dict(edges_of(task, bench.model, bench.batch))
    for path in attempt.circuit.paths:
        relation = path.relation
        edges[relation] = bench.patterns.relation(relation)
    return along_all(bench.patterns.own, edges)


def circuit_file(
    run: Run, step: int | None = None, circuit: Circuit | None = None
) -> str:
    """The file in a run's folder for `discover` with these arguments."""
    if circuit is not None:
        return GIVEN
    last = step is None or step == run.checkpoint_steps()[-1]
    return "circuit.json" if last else f"circuit_{step:07d}.json"


def _keep(run: Run, name: str, subject: Subject, discovery: Discovery) -> None:
    """Writes a discovery into a run's folder, and removes other circuits' findings."""
    data = {"step": subject.step, "seed": subject.seed, **discovery.to_json()}
    known = run.read("circuit.json")
    if name == "circuit.json" and known != data:
        for file in FINDINGS.keys() - {name}:
            kind = kind_of(file)
            with suppress(HeadwayError):  # what is damaged goes, too
                if (other := run.load(kind)) is None or other.is_of(discovery):
                    continue
            run.remove(file)
    run.write(name, data)


def require_learnt(bench: Bench, threshold: float) -> None:
    """Makes sure that the model's own loss is below the threshold."""
    own_loss(bench)  # numbers at all
    (errors,) = bench.errors([{}])
    losses = errors.mean(0)
    mean = losses.mean()
    if not mean < threshold:
        each = zip(bench.hops, losses.tolist(), strict=True)
        by_hop = ", ".join(f"{hop} {loss:.3f}" for hop, loss in each)
        raise NoCircuitError(
            f"there is no circuit to find at threshold {threshold:g}:"
            f" the model's own loss is {mean:.3f} ({by_hop})"
        )


def cost_beside(attempt: Attempt) -> float:
    """The cost of exchanging all that is beside a circuit, with its paths as they are
    or hard (as *enough* is judged); nothing if that cannot be done.
    """
    from headway.find.spared import add_passes, exchanged_once
    from headway.judge.by_exchange import enough

    bench = attempt.bench
    try:
        exchange = exchanged_once(bench)
    except HeadwayError:
        return 0.0
    before = exchange.passes
    costs = enough(exchange, attempt.circuit)
    add_passes(bench, exchange, before)
    return max(cost.most for cost in costs.values())
