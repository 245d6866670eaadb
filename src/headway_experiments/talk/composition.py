"""k-fold composition, and the curriculum that it needs (Wang, Nichani et al. 2025,
arXiv 2505.23683).

Trained as the recipe `composition` trains: at every place of every sequence.
"""

from typing import Any

from headway.dynamics import hop_steps
from headway.recipes import changed
from headway.training import Curriculum, Implicit, Run, held_out
from headway_experiments.curricula import Scheduled
from headway_experiments.experiment import (
    Configs,
    Drawn,
    Experiment,
    Group,
    Measures,
    Runs,
)
from headway_experiments.figures import draw_panels
from headway_experiments.paper.curricula import hop_panels
from headway_experiments.reading import accuracies, in_order, task_of
from headway_experiments.recipes import composition
from headway_experiments.tasks import Composition

HARDEST = {"alone": "hard_only", "mixture": "mixture", "easy-to-hard": "easy_to_hard"}
"""The name of the accuracy of the largest k, by way of asking."""
KINDS = (*HARDEST.values(), "steps", "in_order", "growth", "times_linear")


SIZES: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int, int]] = {
    "paper": ((3, 4, 5, 8), (1, 2, 4, 8), (1, 2, 3, 4, 5, 8), 5, 20_000),
    "small": ((3, 4, 5), (1, 2, 4), (1, 2, 3, 4), 10, 2_500),
    "smoke": ((2, 3), (1, 2), (1, 2), 1, 60),
}
"""By scale the N to try, the k that are asked together, and alone, seeds, and the most
steps. With the last N all k are also asked for one after the other. A run ends when its
loss is below 0.01."""


def curricula(scale: str) -> Configs:
    """Every k alone; several at once; and one after the other."""
    symbols, together, alone, seeds, steps = SIZES[scale]
    ways: dict[str, tuple[int, ...]] = {f"k={k}": (k,) for k in alone}
    ways["mixture"] = together
    half_in_parts = steps // (2 * len(together))
    one_by_one = Scheduled("rising", every=max(1, half_in_parts))
    configs: Configs = {}

    def plan(n: int, way: str, asked: tuple[int, ...], curriculum: Curriculum) -> None:
        for seed in range(seeds):
            base = composition(together, steps, seed)
            changes = fields(n, asked, curriculum, seed)
            configs[f"N={n},{way},seed={seed}"] = changed(base, changes)

    for n in symbols:
        for way, asked in ways.items():
            plan(n, way, asked, Implicit())
    plan(symbols[-1], "easy-to-hard", together, one_by_one)
    return configs


def fields(
    symbols: int, asked: tuple[int, ...], curriculum: Curriculum, seed: int
) -> dict[str, Any]:
    """The fields of a run of the model that the largest k takes, with hidden
    permutations of its own.

    Hops that rise are all asked in the second half of the steps. There is no warm-up,
    in which steps would count for less than later ones.
    """
    return {
        "task.asked": asked,
        "task.n_symbols": symbols,
        "task.hidden": seed,
        "training.curriculum": curriculum,
        "training.warmup_steps": 0,
        "training.eval_every": 10,
        "training.eval_examples": 128,
        "training.checkpoint_every": 0,
    }


def way_of(run: Run) -> str:
    """The way in which a run is asked for its hops: one k alone, several at once, or
    one by one.
    """
    if isinstance(run.config.training.curriculum, Scheduled):
        return "easy-to-hard"
    return "alone" if run.task.n_hops == 1 else "mixture"


def asked(run: Run) -> tuple[int, ...]:
    """The k that a run is asked for."""
    return task_of(run.config, Composition).asked


def problem(run: Run) -> tuple[int, int]:
    """N, and the largest k that a run is asked for."""
    return task_of(run.config, Composition).n_symbols, asked(run)[-1]


def learnt(run: Run) -> dict[int, float]:
    """The step at which each k was learnt (its loss passes below 0.5), if it was."""
    steps = hop_steps(run.metrics(), run.task.hops).values()
    dated = zip(asked(run), steps, strict=True)
    return {k: step for k, step in dated if step is not None}


def measured(runs: Runs) -> Measures:
    """Accuracies of the largest k with the most symbols, by way of asking; steps;
    orders; growth.

    Growth compares the steps of the largest k with those of one hop: per further hop,
    (t_K / t_1)^(1 / (K - 1)), and against K times as many, t_K / (K t_1). A k that is
    never learnt counts with all steps that were made, so growth is then at least so
    much. A mixture that learns nothing is not in order.
    """
    hardest = _hardest(runs)
    times: dict[str, dict[int, float]] = {}
    measures: Measures = {f"composition_{kind}": {} for kind in KINDS}
    for name, run in runs.items():
        way = way_of(run)
        dated = learnt(run)
        which = f"N={problem(run)[0]},seed={run.config.seed}"
        if problem(run) == hardest:
            measures[f"composition_{HARDEST[way]}"][name] = last_accuracy(run)
        for k, step in dated.items():
            measures["composition_steps"][f"k={k},{way},{which}"] = step
        taken = {k: dated.get(k, run.config.training.steps) for k in asked(run)}
        if way == "alone":
            times.setdefault(which, {}).update(taken)
        if way == "mixture":
            most = max(taken)
            measures["composition_in_order"][name] = in_order(run) or 0.0
            measures["composition_times_linear"][which] = taken[most] / (
                most * taken[1]
            )
    for which, taken in times.items():
        most = max(taken)
        if most == 1 or 1 not in taken:
            continue  # A run is missing, as one that failed.
        growth = taken[most] / taken[1]
        measures["composition_growth"][which] = growth ** (1 / (most - 1))
    return measures


def _hardest(runs: Runs) -> tuple[int, int] | None:
    """The hardest problem that some run had with all k at once."""
    problems = [problem(run) for run in runs.values() if way_of(run) == "mixture"]
    return max(problems, default=None)


def last_accuracy(run: Run) -> float:
    """The accuracy of the largest k that a model is asked for."""
    batch = held_out(run.task, 512, run.config.seed, run.device, "accuracy")
    return accuracies(run, batch)[run.task.hops[-1]]


def drawn(runs: Runs) -> Drawn:
    """The partial losses by way of asking for the largest k, with the most symbols."""
    hardest = _hardest(runs)
    if hardest is None:
        return {}
    panels: dict[str, list[Run]] = {}
    for run in runs.values():
        if problem(run) == hardest:
            way = way_of(run)
            title = f"k = {hardest[1]} alone" if way == "alone" else way
            panels.setdefault(title, []).append(run)
    figure = draw_panels(hop_panels(panels), 4, shared=True)
    return {"khop-curriculum": ("Hops learned, by what is asked", figure)}


SEEDED = "seed", "task.hidden"
RUNS = Group(
    "khop-curriculum", "k-fold composition, by what is asked", curricula, seeded=SEEDED
)
TITLE = "k-fold composition asked for alone, for all k at once, or one after the other"
EXPERIMENTS = (
    Experiment(__file__, "khop-curriculum", TITLE, (RUNS,), measured, drawn),
)
