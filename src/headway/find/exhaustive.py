"""Every circuit among candidate paths, by judging sets, the smallest first.

A set of paths *serves* if what it costs is below a limit: here the cost of exchanging
all that is beside it, with its heads attending along its paths alone. It is *minimal*
if it serves and no proper subset does. Costs need not fall as paths are added, so that
nothing is concluded from one set about another, but for what holds by definition:

- A set that holds a smaller one that serves is not minimal, and is not judged.

It must serve with the layers above any layer free, too. Whether it does depends on its
paths up to that layer alone, and where those fail, no set that has them is judged.
"""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from headway.errors import require
from headway.fields import AtLeastOne, Finding, require_allowed
from headway.find.search import candidates_among
from headway.judge.by_exchange import LIMIT, costs_alone, judge
from headway.judge.discovery import Discovery, saved_discovery
from headway.relations.paths import AttentionPath
from headway.replace.ablation import Bench
from headway.replace.circuit import Circuit, WrittenCircuit
from headway.replace.exchange import PARTNER, Exchange
from headway.replace.heads import Head, WrittenLoss, WrittenPath
from headway.replace.mechanism import Mechanism
from headway.replace.subject import Counted, Sequences, require_fits, studied
from headway.settings import computes_as_usual
from headway.tasks import Task
from headway.text import counted, wrapped
from headway.training.run import Run

MOST_JUDGED = 32
"""Minimal circuits that get all verdicts, the smallest first."""

SHOWN = 10
"""The most circuits that are listed one by one."""

MOST = 50_000
"""Sets of paths judged at most, by default."""

Chosen = frozenset[AttentionPath]
"""A set of paths."""

AT_ONCE = 1024
"""Sets that are judged between two reports of progress."""


@dataclass(frozen=True)
class MinimalCircuits(Finding):
    """All minimal circuits among a model's candidate paths.

    Attributes:
        limit: circuits cost less than this when all that is beside them is exchanged.
        sequences: how many were exchanged.
        candidates: the paths that circuits were chosen from.
        idle: what every head does of which no path is chosen.
        circuits: the minimal ones, the smallest first; of those with the same cells
            one.
        costs: of each.
        right: those of the first `MOST_JUDGED` that get three yeses, by number.
        judged: sets of paths that were judged, those of lower layers alone included.
        searched: all minimal circuits of up to so many paths are known.
        discovered: the paths of the circuit that the search had found.
        most: sets that might have been judged.
        seconds: wall time; not kept, and None if it was read from a file.
    """

    FILE: ClassVar[str] = "circuits.json"

    limit: float
    sequences: Counted
    candidates: tuple[WrittenPath, ...]
    idle: WrittenCircuit
    circuits: tuple[tuple[WrittenPath, ...], ...]
    costs: tuple[WrittenLoss, ...]
    right: tuple[int, ...]
    judged: int
    searched: int
    discovered: tuple[WrittenPath, ...]
    most: int
    seconds: float | None = field(default=None, compare=False)

    @property
    def complete(self) -> bool:
        """True if no minimal circuit can be missing."""
        return self.searched == len(self.candidates)

    @property
    def core(self) -> tuple[AttentionPath, ...]:
        """The paths that all of these circuits have."""
        if not self.circuits:
            return ()
        in_all = set(self.circuits[0]).intersection(*self.circuits)
        return tuple(sorted(in_all))

    @property
    def sentences(self) -> list[str]:
        """The sets that were judged and found, in words."""
        circuits = counted(len(self.circuits), "minimal circuit")
        candidates = counted(len(self.candidates), "candidate path")
        sets = counted(self.judged, "set")
        took = "" if self.seconds is None else f", {self.seconds:.1f} s"
        judged = (
            "judged with all else exchanged, and with the layers above any layer free:"
            f" {sets} of paths, {self.sequences} sequences{took}"
        )
        if self.complete:
            completeness = (
                "complete: every set was judged, or ruled out by what was judged"
            )
        else:
            completeness = (
                f"NOT complete: larger sets than those of {self.searched} paths"
                " were not judged; --most allows more"
            )
        sentences = [
            f"{circuits} among {candidates}: each is enough",
            judged,
            completeness,
        ]
        if self.circuits:
            sentences += self._about_circuits()
        return sentences

    def _about_circuits(self) -> list[str]:
        """The minimal circuits compared, in words."""
        smallest = counted(len(self.circuits[0]), "path")
        in_any = set[AttentionPath]().union(*self.circuits)
        judged = min(len(self.circuits), MOST_JUDGED)
        sentences = [
            f"smallest: {smallest}; none is smaller",
            f"in all: {named(self.core)}; in any: {len(in_any)} paths",
            f"complete, with nothing spare, too: {len(self.right)} of {judged}",
        ]
        if not any(map(self._is_discovered, self.circuits)):
            sentences.append(
                "the circuit that the search discovered is not one of them"
            )
        return sentences

    def _is_discovered(self, circuit: Sequence[AttentionPath]) -> bool:
        """True if the search discovered a circuit, too."""
        return set(circuit) == set(self.discovered)

    def line_of(self, number: int) -> str:
        """One of the circuits, in words."""
        circuit = self.circuits[number]
        paths = counted(len(circuit), "path")
        line = f"{number + 1}: {paths}, cost {self.costs[number]:.3f}"
        if number in self.right:
            line += "; three yeses"
        if self._is_discovered(circuit):
            line += "; as discovered"
        rest = [path for path in circuit if path not in self.core]
        if rest:
            line += f"; beside those in all: {named(rest)}"
        return line

    def __str__(self):
        lines = list[str]()
        for sentence in self.sentences:
            lines += wrapped(sentence)
        shown = min(len(self.circuits), SHOWN)
        for number in range(shown):
            lines += wrapped(self.line_of(number), rest="   ")
        more = len(self.circuits) - shown
        if more:
            lines += wrapped(f"and {more} more, in {self.FILE}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON data, but for the time that it took."""
        data = super().to_json()
        del data["seconds"]
        return data

    def __post_init__(self):
        count = len(self.costs)
        allowed = f"{len(self.circuits)}, one a circuit"
        require(count == len(self.circuits), "number of costs", count, allowed)
        are_numbers = {*self.right} <= {*range(count)}
        require(are_numbers, "right", self.right, f"numbers below {count}")


@computes_as_usual
def every_circuit(
    model: Run | str | Path | Any,
    task: Task | None = None,
    discovery: Discovery | None = None,
    *,
    sequences: int = 128,
    most: int = MOST,
    seed: int | None = None,
    watch: Callable[[int, int, int], None] = lambda *_: None,
) -> MinimalCircuits:
    """All minimal circuits of a trained model among the candidates of `discover`.

    Candidates are the paths along which a head sends at least 0.1 of its attention on
    average, but for those of the last layer that end where no answer is read. A circuit
    is enough: with all that is beside it exchanged, and its heads attending along its
    paths alone, answers stay. The limit is that of the verdicts, whatever the
    discovered circuit costs. A run keeps all this.

    Args:
        model: a run in which a circuit was discovered, or its folder; or a model (see
            `discover`).
        task: the model's task, if a model is given.
        discovery: of `discover`, if a model is given. Of a run, by default what it
            keeps; the minimal circuits are then kept, too.
        sequences: how many to judge on, at least 8.
        most: sets of paths to judge at most. The search goes from small to large sets,
            and ends before a size that would take more.
        seed: of the sequences; by default the run's, or 0.
        watch: called with a number of paths, how many sets were judged and how many
            minimal ones found.

    Raises:
        HeadwayError: if no circuit was discovered, nothing can be exchanged, or an
            argument is out of range.
    """
    require_allowed("sequences", sequences, Sequences)
    require_allowed("most", most, AtLeastOne)
    with studied(model, task, seed=seed) as subject:
        run = subject.run
        if run is not None and discovery is None:
            known = saved_discovery(run)
        else:
            known = require_allowed("discovery", discovery, Discovery)
        require_fits(known.circuit, subject.model)
        started = time.perf_counter()
        drawn = subject.partners(sequences, "every circuit")
        exchange = Exchange.among(subject.model, subject.task, drawn)
        bench = Bench(subject.model, subject.task, drawn.batch, known.ablation)
        every = _every(exchange, bench, known.circuit, most, watch)
        seconds = round(time.perf_counter() - started, 3)
        every = replace(every, seconds=seconds)
        if run is not None and discovery is None:
            run.save(every)
    return every


def _every(
    exchange: Exchange,
    bench: Bench,
    known: Circuit,
    most: int,
    watch: Callable[[int, int, int], None],
) -> MinimalCircuits:
    """All minimal circuits by exchange, of candidates that a bench shows."""
    costs_of = partial(costs_alone, exchange)
    candidates = candidates_among(bench, known)
    search = Exhaustive(costs_of, candidates, known, LIMIT, most, watch)
    sets = [tuple(sorted(paths)) for paths in search.search()]
    sets.sort(key=lambda paths: (len(paths), paths))
    circuits = told_apart(exchange, sets)
    whole = [Circuit.of(paths, search.idle) for paths in circuits]
    right = _right_ones(exchange, whole[:MOST_JUDGED])
    costs = costs_of([circuit.mechanisms for circuit in whole])
    return MinimalCircuits(
        limit=LIMIT,
        sequences=bench.sequences,
        candidates=tuple(search.paths),
        idle=Circuit(search.idle),
        circuits=tuple(circuits),
        costs=tuple(costs),
        right=right,
        judged=search.judged,
        searched=search.searched,
        discovered=tuple(known.paths),
        most=most,
    )


def _right_ones(exchange: Exchange, circuits: Sequence[Circuit]) -> tuple[int, ...]:
    """The numbers of the circuits that get three yeses."""
    right = list[int]()
    for number, circuit in enumerate(circuits):
        judgement = judge(exchange, circuit)
        if not judgement.broken:
            right.append(number)
    return tuple(right)


def told_apart(
    exchange: Exchange, sets: Sequence[tuple[AttentionPath, ...]]
) -> list[tuple[AttentionPath, ...]]:
    """The first of the circuits that lead to the same cells, partners included.

    No exchange tells such circuits apart.
    """
    first = dict[tuple[tuple[Head, bytes], ...], tuple[AttentionPath, ...]]()
    for paths in sets:
        cells = list[tuple[Head, bytes]]()
        for head in heads_of(paths):
            names = [path.relation for path in paths if path.at == head]
            marked = cells_of(exchange, names).cpu().numpy()
            cells.append((head, marked.tobytes()))
        first.setdefault(tuple(cells), paths)
    return [*first.values()]


def heads_of(paths: Sequence[AttentionPath]) -> list[Head]:
    """The heads of paths, layer by layer."""
    return sorted({path.at for path in paths})


def cells_of(exchange: Exchange, names: Sequence[str]) -> Tensor:
    """The cells that some relations lead to, in sequences and partners."""
    length = exchange.batch.inputs.shape[1]
    marked = list[Tensor]()
    for patterns in (exchange.patterns, exchange.others[PARTNER]):
        masks = [patterns.relation(name).mask(length) for name in names]
        marked.append(torch.stack(masks).any(0))
    return torch.stack(marked)


def named(paths: Sequence[AttentionPath]) -> str:
    """Paths as they are written."""
    return ", ".join(map(str, paths)) or "no path"


class _TooManyError(Exception):
    """More sets would have to be judged than are allowed."""


class Exhaustive:
    """All minimal sets of paths that serve.

    Attributes:
        idle: what every head does that has none of its paths chosen.
        minimal: those found so far.
        judged: how many sets were judged so far, those of the lower layers alone
            included.
        searched: all minimal sets of up to so many paths are known: -1 if not even the
            empty set was judged, the number of candidates if no set is missing.

    Args:
        losses: of candidates, or what they cost; perhaps infinity where it is not below
            a limit.
        candidates: the paths to choose from.
        known: a circuit; heads do what they do in it, but for its paths.
        threshold: to stay below, with every head replaced and with the layers above any
            free.
        most: the search ends before more sets than this are judged; by default never.
        watch: told after every size, and now and then within.
    """

    def __init__(
        self,
        losses: Callable[[list[dict[Head, Mechanism]], float], list[float]],
        candidates: Sequence[AttentionPath],
        known: Circuit,
        threshold: float,
        most: float = math.inf,
        watch: Callable[[int, int, int], None] = lambda *_: None,
    ):
        self.losses = losses
        self.threshold = threshold
        self.most = most
        self.watch = watch
        self.idle = reduce(Circuit.without, known.paths, known).mechanisms
        self.paths = sorted(set(candidates))
        self.choosing = {path.at for path in self.paths}
        self.minimal: list[Chosen] = []
        self.judged = 0
        self.searched = -1
        self._lower: dict[tuple[int, int], list[Chosen]] = {}

    def search(self, first: bool = False) -> list[Chosen]:
        """The minimal sets, the smallest first; fewer if there is too much to judge.

        With `first`, the smallest size at which a set serves is the last.
        """
        layers = sorted({path.layer for path in self.paths})
        with suppress(_TooManyError):
            for size in range(len(self.paths) + 1):
                sets = self._sets(layers, size)
                self.minimal += self._serving(sets, None, size)
                self.searched = size
                self.watch(size, self.judged, len(self.minimal))
                if first and self.minimal:
                    break
        return self.minimal

    def _sets(self, layers: Sequence[int], size: int) -> list[Chosen]:
        """The sets of a size in some layers that may be minimal: those below the last
        serve.
        """
        if not layers:
            return [] if size else [frozenset()]
        *below, last = layers
        here = [path for path in self.paths if path.layer == last]
        sets = list[Chosen]()
        for count in range(min(size, len(here)) + 1):
            for lower in self._serving_below(below, size - count):
                sets += [lower.union(chosen) for chosen in combinations(here, count)]
        return [paths for paths in sets if not self._is_beyond_minimal(paths)]

    def _is_beyond_minimal(self, paths: Chosen) -> bool:
        """True if a smaller set that serves is among some paths."""
        return any(smaller <= paths for smaller in self.minimal)

    def _serving_below(self, layers: Sequence[int], size: int) -> list[Chosen]:
        """The sets of a size in some layers that serve with those above free."""
        key = len(layers), size
        if key not in self._lower:
            sets = self._sets(layers, size)
            if layers:
                sets = self._serving(sets, layers[-1], size)
            self._lower[key] = sets
        return self._lower[key]

    def _serving(
        self, sets: Sequence[Chosen], above: int | None, size: int
    ) -> list[Chosen]:
        """Those of some sets that serve, with those above a layer free."""
        if self.judged + len(sets) > self.most:
            raise _TooManyError
        limit = self.threshold
        serving: list[Chosen] = []
        for start in range(0, len(sets), AT_ONCE):
            some = sets[start : start + AT_ONCE]
            replaced = [self.mechanisms(paths, above) for paths in some]
            losses = self.losses(replaced, limit)
            for paths, loss in zip(some, losses, strict=True):
                if loss < limit:
                    serving.append(paths)
            self.judged += len(some)
            self.watch(size, self.judged, len(self.minimal))
        return serving

    def mechanisms(
        self, chosen: Chosen, above: int | None = None
    ) -> dict[Head, Mechanism]:
        """The mechanisms of a set; above a layer, heads with candidates are free."""
        replaced = Circuit.of(chosen, self.idle)
        return {
            head: mechanism
            for head, mechanism in replaced.mechanisms.items()
            if above is None or head[0] <= above or head not in self.choosing
        }
