"""Trained models of which exhaustion has shown that there is one minimal circuit."""

from dataclasses import replace
from pathlib import Path

from headway.circuits import (
    THRESHOLD,
    AttentionPath,
    Bench,
    Circuit,
    Exhaustive,
    Uniform,
    candidates_among,
)
from headway.models import Tappable
from headway.tasks import Task
from headway.training import Run, RunConfig, fast, held_out, resume, train
from headway.training.files import is_there
from headway_experiments.arena.case import Known, LeftOutError

TRAINED = {
    f"trained D={depth} seed {seed}": (depth, seed)
    for depth, count in ((1, 20), (3, 5))
    for seed in range(5000, 5000 + count)
}
"""Depth and seed of every model that is trained, by seeds that nothing else has used."""

MOST = 50_000
"""Sets of paths that are judged at most."""


def build_trained(name: str, folder: Path) -> Known:
    """A model at the flow minimum, trained by the recipe `fast`; its run is kept in the folder.

    Raises:
        LeftOutError: if it did not learn the task, or has no or several minimal circuits.
    """
    depth, seed = TRAINED[name]
    config = replace(fast(depth, seed=seed), threads=1)
    run = kept_run(config, folder / "runs" / f"D{depth}-{seed}")
    circuit = only_circuit(run.model(), run.task, seed)
    return Known(run.model(), run.task, circuit, kind=f"D={depth}")


def kept_run(config: RunConfig, place: Path) -> Run:
    """The run of a config, which stays in a folder; it is trained, or its training goes on."""
    is_begun = is_there(place / "config.json")
    return resume(place) if is_begun else train(config, place)


def only_circuit(model: Tappable, task: Task, seed: int) -> frozenset[AttentionPath]:
    """The one minimal circuit that a model has, by judging every set of paths.

    The search for circuits has no part in it. Chosen from are paths with an attention of at least
    0.1. A head without any attends evenly. A circuit's loss is below the threshold with every head
    replaced, and with the layers above any layer free.

    Raises:
        LeftOutError: if there is none or there are several, or too many sets to judge.
    """
    batch = held_out(task, 128, seed, "cpu", "exhaustion")
    bench = Bench(model, task, batch)
    if not (loss := bench.loss()) < THRESHOLD:
        raise LeftOutError(f"it did not learn the task: its loss is {loss:.3f}")
    candidates = candidates_among(bench)
    idle = Circuit(dict.fromkeys(bench.heads, Uniform()))
    search = Exhaustive(bench.losses, candidates, idle, THRESHOLD, MOST)
    found = search.search()
    if search.searched < len(candidates):
        raise LeftOutError(f"{len(candidates)} candidate paths are too many to judge all sets")
    if len(found) != 1:
        raise LeftOutError(f"it has {len(found) or 'no'} minimal circuits")
    return found[0]
