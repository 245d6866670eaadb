"""Recipes of tasks that only experiments are about."""

from dataclasses import replace

from headway.training import RunConfig
from headway.training.recipes import hops
from headway_experiments.tasks import Composition


def composition(asked: tuple[int, ...] = (1, 2, 4), steps: int = 1_500, seed: int = 0) -> RunConfig:
    """k-fold composition with a layer more than the ⌊log2 k⌋ + 1 of Wang et al. 2025, theorem 1.

    Trained as `hops` is, but for four times the sequences a step and half of Muon's rate: hops are
    found more surely (docs/khop.md).
    """
    base = hops(asked, steps, seed)
    return replace(
        base,
        task=Composition(asked=asked),
        model=replace(base.model, causal=False),
        training=replace(base.training, batch_size=64, matrix_learning_rate=0.01),
    )
