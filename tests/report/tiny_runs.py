"""Runs that take a moment, of a task of every kind."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from headway.dynamics import emergence
from headway.dynamics.whole import heads_of
from headway.find import discover
from headway.judge.evidence import Trial
from headway.models import TransformerConfig
from headway.relations import Relation
from headway.replace import Circuit, Head, Mechanism, Paths, Uniform
from headway.replace.mechanism import Tabled
from headway.tasks import Conditional, Hops, Retrieval, Task, task_in
from headway.training import Run, RunConfig, TrainingConfig, train
from headway_experiments.arena import Labelled
from headway_experiments.tasks import Associations, Bigrams, Composition, Recall

OUTSIDE = Path(__file__).parents[1] / "outside"
TASKS = {
    "retrieval": lambda: Retrieval(depth=1, n_chains=2),
    "conditional": lambda: Conditional(n_chains=2),
    "labelled": lambda: Labelled(depth=1, n_chains=2),
    "hops": lambda: Hops(asked=(1, 2), n_places=9),
    "composition": lambda: Composition(asked=(1, 2), n_symbols=3),
    "bigrams": lambda: Bigrams(length=16, n_tokens=8, n_triggers=2),
    "recall": lambda: Recall(length=5),
    "associations": lambda: Associations(n_items=6),
    "assignments": lambda: task_in(str(OUTSIDE / "assignments.py"))(),
    "reassigned": lambda: task_in(str(OUTSIDE / "reassigned.py"))(),
    "sums": lambda: task_in(str(OUTSIDE / "sums.py"))(),
}
"""A task of every kind."""

ANY_LOSS = 10.0
"""A threshold under which even an untrained model has a circuit."""


def tiny_config(task: Task, causal: bool = True, n_heads: int = 1) -> RunConfig:
    return RunConfig(
        task=task,
        model=TransformerConfig(n_layers=2, d_model=16, n_heads=n_heads, causal=causal),
        training=TrainingConfig(
            steps=6,
            batch_size=8,
            train_examples=None,
            eval_every=2,
            eval_examples=8,
            checkpoint_every=2,
        ),
    )


def path_names(task: Task) -> list[Relation]:
    """The relations that a circuit may use as paths."""
    relations = task.relations(task.sample(2, torch.Generator().manual_seed(0)))
    return [Relation(name) for name, edges in relations.items() if edges.use == "path"]


def taken_apart(folder: Path, config: RunConfig) -> Run:
    """A run that learnt nothing, with a circuit in both layers that was given, and its
    dates.
    """
    run = train(config, folder)
    if run.task.length > 1:
        names = path_names(run.task)
        given = dict[Head, Mechanism]((head, Uniform()) for head in heads_of(run))
        given |= {
            (0, 0): Paths(frozenset(names[-1:])),
            (1, 0): Paths(frozenset(names[:2])),
        }
        found = discover(run, circuit=Circuit(given), threshold=ANY_LOSS, sequences=8)
        paths = found.circuit.paths
        trials = [Trial(paths[1:], 2 / 3), Trial(paths, 1.0)]
        found = replace(found, evidence=replace(found.evidence, trials=trials))
        run.write("circuit.json", found.to_json())
        emergence(run, found, sequences=8)
    return run


def with_heads(
    folder: Path,
    task: Task,
    n_heads: int,
    paths: dict[Head, tuple[str, ...]],
    tabled: Sequence[Head] = (),
) -> Run:
    """A run of two layers that learnt nothing, with such paths given as its circuit,
    and heads by table.
    """
    run = train(tiny_config(task, n_heads=n_heads), folder)
    given = dict[Head, Mechanism]((head, Uniform()) for head in heads_of(run))
    given |= {head: Paths(frozenset(names)) for head, names in paths.items()}
    given |= {head: Tabled() for head in tabled}
    found = discover(run, circuit=Circuit(given), threshold=ANY_LOSS, sequences=8)
    run.write("circuit.json", found.to_json())
    return run
