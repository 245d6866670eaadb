"""Recipes that only experiments train with, and the settings that several of them
share.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from headway.models import TransformerConfig
from headway.recipes import changed, hops
from headway.tasks import Retrieval
from headway.training import RunConfig, TrainingConfig, fast
from headway_experiments.experiment import Configs
from headway_experiments.tasks import Composition
from headway_experiments.trained import Trained


def paper(depth: int = 3, seed: int = 0) -> RunConfig:
    """The set-up of Transformers A, B and C (Musat 2024, section 8.1), as printed.

    12 layers of one head, width 128, Adam 1e-3 with decoupled decay 0.1, 24 000 steps
    of 128 from a fixed set of 2^18 sequences. Blocks are drawn as GPT-2's; the maps
    into and out of the stream, which GPT-2 does not have, as PyTorch draws them. 100
    minutes on one core.
    """
    return RunConfig(
        task=Retrieval(depth=depth),
        model=TransformerConfig(
            n_layers=12, d_model=128, n_heads=1, init="gpt2_blocks"
        ),
        training=TrainingConfig(train_examples=2**18, precision="auto"),
        seed=seed,
    )


def composition(
    asked: tuple[int, ...] = (1, 2, 4), steps: int = 1_500, seed: int = 0
) -> RunConfig:
    """k-fold composition with a layer more than the ⌊log2 k⌋ + 1 of Wang et al. 2025,
    theorem 1.

    Trained as `hops` is, but for four times the sequences a step and half of Muon's
    rate: hops are found more surely (docs/experiments/khop.md).
    """
    base = hops(asked, steps, seed)
    model = replace(base.model, causal=False)
    training = replace(base.training, batch_size=64, matrix_learning_rate=0.01)
    return replace(base, task=Composition(asked=asked), model=model, training=training)


def by_seed(config: RunConfig, seeds: Iterable[int]) -> Configs:
    """A config with every seed, by name."""
    return {f"seed={seed}": replace(config, seed=seed) for seed in seeds}


def moving(
    curriculum: Trained, steps: int, rate: float, batch: int, **more: Any
) -> TrainingConfig:
    """Training that moves some of the weights, on fresh sequences and without decay."""
    known: dict[str, Any] = {
        "train_examples": None,
        "weight_decay": 0.0,
        "eval_examples": 256,
    }
    known |= {"steps": steps, "learning_rate": rate, "batch_size": batch, **more}
    return TrainingConfig(curriculum=curriculum, **known)


def crossed(
    layers: Iterable[int], seeds: Iterable[int], config: Callable[[int, int], RunConfig]
) -> Configs:
    """A config for all numbers of layers and all seeds, by name."""
    seeds = tuple(seeds)
    return {
        f"layers={n},seed={seed}": config(n, seed) for n in layers for seed in seeds
    }


def roomy(depth: int, seed: int) -> RunConfig:
    """The recipe `fast` with D + 3 layers, so that there are more heads than it takes.

    Up to three hops it cools down in 1600 steps, 100 fewer than `fast` with as many
    layers.
    """
    config = fast(depth, seed, n_layers=depth + 3)
    cooldown = 1_600 if depth <= 3 else config.training.cooldown_steps
    return replace(config, training=replace(config.training, cooldown_steps=cooldown))


def smoke(layers: int, seed: int) -> RunConfig:
    """One hop between two chains, which a model of two layers learns in seconds."""
    base = fast(1, seed)
    training = replace(
        base.training,
        steps=400,
        batch_size=64,
        patience=0,
        cooldown_steps=200,
        stop_below=0.02,
        checkpoint_every=40,
        eval_examples=128,
    )
    task = Retrieval(depth=1, n_chains=2, position_code="pair", position_base=None)
    model = replace(base.model, n_layers=layers, d_model=32, d_mlp=32)
    return replace(base, task=task, model=model, training=training)


def base(scale: str, depth: int, seed: int) -> RunConfig:
    """The retrieval problem at a scale: `roomy`, the recipe `paper`, or too short to
    learn.
    """
    if scale == "smoke":
        short = {
            "training.steps": 30,
            "training.cooldown_steps": 10,
            "task.depth": depth,
        }
        return changed(smoke(3, seed), {**short, "training.checkpoint_every": 0})
    return paper(depth, seed) if scale == "paper" else roomy(depth, seed)
