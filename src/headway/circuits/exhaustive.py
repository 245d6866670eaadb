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
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

from headway.circuits.ablation import Bench
from headway.circuits.ablation import workers as threads
from headway.circuits.discovery import Condition, Discovery, Finding, saved_discovery
from headway.circuits.mechanism import (
    Circuit,
    Head,
    Mechanism,
    Paths,
    WrittenCircuit,
    WrittenPath,
    name_of,
)
from headway.circuits.search import candidates_among
from headway.circuits.subject import opened, require_count, require_fits, studied
from headway.errors import HeadwayError, require
from headway.relations.paths import AttentionPath
from headway.tasks import Task
from headway.text import counted, wrapped
from headway.training.run import Run

SHOWN = 10
"""The most circuits that are listed one by one."""

MOST = 50_000
"""Sets of paths judged at most, by default."""

Losses = Callable[[list[dict[Head, Mechanism]], float], list[float]]
"""The loss of every candidate, or infinity if it is not below the limit."""

Watch = Callable[[int, int, int], None]
"""Called with a number of paths, how many sets were judged and how many minimal ones found."""

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
        seconds: wall time.
    """

    FILE: ClassVar[str] = "circuits.json"

    threshold: float
    sequences: int
    candidates: tuple[WrittenPath, ...]
    idle: WrittenCircuit
    circuits: tuple[tuple[WrittenPath, ...], ...]
    losses: tuple[float, ...]
    judged: int
    searched: int
    discovered: tuple[WrittenPath, ...]
    seconds: float

    @property
    def complete(self) -> bool:
        """True if no minimal circuit can be missing."""
        return self.searched == len(self.candidates)

    @property
    def core(self) -> tuple[AttentionPath, ...]:
        """The paths that all of these circuits have."""
        return tuple(sorted(set.intersection(*map(set, self.circuits)))) if self.circuits else ()

    @property
    def smallest(self) -> int | None:
        """The least number of paths that any circuit has; None if none was found."""
        return len(self.circuits[0]) if self.circuits else None

    def __str__(self):
        lines = [line for part in self.sentences() for line in wrapped(part)]
        if self.circuits:
            lines += ["", *wrapped("in all: " + by_head(self.core)), ""]
        for i, (circuit, loss) in enumerate(zip(self.circuits[:SHOWN], self.losses, strict=False)):
            own = "; as discovered" if set(circuit) == set(self.discovered) else ""
            rest = [path for path in circuit if path not in self.core]
            line = f"{i + 1}: {counted(len(circuit), 'path')}, loss {loss:.4f}{own}"
            more = f"; beside those in all: {by_head(rest)}" if rest else ""
            lines += wrapped(line + more, rest="   ")
        if len(self.circuits) > SHOWN:
            lines += wrapped(f"and {len(self.circuits) - SHOWN} more, in {self.FILE}")
        return "\n".join(lines)

    def sentences(self) -> Iterator[str]:
        """The search and its findings, sentence by sentence."""
        count, among = len(self.circuits), counted(len(self.candidates), "candidate path")
        yield f"{counted(count, 'minimal circuit')} among {among}; threshold {self.threshold:g}"
        passes = "with all heads replaced, and with the layers above any layer free"
        yield (
            f"judged {passes}: {counted(self.judged, 'set')} of paths, {self.sequences} sequences,"
            f" {self.seconds:.1f} s"
        )
        if self.complete:
            yield "complete: every set was judged, or ruled out by what was judged"
        else:
            yield (
                f"NOT complete: larger sets than those of {self.searched} paths were not judged;"
                " --most allows more"
            )
        if self.smallest is not None:
            yield f"smallest: {counted(self.smallest, 'path')}; none is smaller"
        elif not self.complete:
            yield f"smallest: none has {self.searched} paths or fewer"
        if self.circuits:
            any_of = set().union(*self.circuits)
            yield f"paths in all of them: {len(self.core)}; in any: {len(any_of)}"
            if set(self.discovered) not in map(set, self.circuits):
                yield "the circuit that the search discovered is not one of them"

    def conditions(self) -> Iterator[Condition]:
        """Conditions beside the types of fields."""
        count, allowed = len(self.losses), f"{len(self.circuits)}, one a circuit"
        yield "number of losses", count, count == len(self.circuits), allowed


def every_circuit(
    model: Run | str | Path | Any,
    task: Task | None = None,
    found: Discovery | None = None,
    *,
    sequences: int = 128,
    most: int = MOST,
    workers: int | None = None,
    seed: int | None = None,
    watch: Watch | None = None,
) -> MinimalCircuits:
    """All minimal circuits of a trained model, made of the paths that `discover` may choose from.

    A circuit stays below the threshold both with every head replaced and, as the search asks of
    one, with the layers above any layer free.

    Those are the paths along which a head sends at least 0.1 of its attention on average, without
    those of the last layer that end where no answer is read. A head without a chosen path does what
    it does in the discovered circuit if it has no path there either, and is uniform otherwise.
    Threshold and ablation are those of the discovery. Of a run the findings are left in its
    `circuits.json`.

    Args:
        model: a run in which a circuit was discovered, or its folder; or a model (see `discover`).
        task: the model's task, if a model is given.
        found: what `discover` found, if a model is given.
        sequences: how many to judge on; with as many as the search had, the same ones.
        most: sets of paths to judge at most. The search goes from small to large sets, and ends
            before a size that would take more.
        workers: threads, each on one core; by default as many as the machine has cores.
        seed: of the sequences; by default the run's, or 0.
        watch: called with the progress (see `exhaustive`).

    Raises:
        HeadwayError: if no circuit was discovered, or an argument is out of range.
    """
    require_count("sequences", sequences, 8)
    require_count("most", most, 1)
    require_count("workers", 1 if workers is None else workers, 1)
    if not isinstance(opened(model), Run) and (task is None or found is None):
        raise HeadwayError("a model is studied together with its task and what was discovered")
    with studied(model, task, seed=seed) as subject:
        if subject.run is not None:
            require(found is None, "found", "given", "None, as the run has its own")
            found = saved_discovery(subject.run)
        assert found is not None
        require_fits(found.circuit, subject.model)
        batch, started = subject.sequences(sequences, "circuit"), time.perf_counter()
        about, count = (subject.model, subject.task, batch, found.ablation), os.cpu_count()
        own, *benches = (Bench(*about) for _ in range(1 + (workers or count or 1)))
        idle = idle_mechanisms(found.circuit)
        candidates = candidates_among(own, found.attention, found.circuit)
        with threads(workers, benches) as work:

            def losses(sets: list[dict[Head, Mechanism]], limit: float) -> list[float]:
                share = math.ceil(len(sets) / len(benches)) or 1
                parts = [
                    work.submit(at.losses, sets[i * share : (i + 1) * share], limit)
                    for i, at in enumerate(benches)
                ]
                return [loss for part in parts for loss in part.result()]

            search = Exhaustive(losses, candidates, idle, found.threshold, most, watch)
            search.allow(found.circuit)
            sets = search.search()
        circuits = sorted((tuple(sorted(s)) for s in sets), key=lambda c: (len(c), c))
        every = MinimalCircuits(
            threshold=found.threshold,
            sequences=own.sequences,
            candidates=tuple(sorted(candidates)),
            idle=Circuit(idle),
            circuits=tuple(circuits),
            losses=tuple(own.losses([Circuit.of(c, idle) for c in circuits])),
            judged=search.judged,
            searched=search.searched,
            discovered=tuple(found.circuit.paths),
            seconds=round(time.perf_counter() - started, 3),
        )
        if subject.run is not None:
            subject.run.save(every)
    return every


def by_head(paths: Sequence[AttentionPath]) -> str:
    """Paths head by head, in few words."""
    circuit = Circuit.of(paths)
    named = (f"{name_of(at)} {circuit.mechanisms[at]}" for at in circuit.useful_heads)
    return "; ".join(named).replace("  ", " ") or "no path"


class Exhaustive:
    """All minimal sets of paths that serve. Sets are bits, in the order of `paths`.

    Attributes:
        judged: how many sets were judged so far, those of the lower layers alone included.
        searched: all minimal sets of up to so many paths are known: -1 if not even the empty set
            was judged, the number of candidates if no set is missing.

    Args:
        losses: judges mechanisms.
        candidates: the paths to choose from.
        idle: what every head does that has none of its paths chosen.
        threshold: the loss to stay below with every head replaced.
        most: the search ends before more sets than this are judged; by default never.
        watch: told after every size, and now and then within.
    """

    def __init__(
        self,
        losses: Losses,
        candidates: Sequence[AttentionPath],
        idle: Mapping[Head, Mechanism],
        threshold: float,
        most: int | None = None,
        watch: Watch | None = None,
    ):
        self.losses, self.idle, self.threshold = losses, dict(idle), threshold
        self.most, self.watch = most, watch or (lambda *_: None)
        self.paths = sorted(set(candidates))
        self.choosing = {path.at for path in self.paths}
        self.layers: dict[int, list[int]] = {layer: [] for layer, _ in sorted(self.idle)}
        for i, path in enumerate(self.paths):
            self.layers[path.layer].append(1 << i)
        self.free = dict.fromkeys(self.layers, threshold)
        self.minimal: list[int] = []
        self.judged, self.searched = 0, -1
        self._lower: dict[int, list[list[int]]] = {layer: [] for layer in self.layers}

    def allow(self, circuit: Circuit) -> None:
        """Lets sets lose as much with the layers above one free as a circuit does that is known."""
        chosen = sum(1 << i for i, path in enumerate(self.paths) if path in circuit.paths)
        known = self.losses([self.mechanisms(chosen, layer) for layer in self.free], math.inf)
        for layer, loss in zip(self.free, known, strict=True):
            self.free[layer] = max(self.threshold, math.nextafter(loss, math.inf))

    def search(self, first: bool = False) -> list[frozenset[AttentionPath]]:
        """The minimal sets, the smallest first; ends early if there would be too much to judge.

        With `first`, the smallest size at which a set serves is the last.
        """
        for size in range(len(self.paths) + 1):
            sets = self._served_below(size)
            serving = None if sets is None else self._serve(sets, None, size)
            if serving is None:
                break
            self.minimal += serving
            self.searched = size
            self.watch(size, self.judged, len(self.minimal))
            if first and serving:
                break
        return [frozenset(self._chosen(circuit)) for circuit in self.minimal]

    def _served_below(self, size: int) -> list[int] | None:
        """The sets of a size whose lower layers serve with those above free; None if too many."""
        below: list[list[int]] = [[0], *([] for _ in range(size))]
        last = max((path.layer for path in self.paths), default=-1)
        for layer, bits in self.layers.items():
            if not bits:
                continue
            sets = [
                lower | sum(chosen)
                for count in range(min(size, len(bits)) + 1)
                for lower in below[size - count]
                for chosen in combinations(bits, count)
            ]
            sets = [one for one in sets if not any(one & held == held for held in self.minimal)]
            served = sets if layer == last else self._serve(sets, layer, size)
            if served is None:
                return None
            self._lower[layer].append(served)
            below = self._lower[layer]
        return below[size]

    def _serve(self, sets: Sequence[int], above: int | None, size: int) -> list[int] | None:
        """Those of some sets that serve, with those above a layer free; None if too many."""
        if self.most is not None and self.judged + len(sets) > self.most:
            return None
        limit = self.threshold if above is None else self.free[above]
        serving: list[int] = []
        for start in range(0, len(sets), AT_ONCE):
            some = sets[start : start + AT_ONCE]
            found = self.losses([self.mechanisms(one, above) for one in some], limit)
            serving += [one for one, loss in zip(some, found, strict=True) if loss < limit]
            self.judged += len(some)
            self.watch(size, self.judged, len(self.minimal))
        return serving

    def mechanisms(self, chosen: int, above: int | None = None) -> dict[Head, Mechanism]:
        """The mechanisms of a set; heads above a layer that have candidates are left free."""
        replaced = Circuit.of(self._chosen(chosen), self.idle)
        return {
            head: mechanism
            for head, mechanism in replaced.mechanisms.items()
            if above is None or head[0] <= above or head not in self.choosing
        }

    def _chosen(self, chosen: int) -> list[AttentionPath]:
        return [path for i, path in enumerate(self.paths) if chosen >> i & 1]


def idle_mechanisms(circuit: Circuit) -> dict[Head, Mechanism]:
    """The mechanism of every head that has no path chosen: nothing if it has some in a circuit.

    Otherwise what it does there. This is what is left of a circuit with all its paths cut.
    """
    return {
        head: Paths(frozenset()) if isinstance(mechanism, Paths) else mechanism
        for head, mechanism in circuit.mechanisms.items()
    }
