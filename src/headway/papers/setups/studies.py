"""The runs of what the paper leaves open: the least layers, curricula, how circuits differ, and how
long heads take to emerge. Scales are as in `printed`."""

from dataclasses import replace
from typing import Any

from headway.changes import changed
from headway.papers import depths
from headway.papers.setups.group import Configs, Group, crossed, roomy, smoke
from headway.training import RunConfig
from headway.training.curriculum import (
    Curriculum,
    FinalHop,
    Growing,
    Implicit,
    Mixture,
    PerLayer,
    Scheduled,
)
from headway.training.recipes import paper

WAYS: dict[str, Curriculum] = {
    "concatenated": Implicit(),
    "concatenated+mixture": Mixture(),
    "concatenated+rising": Growing(),
    "gap": Implicit(hops=(1, 3)),
    "near-to-far": Scheduled("rising"),
    "far-to-near": Scheduled("falling"),
    "random-target": Scheduled("random"),
    "mixture": Mixture(final=True),
    "easy-to-hard": Growing(final=True),
    "by-layers": PerLayer(),
    "none": FinalHop(),
}
"""Ways to ask for a chain of three hops.

`concatenated` is the paper's implicit curriculum: x_1, x_2 and x_3 side by side; with `mixture` and
`rising` in sequences of all depths, or ever deeper ones. `gap` asks for x_1 and x_3 only,
`near-to-far` first for x_1, then for x_2 too, and so on, `far-to-near` the other way round, and
`random-target` for one of the three at every step. `mixture` and `easy-to-hard` ask only for the
last symbol of sequences of all depths, or ever deeper ones. `by-layers` asks only for x_3 at the
end, but has x_1 and x_2 read out of the layers below. `none` asks for x_3 alone.
"""

SIZES: dict[str, dict[str, Any]] = {
    "usual": {},
    "layers=8": {"model.n_layers": 8},
    "width=32": {"model.d_model": 32, "model.d_mlp": 32},
    "heads=2": {"model.n_heads": 2},
}
"""Models whose circuits are compared, as changes of a config."""


def first_steps(scale: str) -> Configs:
    """Four layers and two hops, with and without the implicit curriculum."""
    ways = {"ic": Implicit(), "non-ic": FinalHop()}
    match scale:
        case "paper":
            seeds, four = range(8), {"model.n_layers": 4}
        case "small":
            seeds, four = range(3), {"model.n_layers": 4}
        case _:
            seeds, four = range(1), {}
    return {
        f"{way},seed={seed}": changed(
            _base(scale, 2, seed), {**four, "training.curriculum": curriculum}
        )
        for way, curriculum in ways.items()
        for seed in seeds
    }


def depths_against_layers(scale: str) -> Configs:
    """One to five hops against the layers, one head a layer: those of `headway depths`."""
    match scale:
        case "paper":
            return {
                f"depth={depth},layers={n},seed={seed}": changed(
                    paper(depth, seed), {"model.n_layers": n}
                )
                for depth in range(1, 6)
                for n in range(1, 9)
                for seed in range(3)
            }
        case "small":
            return dict(depths.plan().runs)
        case _:
            return crossed((1, 2), (0,), smoke)


def curricula(scale: str) -> Configs:
    """Three hops, asked for in every one of `WAYS`, in one attempt."""
    match scale:
        case "paper":
            seeds, alike = range(3), {}
        case "small":
            once = {"training.steps": 3_000, "training.patience": 0, "training.stop_below": 0.04}
            seeds, alike = range(3), {**once, "training.checkpoint_every": 0}
        case _:
            seeds, alike = range(1), {"task.depth": 3}
    ways = {way: _hastened(c) if scale == "smoke" else c for way, c in WAYS.items()}
    return {
        f"{way},seed={seed}": changed(
            _base(scale, 3, seed), {**alike, "training.curriculum": curriculum}
        )
        for way, curriculum in ways.items()
        for seed in seeds
    }


def _hastened(curriculum: Curriculum) -> Curriculum:
    """The same with stages of five steps, if it has stages."""
    staged = isinstance(curriculum, Growing | Scheduled)
    return replace(curriculum, every=5) if staged else curriculum


def circuits(scale: str) -> Configs:
    """Two hops, twenty seeds of one model and five each of others (`SIZES`)."""
    match scale:
        case "paper":
            counts = {size: 20 if size == "usual" else 5 for size in SIZES}
        case "small":
            counts = {size: 20 if size == "usual" else 5 for size in SIZES}
        case _:
            return {f"usual,seed={seed}": smoke(3, seed) for seed in (1, 2)}
    return {
        f"{size},seed={seed}": changed(_base(scale, 2, seed), SIZES[size])
        for size, count in counts.items()
        for seed in range(count)
    }


def lengths(scale: str) -> Configs:
    """One hop in sequences of ever more chains, at constant rates, until it is learnt."""
    match scale:
        case "paper":
            return {
                f"chains={n},seed={seed}": changed(
                    paper(1, seed), {"task.n_chains": n, "training.stop_below": 0.1}
                )
                for n in (2, 4, 8, 16, 32)
                for seed in range(8)
            }
        case "small":
            chains, seeds = (2, 4, 8, 16), range(4)
        case _:
            chains, seeds = (2, 3), range(1)
    constant = {
        "training.steps": 1_500,
        "training.patience": 0,
        "training.cooldown_below": 0.0,
        "training.cooldown_steps": 0,
        "training.stop_below": 0.1,
        "training.eval_every": 10,
        "training.eval_examples": 256,
        "training.checkpoint_every": 0,
    }
    base = smoke if scale == "smoke" else lambda layers, seed: roomy(layers - 3, seed)
    return {
        f"chains={n},seed={seed}": changed(base(4, seed), {**constant, "task.n_chains": n})
        for n in chains
        for seed in seeds
    }


STUDIES = (
    Group("first-steps", "four layers, two hops, with and without the curriculum", first_steps),
    Group("depths", "hops against layers", depths_against_layers),
    Group("curricula", "ways to ask for three hops", curricula),
    Group("circuits", "twenty seeds, and other shapes", circuits, taken_apart=True),
    Group("lengths", "one hop among ever more chains", lengths),
)


def _base(scale: str, depth: int, seed: int) -> RunConfig:
    if scale == "smoke":
        short = {
            "training.steps": 30,
            "training.cooldown_steps": 10,
            "training.checkpoint_every": 0,
        }
        return changed(smoke(3, seed), {**short, "task.depth": depth})
    return paper(depth, seed) if scale == "paper" else roomy(depth, seed)
