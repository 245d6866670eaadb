"""Recipes that only experiments train with: that of the paper, and of tasks of their own."""

from dataclasses import replace

from headway.models import TransformerConfig
from headway.recipes import hops
from headway.tasks import Retrieval
from headway.training import RunConfig, TrainingConfig
from headway_experiments.tasks import Composition


def paper(depth: int = 3, seed: int = 0) -> RunConfig:
    """The set-up of Transformers A, B and C (Musat 2024, section 8.1), as printed.

    12 layers of one head, width 128, Adam 1e-3 with decoupled decay 0.1, 24 000 steps of 128 from
    a fixed set of 2^18 sequences. Blocks are drawn as GPT-2's; the maps into and out of the stream,
    which GPT-2 does not have, as PyTorch draws them. 100 minutes on one core (docs/as-printed.md).
    """
    return RunConfig(
        task=Retrieval(depth=depth),
        model=TransformerConfig(n_layers=12, d_model=128, n_heads=1, init="gpt2_blocks"),
        training=TrainingConfig(precision="auto"),
        seed=seed,
    )


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
