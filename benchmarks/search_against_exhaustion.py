"""The search against judging every set of paths, on models with few candidate paths.

    python benchmarks/search_against_exhaustion.py [--runs RUN …] [--strangers FOLDER]
        [--planted FIRST LAST] [--tracr]

A line of JSON a model: whether any set serves on the sequences that were searched on,
whether the circuit that the search found does, and their numbers of paths. Strangers
are told the relations that `TOLD` names; beside them stands the loss of the circuit
that is known to be right. Models with more than `MOST` candidate paths are left out.
Planted models are those from FIRST to before LAST.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from frame import options
from headway import discover
from headway.errors import HeadwayError
from headway.find import Exhaustive, candidates_among
from headway.models import tapped
from headway.relations import Composed, Edges
from headway.replace import Bench, Circuit
from headway.tasks import Batch, Task
from headway.training import Run, held_out
from headway_experiments.arena.families import families, known_of
from strangers import loaded

MOST = 16
MIRROR = "mirror position if the same token, else own position"
SORTED = "smallest larger token, else smallest any token"
UNLIKE = (MIRROR, "token unlike its mirror", "earliest token unlike its mirror")
DECOYS = ("own position", "previous token")

TOLD: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "sorted_list": ((SORTED,), {"L0.H0": SORTED, "L0.H1": SORTED}),
    "palindromes": (UNLIKE, {"L0.H0": MIRROR, "L0.H1": MIRROR, "L1.H0": UNLIKE[2]}),
    "palindromes_two": (UNLIKE, {"L0.H1": MIRROR, "L1.H0": UNLIKE[1]}),
}
"""Relations beside `DECOYS`, and what heads are known to follow."""


def telling(task: Task, names: tuple[str, ...]) -> Task:
    """The task with relations told."""

    def relations(self: Task, batch: Batch) -> dict[str, Edges]:
        composed = Composed(batch.inputs, True, self.looks_ahead)
        return {name: Edges.where(composed.mask(name)) for name in (*names, *DECOYS)}

    has = {"relations": relations, "kind": f"told_{task.kind}"}
    told: Any = type("Told", (type(task),), has, registered=False)
    return told(**{field.name: getattr(task, field.name) for field in fields(task)})


def models(given: argparse.Namespace) -> Iterator[tuple[str, Any, Task, int]]:
    """Name, model, task and seed of all that are asked for."""
    for run in map(Run.open, given.runs):
        yield run.folder.name, run.model(), run.task, run.config.seed
    for name, (build, task) in (
        loaded(given.strangers) if given.strangers else {}
    ).items():
        if name in TOLD:
            model = tapped(build(), held_out(task, 2, 0, "cpu", "example").inputs)
            yield name, model, telling(task, TOLD[name][0]), 5
    for family, known in families(range(*given.planted)).items():
        if family == "planted" or (family == "tracr" and given.tracr):
            for name in known.names:
                try:
                    case = known_of(known, name, Path())
                except HeadwayError:
                    continue
                yield name, case.model, case.task, 0


def compared(name: str, model: Any, task: Task, seed: int) -> dict[str, Any]:
    """The search and exhaustion on a model."""
    found = discover(model, task, seed=seed, trials=False, workers=1, ablation="zero")
    bench = Bench(
        model, task, held_out(task, 128, seed, "cpu", "circuit"), found.ablation
    )
    if (count := len(candidates_among(bench))) > MOST:
        return {"model": name, "candidates": count}
    candidates = candidates_among(bench, found.circuit)
    every = Exhaustive(
        bench.losses, candidates, found.circuit, found.threshold
    ).search()
    loss, size = bench.loss(found.circuit), len(found.circuit.paths)
    about = {
        "model": name,
        "candidates": count,
        "smallest": next(map(len, every), None),
    }
    about |= {
        "any_serves": bool(every),
        "serves": loss < found.threshold,
        "paths": size,
    }
    if name in TOLD:
        follows = {head: [relation] for head, relation in TOLD[name][1].items()}
        heads = dict.fromkeys(found.circuit.to_json(), "mean") | follows
        about["right"] = bench.loss(Circuit.from_json(heads))
    return about | {"loss": loss, "threshold": found.threshold}


def main() -> None:
    given = options(__doc__, runs=(), strangers=Path, planted=(0, 0), tracr=False)
    for one in models(given):
        try:
            row = compared(*one)
        except HeadwayError as error:
            row = {"model": one[0], "refused": str(error)}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
