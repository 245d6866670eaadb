"""Configs of runs that take a moment."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from headway.circuits import Discovery, Paths, Relation, Trial, discover, emergence
from headway.models import TransformerConfig
from headway.tasks import Task
from headway.training import Run, RunConfig, TrainingConfig, train


def certified(found: Discovery, **changes: Any) -> Discovery:
    """The discovery with some of its evidence changed."""
    return replace(found, evidence=replace(found.evidence, **changes))


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


def trained(folder: Path, config: RunConfig, taken_apart: bool = True) -> Run:
    run = train(config, folder)
    if taken_apart:
        found = with_paths(discover(run, threshold=ANY_LOSS, sequences=8), run)
        run.write("circuit.json", found.to_json())
        emergence(run, found, sequences=8)
    return run


def with_paths(found: Discovery, run: Run) -> Discovery:
    """The discovery with paths in both layers, so that there is something to draw and to date."""
    names = path_names(run.task)
    circuit = found.circuit.replacing((0, 0), Paths(frozenset(names[-1:])))
    circuit = circuit.replacing((1, 0), Paths(frozenset(names[:2])))
    given = discover(run, circuit=circuit, threshold=ANY_LOSS, sequences=8)
    trials = Trial("one", circuit.paths[1:], 2 / 3), Trial("two", circuit.paths, 1.0)
    return certified(given, trials=[*trials])
