"""The k-hop problem: how many layers it takes (Sanford, Hsu and Telgarsky 2024, arXiv 2402.09268),
and which curriculum (Wang, Nichani et al. 2025, arXiv 2505.23683).

Trained as `fast` trains, with Muon, on fresh sequences that ask for hop_k at every place.
"""

from collections.abc import Sequence
from typing import Literal

from headway.models import TransformerConfig
from headway.papers.experiment import Experiment
from headway.papers.setups.group import Configs, Group
from headway.papers.talk import khop_drawings as drawings
from headway.papers.talk.measures import khop as measures
from headway.tasks import HopsConfig
from headway.training import RunConfig, TrainingConfig

Depths = Literal["full", "mixture", "rising"]


def by_layers(scale: str) -> Configs:
    """All k at once, with every number of layers.

    Small: 64 places instead of 100, k = 1, 2, 4, 8, the thresholds up to 8, instead of 1 to 16.
    """
    match scale:
        case "paper":
            hops, layers, seeds = tuple(range(1, 17)), range(1, 7), range(5)
            return {
                f"layers={n},seed={seed}": config(hops, n, seed, 10_000, places=100, width=128)
                for n in layers
                for seed in seeds
            }
        case "small":
            return {
                f"layers={n},seed={seed}": config((1, 2, 4, 8), n, seed, 2_200)
                for n in range(1, 6)
                for seed in range(3)
            }
        case _:
            return {
                f"layers={n},seed=0": config((1, 2), n, 0, 120, places=16, width=32) for n in (1, 3)
            }


WAYS: dict[str, tuple[bool, Depths]] = {
    "hard-only": (False, "full"),
    "mixture": (True, "full"),
    "easy-to-hard": (True, "rising"),
}
"""Ways to ask for hop_k: whether fewer hops are asked too, and when."""


def curricula(scale: str) -> Configs:
    """k hops with just the layers that they take, asked alone or with fewer hops.

    Small: k = 4 and 64 places.
    """
    match scale:
        case "paper":
            hops, layers, seeds = (1, 2, 4, 8), 5, range(5)
            more = {"steps": 10_000, "places": 100, "width": 128}
        case "small":
            hops, layers, seeds, more = (1, 2, 4), 4, range(3), {"steps": 1_200}
        case _:
            hops, layers, seeds = (1, 2), 3, range(1)
            more = {"steps": 120, "places": 16, "width": 32}
    return {
        f"{way},seed={seed}": config(
            hops if fewer else hops[-1:], layers, seed, depths=depths, **more
        )
        for way, (fewer, depths) in WAYS.items()
        for seed in seeds
    }


def config(
    hops: Sequence[int],
    layers: int,
    seed: int,
    steps: int,
    places: int = 64,
    width: int = 64,
    depths: Depths = "full",
) -> RunConfig:
    """A run; if the k rise, one more is asked after every fifth of the first half of the steps."""
    return RunConfig(
        task=HopsConfig(hops=tuple(hops), n_places=places),
        model=TransformerConfig(layers, width, 4, d_mlp=2 * width, init="fan_in"),
        training=TrainingConfig(
            steps=steps,
            batch_size=16,
            train_examples=None,
            depths=depths,
            rising_every=steps // (2 * len(hops)),
            optimizer="muon",
            learning_rate=3e-3,
            weight_decay=0.01,
            warmup_steps=steps // 30,
            cooldown_steps=steps // 3,
            stop_below=0.01,
            eval_every=50,
            eval_examples=256,
            checkpoint_every=0,
        ),
        seed=seed,
    )


EXPERIMENTS = (
    Experiment(
        "khop-depth",
        "k hops against the layers that solve them",
        ("khop-depth",),
        lambda runs: measures.by_layers(runs["khop-depth"]),
        drawings.by_layers,
    ),
    Experiment(
        "khop-curriculum",
        "hops asked alone, together, or one after the other",
        ("khop-curriculum",),
        lambda runs: measures.curricula(runs["khop-curriculum"]),
        drawings.curricula,
    ),
)
GROUPS = (
    Group("khop-depth", "all k at once, by layers", by_layers),
    Group("khop-curriculum", "k asked alone or with fewer", curricula),
)
