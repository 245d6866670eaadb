"""Configs of runs that take a moment."""

from headway.models import TransformerConfig
from headway.tasks import TaskConfig
from headway.training import RunConfig, TrainingConfig


def tiny_config(task: TaskConfig, causal: bool = True, n_heads: int = 1) -> RunConfig:
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
