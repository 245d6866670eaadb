"""Every circuit among some candidate paths, by judging sets of paths, the smallest first.

A set of paths *serves* if the loss with every head replaced is below the threshold. It is *minimal*
if it serves and no proper subset does. Losses need not fall as paths are added, so that nothing is
concluded from one set about another, but for what holds by definition:

- A set that holds a smaller one that serves is not minimal, and is not judged.

It must serve with the layers above any layer free, too, as the search asks of one circuit. Whether
it does depends on its paths up to that layer alone, and where those fail, no set that has them is
judged.
"""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain, combinations, repeat
from pathlib import Path
from typing import Any, ClassVar

from headway.circuits.ablation import Bench, above, most_workers
from headway.circuits.ablation import workers as threads
from headway.circuits.discovery import Discovery, saved_discovery
from headway.circuits.mechanism import (
    Circuit,
    Head,
    Mechanism,
    WrittenCircuit,
    WrittenLoss,
    WrittenPath,
)
from headway.circuits.search import candidates_among
from headway.circuits.subject import Counted, Sequences, device_of, require_fits, studied
from headway.errors import require
from headway.fields import AtLeastOne, Finding, require_allowed
from headway.relations.paths import AttentionPath
from headway.settings import computes_as_usual
from headway.tasks import Task
from headway.text import counted, wrapped
from headway.training.run import Run

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
        threshold: circuits have a loss below this.
        sequences: how many the loss is over; the search for one circuit saw the same.
        candidates: the paths that circuits were chosen from.
        idle: what every head does of which no path is chosen.
        circuits: the minimal ones, the smallest first.
        losses: with every head replaced, of each.
        judged: sets of paths that were judged, those of lower layers alone included.
        searched: all minimal circuits of up to so many paths are known.
        discovered: the paths of the circuit that the search had found.
        most: sets that might have been judged.
        seconds: wall time; not kept, and None if it was read from a file.
    """

    FILE: ClassVar[str] = "circuits.json"

    threshold: float
    sequences: Counted
    candidates: tuple[WrittenPath, ...]
    idle: WrittenCircuit
    circuits: tuple[tuple[WrittenPath, ...], ...]
    losses: tuple[WrittenLoss, ...]
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
        return tuple(sorted(set.intersection(*map(set, self.circuits)))) if self.circuits else ()

    def __str__(self):
        count, among = len(self.circuits), counted(len(self.candidates), "candidate path")
        took = "" if self.seconds is None else f", {self.seconds:.1f} s"
        found = [
            f"{counted(count, 'minimal circuit')} among {among}; threshold {self.threshold:g}",
            "judged with all heads replaced, and with the layers above any layer free:"
            f" {counted(self.judged, 'set')} of paths, {self.sequences} sequences{took}",
            "complete: every set was judged, or ruled out by what was judged"
            if self.complete
            else f"NOT complete: larger sets than those of {self.searched} paths were not judged;"
            " --most allows more",
        ]
        if self.circuits:
            found += [
                f"smallest: {counted(len(self.circuits[0]), 'path')}; none is smaller",
                f"in all: {named(self.core)}; in any: {len(set().union(*self.circuits))} paths",
            ]
        known = set(self.discovered)
        if self.circuits and known not in map(set, self.circuits):
            found += ["the circuit that the search discovered is not one of them"]
        lines = [line for sentence in found for line in wrapped(sentence)]
        for i, (circuit, loss) in enumerate(zip(self.circuits[:SHOWN], self.losses, strict=False)):
            own = "; as discovered" if set(circuit) == known else ""
            rest = [path for path in circuit if path not in self.core]
            more = f"; beside those in all: {named(rest)}" if rest else ""
            line = f"{i + 1}: {counted(len(circuit), 'path')}, loss {loss:.4f}{own}{more}"
            lines += wrapped(line, rest="   ")
        if count > SHOWN:
            lines += wrapped(f"and {count - SHOWN} more, in {self.FILE}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON data, but for the time that it took."""
        data = super().to_json()
        del data["seconds"]
        return data

    def __post_init__(self):
        count, allowed = len(self.losses), f"{len(self.circuits)}, one a circuit"
        require(count == len(self.circuits), "number of losses", count, allowed)


@computes_as_usual
def every_circuit(
    model: Run | str | Path | Any,
    task: Task | None = None,
    found: Discovery | None = None,
    *,
    sequences: int = 128,
    most: int = MOST,
    workers: int | None = None,
    seed: int | None = None,
    watch: Callable[[int, int, int], None] = lambda *_: None,
) -> MinimalCircuits:
    """All minimal circuits of a trained model, made of the paths that `discover` may choose from.

    A circuit stays below the threshold with every head replaced and with the layers above any
    layer free. Candidates are the paths along which a head sends at least 0.1 of its attention on
    average, but for those of the last layer that end where no answer is read. A head without a
    chosen path does what it does in the discovered circuit if it has no path there either, and
    attends nowhere otherwise. Threshold and ablation are the discovery's.

    Args:
        model: a run in which a circuit was discovered, or its folder; or a model (see `discover`).
        task: the model's task, if a model is given.
        found: what `discover` found, if a model is given. Of a run, by default what it keeps; these
            are then kept, too.
        sequences: how many to judge on, at least 8; with as many as the search had, the same ones.
        most: sets of paths to judge at most. The search goes from small to large sets, and ends
            before a size that would take more.
        workers: threads, each on one core; by default as many as the machine has cores. A model of
            others is called by one thread alone.
        seed: of the sequences; by default the run's, or 0.
        watch: called with a number of paths, how many sets were judged and how many minimal ones
            found.

    Raises:
        HeadwayError: if no circuit was discovered, or an argument is out of range.
    """
    require_allowed("sequences", sequences, Sequences)
    require_allowed("most", most, AtLeastOne)
    require_allowed("workers", workers, AtLeastOne | None)
    with studied(model, task, seed=seed) as subject:
        run = subject.run
        if run is not None and found is None:
            known = saved_discovery(run)
        else:
            known = require_allowed("found", found, Discovery)
        require_fits(known.circuit, subject.model)
        batch, started = subject.sequences(sequences, "circuit"), time.perf_counter()
        about = subject.model, subject.task, batch, known.ablation
        count = most_workers(subject.model, device_of(subject.model), workers)
        benches = [Bench(*about) for _ in range(count)]
        candidates = candidates_among(benches[0], known.circuit)
        with threads(workers, benches) as work:

            def losses(sets: list[dict[Head, Mechanism]], limit: float) -> list[float]:
                share = math.ceil(len(sets) / len(benches)) or 1
                parts = (sets[i : i + share] for i in range(0, len(sets), share))
                return [*chain(*work.map(Bench.losses, benches, parts, repeat(limit)))]

            search = Exhaustive(losses, candidates, known.circuit, known.threshold, most, watch)
            circuits = sorted(map(tuple, map(sorted, search.search())), key=lambda c: (len(c), c))
        every = MinimalCircuits(
            threshold=known.threshold,
            sequences=len(batch.inputs),
            candidates=tuple(search.paths),
            idle=Circuit(search.idle),
            circuits=tuple(circuits),
            losses=tuple(benches[0].losses([Circuit.of(one, search.idle) for one in circuits])),
            judged=search.judged,
            searched=search.searched,
            discovered=tuple(known.circuit.paths),
            most=most,
            seconds=round(time.perf_counter() - started, 3),
        )
        if run is not None and found is None:
            run.save(every)
    return every


def named(paths: Sequence[AttentionPath]) -> str:
    """Paths as they are written."""
    return ", ".join(map(str, paths)) or "no path"


class _TooManyError(Exception):
    """More sets would have to be judged than are allowed."""


class Exhaustive:
    """All minimal sets of paths that serve.

    Attributes:
        idle: what every head does that has none of its paths chosen.
        free: by layer, the loss to stay below with the layers above it free: the threshold, or as
            much as the circuit loses that is known.
        minimal: those found so far.
        judged: how many sets were judged so far, those of the lower layers alone included.
        searched: all minimal sets of up to so many paths are known: -1 if not even the empty set
            was judged, the number of candidates if no set is missing.

    Args:
        losses: of candidates; infinity for those that are not below a limit.
        candidates: the paths to choose from.
        known: a circuit; heads do what they do in it, but for its paths.
        threshold: the loss to stay below with every head replaced.
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
        self.losses, self.threshold, self.most, self.watch = losses, threshold, most, watch
        self.idle = reduce(Circuit.without, known.paths, known).mechanisms
        self.paths = sorted(set(candidates))
        self.choosing = {path.at for path in self.paths}
        self.free = dict.fromkeys(sorted({layer for layer, _ in self.idle}), threshold)
        self.minimal: list[Chosen] = []
        self.judged, self.searched = 0, -1
        self._lower: dict[tuple[int, int], list[Chosen]] = {}
        if known.paths:
            below = [self.mechanisms(frozenset(known.paths), layer) for layer in self.free]
            for layer, loss in zip(self.free, losses(below, math.inf), strict=True):
                self.free[layer] = max(threshold, above(loss))

    def search(self, first: bool = False) -> list[Chosen]:
        """The minimal sets, the smallest first; ends early if there would be too much to judge.

        With `first`, the smallest size at which a set serves is the last.
        """
        layers = sorted({path.layer for path in self.paths})
        with suppress(_TooManyError):
            for size in range(len(self.paths) + 1):
                self.minimal += self._serving(self._sets(layers, size), None, size)
                self.searched = size
                self.watch(size, self.judged, len(self.minimal))
                if first and self.minimal:
                    break
        return self.minimal

    def _sets(self, layers: Sequence[int], size: int) -> list[Chosen]:
        """The sets of a size in some layers that may be minimal: those below the last serve."""
        if not layers:
            return [] if size else [frozenset()]
        *below, last = layers
        here = [path for path in self.paths if path.layer == last]
        sets = [
            lower.union(chosen)
            for count in range(min(size, len(here)) + 1)
            for lower in self._serving_below(below, size - count)
            for chosen in combinations(here, count)
        ]
        return [one for one in sets if not any(held <= one for held in self.minimal)]

    def _serving_below(self, layers: Sequence[int], size: int) -> list[Chosen]:
        """The sets of a size in some layers that serve with those above free, judged once."""
        if (key := (len(layers), size)) not in self._lower:
            sets = self._sets(layers, size)
            self._lower[key] = self._serving(sets, layers[-1], size) if layers else sets
        return self._lower[key]

    def _serving(self, sets: Sequence[Chosen], above: int | None, size: int) -> list[Chosen]:
        """Those of some sets that serve, with those above a layer free."""
        if self.judged + len(sets) > self.most:
            raise _TooManyError
        limit = self.threshold if above is None else self.free[above]
        serving: list[Chosen] = []
        for start in range(0, len(sets), AT_ONCE):
            some = sets[start : start + AT_ONCE]
            found = self.losses([self.mechanisms(one, above) for one in some], limit)
            serving += [one for one, loss in zip(some, found, strict=True) if loss < limit]
            self.judged += len(some)
            self.watch(size, self.judged, len(self.minimal))
        return serving

    def mechanisms(self, chosen: Chosen, above: int | None = None) -> dict[Head, Mechanism]:
        """The mechanisms of a set; heads above a layer that have candidates are left free."""
        replaced = Circuit.of(chosen, self.idle)
        return {
            head: mechanism
            for head, mechanism in replaced.mechanisms.items()
            if above is None or head[0] <= above or head not in self.choosing
        }
