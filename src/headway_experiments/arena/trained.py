"""Trained models, with the circuit that exchange shows them to have."""

from dataclasses import replace
from pathlib import Path

from headway.judge import THRESHOLD
from headway.training import Run, RunConfig, fast, resume, train
from headway.training.files import is_there
from headway_experiments.arena.case import Known, LeftOutError
from headway_experiments.arena.truth import truth_by_exchange

TRAINED = {
    f"trained D={depth} seed {seed}": (depth, seed)
    for depth, count in ((1, 20), (3, 5))
    for seed in range(5000, 5000 + count)
}
"""Depth and seed of every model that is trained, by seeds that nothing else has
used.
"""


def build_trained(name: str, folder: Path) -> Known:
    """A model of the retrieval problem; its run is kept in the folder.

    Raises:
        LeftOutError: if it did not learn the task, or no few paths are enough.
    """
    depth, seed = TRAINED[name]
    run = learnt_run(depth, seed, folder)
    model = run.model()
    truth = truth_by_exchange(model, run.task, seed)
    return Known(model, run.task, truth.required, truth.alternatives, kind=f"D={depth}")


def learnt_run(depth: int, seed: int, folder: Path) -> Run:
    """A run of the recipe `fast`, which stays in the folder.

    Raises:
        LeftOutError: if it did not learn the task.
    """
    config = replace(fast(depth, seed=seed), threads=1)
    run = kept_run(config, folder / "runs" / f"D{depth}-{seed}")
    loss = run.metrics()[-1]["val_loss"]
    if not loss < THRESHOLD:
        raise LeftOutError(f"it did not learn the task: its loss is {loss:.3f}")
    return run


def kept_run(config: RunConfig, place: Path) -> Run:
    """The run of a config, which stays in a folder; it is trained, or its training goes
    on.
    """
    is_begun = is_there(place / "config.json")
    return resume(place) if is_begun else train(config, place)
