"""Every minimal circuit of a trained model, as data that can be shown and saved."""

import math
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, ClassVar

from headway.circuits.ablation import Bench
from headway.circuits.ablation import workers as threads
from headway.circuits.discovery import Discovery, saved_discovery
from headway.circuits.exhaustive import Exhaustive, Watch, idle_mechanisms
from headway.circuits.findings import Condition, Finding
from headway.circuits.mechanism import (
    Circuit,
    Head,
    Mechanism,
    WrittenCircuit,
    WrittenPath,
    name_of,
)
from headway.circuits.search import candidates_of
from headway.circuits.subject import Subject, opened, require_fits, studied
from headway.errors import HeadwayError, require
from headway.paths import Path
from headway.tasks import Task
from headway.text import counted, wrapped
from headway.theory import is_minimal_circuit
from headway.training.run import Run

SHOWN = 10
"""The most circuits that are listed one by one."""

MOST = 50_000
"""Sets of paths judged at most, by default."""

FRESH = 10_000
"""Sets judged by a bench before a new one replaces it, as a bench remembers what it judged."""


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
        flow_minimal: how many are minimal circuits of the task's flow, too; None if none is known.
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
    flow_minimal: int | None
    seconds: float

    @property
    def complete(self) -> bool:
        """Whether no minimal circuit can be missing."""
        return self.searched == len(self.candidates)

    @property
    def core(self) -> tuple[Path, ...]:
        """The paths that all of these circuits have."""
        return tuple(sorted(set.intersection(*map(set, self.circuits)))) if self.circuits else ()

    @property
    def union(self) -> tuple[Path, ...]:
        """The paths that any of these circuits has."""
        return tuple(sorted(set().union(*self.circuits)))

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
            yield f"paths in all of them: {len(self.core)}; in any: {len(self.union)}"
            if set(self.discovered) not in map(set, self.circuits):
                yield "the circuit that the search discovered is not one of them"
        moving = [circuit for circuit in self.circuits if not any(map(_is_stay, circuit))]
        if self.flow_minimal is not None and moving:
            yield f"minimal circuits of the flow (headway theory --count), too: {self.flow_minimal}"

    def conditions(self) -> Iterator[Condition]:
        """Conditions beside the types of fields."""
        count, allowed = len(self.losses), f"{len(self.circuits)}, one a circuit"
        yield "number of losses", count, count == len(self.circuits), allowed


def every_circuit(
    model: Run | str | FilePath | Any,
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
    enough = isinstance(sequences, int) and sequences >= 8
    require(enough, "sequences", sequences, "a whole number of at least 8")
    require(isinstance(most, int) and most >= 1, "most", most, "a whole number of at least 1")
    require(workers is None or workers >= 1, "workers", workers, "a whole number of at least 1")
    if not isinstance(opened(model), Run) and (task is None or found is None):
        raise HeadwayError("a model is studied together with its task and what was discovered")
    with studied(model, task, seed=seed) as subject:
        if subject.run is not None:
            require(found is None, "found", "given", "None, as the run has its own")
            found = saved_discovery(subject.run)
        assert found is not None
        require_fits(found.circuit, subject.model)
        circuits = _exhausted(subject, found, sequences, most, workers, watch)
        if subject.run is not None:
            subject.run.save(circuits)
    return circuits


def _exhausted(
    subject: Subject,
    found: Discovery,
    sequences: int,
    most: int,
    workers: int | None,
    watch: Watch | None,
) -> MinimalCircuits:
    """Searches exhaustively, and makes circuits of the sets that it finds."""
    started, batch = time.perf_counter(), subject.sequences(sequences, "circuit")

    def bench() -> Bench:
        return Bench(subject.model, subject.task, batch, found.ablation)

    own, idle = bench(), idle_mechanisms(found.circuit)
    candidates = candidates_of(own, found.attention, found.circuit)
    benches = [bench() for _ in range(workers or os.cpu_count() or 1)]
    with threads(workers, benches) as work:

        def losses(sets: list[dict[Head, Mechanism]], limit: float) -> list[float]:
            for i in range(len(benches)):
                if benches[i].candidates > FRESH:
                    benches[i] = bench()
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
    whole = own.losses([{**idle, **Circuit.of(circuit).mechanisms} for circuit in circuits])
    return MinimalCircuits(
        threshold=found.threshold,
        sequences=own.sequences,
        candidates=tuple(sorted(candidates)),
        idle=Circuit(idle),
        circuits=tuple(circuits),
        losses=tuple(whole),
        judged=search.judged,
        searched=search.searched,
        discovered=tuple(found.circuit.paths),
        flow_minimal=_flow_minimal(subject.task, circuits, own.patterns.causal),
        seconds=round(time.perf_counter() - started, 3),
    )


def _flow_minimal(task: Task, circuits: Sequence[tuple[Path, ...]], causal: bool) -> int | None:
    """How many circuits are minimal circuits of the task's flow, if it and all roles are known."""
    flow = task.flow()
    ends = {end for circuit in circuits for path in circuit for end in path.relation.ends or ("",)}
    if flow is None or not ends <= set(flow.roles):
        return None
    return sum(is_minimal_circuit(flow, circuit, causal) for circuit in circuits)


def _is_stay(path: Path) -> bool:
    """True if a position keeps what stands there; no minimal circuit of a flow has such a path."""
    return path.relation.query == path.relation.key


def by_head(paths: Sequence[Path]) -> str:
    """Paths head by head, in few words."""
    circuit = Circuit.of(paths)
    named = (f"{name_of(at)} {circuit.mechanisms[at]}" for at in circuit.useful_heads)
    return "; ".join(named).replace("  ", " ") or "no path"
