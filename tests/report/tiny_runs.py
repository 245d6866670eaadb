"""Configs of runs that take a moment."""

import torch

from headway.circuits import Relation
from headway.models import TransformerConfig
from headway.tasks import Task
from headway.training import RunConfig, TrainingConfig

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
