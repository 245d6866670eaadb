"""Runs that belong together, planned for each of three scales, and with fresh seeds."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from headway.changes import changed
from headway.circuits.discovery import THRESHOLD
from headway.papers.claims import choosing_below
from headway.tasks import Retrieval
from headway.theory import closed_form
from headway.training import RunConfig, fast
from headway.training.config import flat

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
        seeded: the fields of a config that are its seed, or one of its own.
    """

    name: str
    about: str
    plan: Callable[[str], Configs]
    taken_apart: bool = False
    threshold: float = THRESHOLD
    seeded: tuple[str, ...] = ("seed",)


def fresh(group: Group) -> Configs:
    """The runs of scale `small`, with seeds by which no setting and no rule was chosen.

    Their names tell the new seeds.
    """
    after = choosing_below()

    def renewed(config: RunConfig) -> RunConfig:
        fields = flat(config)
        return changed(config, {name: fields[name] + after for name in group.seeded})

    return {
        re.sub(r"(?<=seed=)\d+", lambda found: str(int(found[0]) + after), name): renewed(config)
        for name, config in group.plan("small").items()
    }


def crossed(
    layers: Iterable[int], seeds: Iterable[int], config: Callable[[int, int], RunConfig]
) -> Configs:
    """A config for all numbers of layers and all seeds, by name."""
    seeds = tuple(seeds)
    return {f"layers={n},seed={seed}": config(n, seed) for n in layers for seed in seeds}


def roomy(depth: int, seed: int) -> RunConfig:
    """The recipe `fast` with D + 3 layers, so that there are more heads than it takes.

    Up to three hops it cools down in 1600 steps: at the flow minimum it takes 100 more.
    """
    config = fast(depth, seed, spare=depth + 3 - closed_form(depth))
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
