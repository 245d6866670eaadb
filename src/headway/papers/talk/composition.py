"""k-fold composition, and which curriculum it takes (Wang, Nichani et al. 2025, arXiv 2505.23683).

Trained as the recipe `composition` trains: at every place of every sequence.
"""

from dataclasses import dataclass

from headway.changes import changed
from headway.papers.claims import claims_beside
from headway.papers.experiment import Configs, Experiment, Group
from headway.papers.talk import composition_drawings as drawings
from headway.papers.talk.measures import composition as measures
from headway.training import RunConfig
from headway.training.curriculum import Curriculum, Implicit, Scheduled
from headway.training.recipes import composition


@dataclass(frozen=True)
class Size:
    """How large the problem is, at a scale.

    Attributes:
        symbols: N to try; the last is the one that all k are asked for one after the other, too.
        together: the k that are asked together.
        alone: those that are asked alone, too.
        seeds: of every way of asking.
        steps: of training, at most: a run ends when its loss is below 0.01.
    """

    symbols: tuple[int, ...]
    together: tuple[int, ...]
    alone: tuple[int, ...]
    seeds: int
    steps: int


SIZES = {
    "paper": Size((3, 4, 5, 8), (1, 2, 4, 8), (1, 2, 3, 4, 5, 8), 5, 20_000),
    "small": Size((3, 4, 5), (1, 2, 4), (1, 2, 3, 4), 3, 2_500),
    "smoke": Size((2, 3), (1, 2), (1, 2), 1, 60),
}


def curricula(scale: str) -> Configs:
    """Every k alone; several at once; and one after the other."""
    size = SIZES[scale]
    ways = {**{f"k={k}": (k,) for k in size.alone}, "mixture": size.together}
    planned: list[tuple[int, str, tuple[int, ...], Curriculum]] = [
        (n, way, asked, Implicit()) for n in size.symbols for way, asked in ways.items()
    ]
    one_by_one = Scheduled("rising", every=max(1, size.steps // (2 * len(size.together))))
    planned.append((size.symbols[-1], "easy-to-hard", size.together, one_by_one))
    return {
        f"N={n},{way},seed={seed}": config(size, n, asked, curriculum, seed)
        for n, way, asked, curriculum in planned
        for seed in range(size.seeds)
    }


def config(
    size: Size, symbols: int, asked: tuple[int, ...], curriculum: Curriculum, seed: int
) -> RunConfig:
    """A run of the model that the largest k takes, with hidden permutations of its own.

    Hops that rise are all asked in the second half of the steps. There is no warm-up, in which
    steps would count for less than later ones.
    """
    fields = {
        "task.asked": asked,
        "task.n_symbols": symbols,
        "task.hidden": seed,
        "training.curriculum": curriculum,
        "training.warmup_steps": 0,
        "training.eval_every": 10,
        "training.eval_examples": 128,
        "training.checkpoint_every": 0,
    }
    return changed(composition(size.together, size.steps, seed), fields)


EXPERIMENTS = (
    Experiment(
        "khop-curriculum",
        "k-fold composition asked for alone, for all k at once, or one after the other",
        (
            Group(
                "khop-curriculum",
                "k-fold composition, by what is asked",
                curricula,
                seeded=("seed", "task.hidden"),
            ),
        ),
        lambda runs: measures.curricula(runs["khop-curriculum"]),
        drawings.curricula,
        claims_beside(__file__, "khop-curriculum"),
    ),
)
