"""Runs that belong together, planned for each of three scales."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from headway.circuits.discovery import THRESHOLD
from headway.tasks import RetrievalConfig
from headway.training import RunConfig, fast

Configs = dict[str, RunConfig]


@dataclass(frozen=True)
class Group:
    """Runs that belong together.

    Attributes:
        name: of the folder that they lie in.
        about: what they are, in a few words.
        plan: the config of every run by name, at a scale.
        taken_apart: whether their circuits are found and dated.
        threshold: the loss that circuits are to stay below, if so.
    """

    name: str
    about: str
    plan: Callable[[str], Configs]
    taken_apart: bool = False
    threshold: float = THRESHOLD


def crossed(
    layers: Iterable[int], seeds: Iterable[int], config: Callable[[int, int], RunConfig]
) -> Configs:
    """A config for all numbers of layers and all seeds, by name."""
    seeds = tuple(seeds)
    return {f"layers={n},seed={seed}": config(n, seed) for n in layers for seed in seeds}


def smoke(layers: int, seed: int) -> RunConfig:
    """One hop between two chains, which a model of two layers learns in seconds."""
    base = fast(1, seed, mixture=False)
    return replace(
        base,
        task=RetrievalConfig(depth=1, n_chains=2, position_code="pair", position_base=None),
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
