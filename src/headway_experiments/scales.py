"""Parts that the settings of several experiments share."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from headway.recipes import changed
from headway.tasks import Retrieval
from headway.training import RunConfig, fast
from headway_experiments.experiment import Configs
from headway_experiments.recipes import paper


def crossed(
    layers: Iterable[int], seeds: Iterable[int], config: Callable[[int, int], RunConfig]
) -> Configs:
    """A config for all numbers of layers and all seeds, by name."""
    seeds = tuple(seeds)
    return {f"layers={n},seed={seed}": config(n, seed) for n in layers for seed in seeds}


def roomy(depth: int, seed: int) -> RunConfig:
    """The recipe `fast` with D + 3 layers, so that there are more heads than it takes.

    Up to three hops it cools down in 1600 steps, 100 fewer than `fast` with as many layers.
    """
    config = fast(depth, seed, n_layers=depth + 3)
    cooldown = 1_600 if depth <= 3 else config.training.cooldown_steps
    return replace(config, training=replace(config.training, cooldown_steps=cooldown))


def smoke(layers: int, seed: int) -> RunConfig:
    """One hop between two chains, which a model of two layers learns in seconds."""
    base = fast(1, seed)
    return replace(
        base,
        task=Retrieval(depth=1, n_chains=2, position_code="pair", position_base=None),
        model=replace(base.model, n_layers=layers, d_model=32, d_mlp=32),
        training=replace(
            base.training,
            steps=400,
            batch_size=64,
            patience=0,
            cooldown_steps=200,
            stop_below=0.02,
            checkpoint_every=40,
            eval_examples=128,
        ),
    )


def base(scale: str, depth: int, seed: int) -> RunConfig:
    """The retrieval problem at a scale: `roomy`, the recipe `paper`, or too short to learn."""
    if scale == "smoke":
        short = {
            "training.steps": 30,
            "training.cooldown_steps": 10,
            "training.checkpoint_every": 0,
        }
        return changed(smoke(3, seed), {**short, "task.depth": depth})
    return paper(depth, seed) if scale == "paper" else roomy(depth, seed)
