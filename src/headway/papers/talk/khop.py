"""The k-hop problem: how many layers it takes (Sanford, Hsu and Telgarsky 2024, arXiv 2402.09268),
and which curriculum (Wang, Nichani et al. 2025, arXiv 2505.23683).

Trained as the recipe `hops` trains; every sequence asks for hop_k at every place.
"""

from dataclasses import dataclass, replace
from typing import Literal

from headway.papers.experiment import Experiment
from headway.papers.setups.group import Configs, Group
from headway.papers.talk import khop_drawings as drawings
from headway.papers.talk.measures import khop as measures
from headway.training import RunConfig
from headway.training.config import changed
from headway.training.recipes import hops

Depths = Literal["full", "mixture", "rising"]


@dataclass(frozen=True)
class Size:
    """How large the problem and the models are, at a scale.

    Attributes:
        hops: the k that are asked.
        layers: to try; the most are as many as the largest k takes.
        seeds: of every number of layers.
        steps: of training, by layers.
        curriculum_steps: the same, by curriculum.
        places: symbols in a sequence.
        width: of the residual stream.
    """

    hops: tuple[int, ...]
    layers: tuple[int, ...]
    seeds: int
    steps: int
    curriculum_steps: int
    places: int
    width: int


SIZES = {
    "paper": Size(tuple(range(1, 17)), (1, 2, 3, 4, 5, 6), 5, 10_000, 10_000, 100, 128),
    "small": Size((1, 2, 4, 8), (1, 2, 3, 4, 5), 3, 4_000, 3_000, 64, 64),
    "smoke": Size((1, 2), (1, 3), 1, 120, 120, 16, 32),
}
"""Small: 64 places instead of 100, and of k = 1 to 16 those up to 8 that take one layer more."""


def by_layers(scale: str) -> Configs:
    """All k in equal parts, with every number of layers.

    Two heads a layer: with more, a layer gathers so many places around each that two layers come
    near to solving two hops. The cool-down is half of the steps: in it eight hops become exact.
    """
    size = SIZES[scale]
    fields = {"model.n_heads": 2, "training.cooldown_steps": size.steps // 2}
    return {
        f"layers={layers},seed={seed}": changed(config(size, size.hops, layers, seed), fields)
        for layers in size.layers
        for seed in range(size.seeds)
    }


def curricula(scale: str) -> Configs:
    """The largest k alone, all k in equal parts, and k by k, with the layers that it takes and the
    same steps.

    With more steps the largest k is learnt alone, too (docs/khop.md).
    """
    size = SIZES[scale]
    size = replace(size, steps=size.curriculum_steps)
    ways: dict[str, tuple[tuple[int, ...], Depths]] = {
        "hard-only": (size.hops[-1:], "full"),
        "mixture": (size.hops, "full"),
        "easy-to-hard": (size.hops, "rising"),
    }
    return {
        f"{way},seed={seed}": config(size, asked, size.layers[-1], seed, depths)
        for way, (asked, depths) in ways.items()
        for seed in range(size.seeds)
    }


def config(
    size: Size, asked: tuple[int, ...], layers: int, seed: int, depths: Depths = "full"
) -> RunConfig:
    """A run; if the k rise, they are all asked in the second half of the steps."""
    fields = {
        "task.n_places": size.places,
        "model.n_layers": layers,
        "model.d_model": size.width,
        "model.d_mlp": 2 * size.width,
        "training.depths": depths,
        "training.checkpoint_every": 0,
    }
    return changed(hops(asked, size.steps, seed), fields)


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
    Group("khop-curriculum", "the largest k alone, with others, and k by k", curricula),
)
