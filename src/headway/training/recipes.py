"""Recipes: functions that return a whole config. They only pick; the core does."""

import math
from collections.abc import Callable
from dataclasses import replace

from headway.models import TransformerConfig
from headway.tasks import CompositionConfig, ConditionalConfig, HopsConfig, RetrievalConfig
from headway.training.config import RunConfig, TrainingConfig


def fast(depth: int = 3, seed: int = 0, mixture: bool = True) -> RunConfig:
    """The retrieval problem with one head per layer, solved in a minute or two on a laptop.

    What it changes against the paper's recipe, and why, is told in docs/recipes.md: maps start
    orthogonal with nothing scaled down, so that what attention moves is as large as what stands
    there; one position code for both tokens of a pair, its longest wave about as long as the
    sequence; Muon on the blocks' matrices, with some decay as long as the rates are high; layers
    to spare, so that wherever the first heads are born there is room above them; MLPs no wider
    than the stream, as attention does the work; and the rates start to fall as soon as the first
    hop is learnt, the more slowly the more hops there are. From two hops to four, sequences are a
    mixture of all depths, which are cheaper, teach more than those of the full depth alone, and
    take fewer layers to spare.

    Matrix products are in bfloat16 where the processor has instructions for it.

    Args:
        depth: D, attention hops to the answer.
        seed: of weights and data.
        mixture: whether shallower sequences help, from two hops to four; else, and at all other
            depths, the implicit curriculum is the only one, as in the paper.
    """
    mixture = mixture and 1 < depth <= 4
    return RunConfig(
        task=RetrievalConfig(depth=depth, position_code="pair", position_base=None),
        model=TransformerConfig(
            n_layers=depth + (2 if mixture else 3),
            d_model=64,
            n_heads=1,
            d_mlp=64,
            act_fn="relu",
            init="orthogonal",
        ),
        training=_fast_training(depth, mixture),
        seed=seed,
    )


def _fast_training(depth: int, mixture: bool) -> TrainingConfig:
    """How `fast` and its relatives train, for so many hops.

    How much decay and how long a cool-down is what was measured over seeds (docs/recipes.md). The
    more hops, the longer it takes until attention is so sharp that what every head gets slightly
    wrong does not add up.
    """
    if depth <= 3:
        decay, cooldown = 0.05, 1_700 if mixture else 1_600
    elif depth == 4:
        decay, cooldown = 0.1, 2_200 if mixture else 1_900
    else:
        decay, cooldown = 0.03, 100 + 600 * depth
    return TrainingConfig(
        steps=400 + 1_200 * depth,
        batch_size=128,
        train_examples=None,
        depths="mixture" if mixture else "full",
        optimizer="muon",
        learning_rate=3e-3,
        matrix_learning_rate=0.02,
        betas=(0.9, 0.95),
        weight_decay=decay,
        warmup_steps=50,
        cooldown_steps=cooldown,
        cooldown_below=0.62,
        stop_below=0.008,
        patience=150 * depth,
        eval_every=50,
        eval_examples=512,
        checkpoint_every=25,
        save_every=100,
        precision="auto",
    )


def conditional(seed: int = 0) -> RunConfig:
    """The conditional retrieval problem, trained as `fast` trains."""
    base = fast(seed=seed, mixture=False)
    return RunConfig(
        ConditionalConfig(position_code="pair", position_base=None),
        base.model,
        base.training,
        seed=seed,
    )


def paper(depth: int = 3, seed: int = 0) -> RunConfig:
    """The set-up of Transformers A, B and C (Musat 2024, section 8.1), as printed.

    12 layers of one head, width 128, Adam 1e-3 with decoupled decay 0.1, the GPT-2
    initialisation, 24 000 steps of 128 from a fixed set of 2^18 sequences. Meant for a GPU.
    """
    return RunConfig(
        task=RetrievalConfig(depth=depth),
        model=TransformerConfig(n_layers=12, d_model=128, n_heads=1, act_fn="gelu", init="gpt2"),
        training=TrainingConfig(),
        seed=seed,
    )


def hops(asked: tuple[int, ...] = (1, 2, 4), steps: int = 1_600, seed: int = 0) -> RunConfig:
    """The k-hop problem with as many layers as the largest k takes, ⌊log2 k⌋ + 2.

    Symbols are met so often that fresh sequences and Muon learn a hop in some hundred steps, one
    after the other (docs/khop.md).
    """
    return RunConfig(
        task=HopsConfig(hops=asked, n_places=64),
        model=TransformerConfig(
            n_layers=math.floor(math.log2(asked[-1])) + 2,
            d_model=64,
            n_heads=4,
            d_mlp=128,
            init="fan_in",
        ),
        training=TrainingConfig(
            steps=steps,
            batch_size=16,
            train_examples=None,
            rising_every=max(1, steps // (2 * len(asked))),
            optimizer="muon",
            learning_rate=3e-3,
            weight_decay=0.01,
            warmup_steps=steps // 30,
            cooldown_steps=steps // 3,
            stop_below=0.01,
            eval_every=50,
            eval_examples=256,
            checkpoint_every=100,
        ),
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
        task=CompositionConfig(hops=asked),
        model=replace(base.model, causal=False),
        training=replace(base.training, batch_size=64, matrix_learning_rate=0.01),
    )


RECIPES: dict[str, Callable[[], RunConfig]] = {
    "fast": fast,
    "conditional": conditional,
    "hops": hops,
    "composition": composition,
    "paper": paper,
}
