"""The layers that four hops take, over facts that are known by heart or written out.

Both tasks compose permutations: `Named` gives their names, and `Composition` writes
them out.
"""

from dataclasses import replace
from itertools import product
from typing import Any

from headway.recipes import changed
from headway.tasks import SeveralHops
from headway.training import Run, RunConfig, held_out, predictions
from headway_experiments.experiment import Configs, Experiment, Group, Measures, Runs
from headway_experiments.paper.ways import HALF, alone
from headway_experiments.reading import task_of
from headway_experiments.recipes import composition
from headway_experiments.tasks import Composition, Named

SOLVED = 0.9
"""The accuracy at which k hops count as solved; where maps are named, in held-out
beginnings.
"""

SEEDS = range(3100, 3110)
"""The seeds of the judged runs; the setting was chosen with seed 2000."""

ASKED = {"all": (1, 2, 3, 4), "doubling": (1, 2, 4), "ends": (1, 4)}
"""The k that are asked for."""

FACTS = "named", "written"
LAYERS = 3, 4, 5
"""Doubling takes three for four hops, and a hop a layer four."""

SETTING: dict[str, Any] = {
    "training.warmup_steps": 20,
    "training.cooldown_steps": 0,
    "training.stop_below": 0.05,
    "training.checkpoint_every": 0,
}
"""Beside the recipe `composition`."""

NAMED: dict[str, Any] = {
    "training.batch_size": 128,
    "training.weight_decay": 0.1,
    "training.matrix_learning_rate": 0.02,
}
"""The setting; runs on named maps take half as many steps more."""


def config(facts: str, asked: str, layers: int, seed: int, steps: int) -> RunConfig:
    """A run, whose facts are `named` or `written`."""
    ks = ASKED[asked]
    setting = {**SETTING, "model.n_layers": layers}
    if facts == "named":
        task = Named(asked=ks, facts=seed)
        setting |= NAMED
        steps += steps // 2
    else:
        task = Composition(asked=ks, n_symbols=4, hidden=None)
    base = replace(composition(ks, steps, seed), task=task)
    return changed(base, setting)


def runs_of(scale: str) -> Configs:
    """All settings of a seed before the next seed; one hop and four alone in the most
    layers.
    """
    most = LAYERS[-1]
    sizes = {"smoke": (range(1), 20), "small": (SEEDS, 1_000), "paper": (SEEDS, 20_000)}
    seeds, steps = sizes[scale]
    configs: Configs = {}
    for seed, layers, facts in product(seeds, LAYERS, FACTS):
        if scale == "smoke" and layers != most:
            continue
        for asked in ASKED:
            if asked != "ends" or layers == most:
                name = f"{facts},{asked},layers={layers},seed={seed}"
                configs[name] = config(facts, asked, layers, seed, steps)
    return configs


def measured(runs: Runs) -> Measures:
    """Accuracies by k, and the layers that four hops take.

    `heart_FACTS_ASKED` is the least number of layers with which models of a seed solve
    four hops; if none does, one more than the most that were tried. `heart_FACTS_used`
    is, for models with the most layers that were asked for all k and solve four hops,
    the number of layers that they depend on.
    """
    measures: Measures = {"heart_accuracy": {}, "heart_ends": {}}
    for facts in FACTS:
        for which in ("all", "doubling", "used"):
            measures[f"heart_{facts}_{which}"] = {}
    most = LAYERS[-1]
    for name, run in runs.items():
        facts, asked, _, seed = name.split(",")
        right = accuracies(run)
        layers = run.config.transformer.n_layers
        for k, share in right.items():
            measures["heart_accuracy"][f"{name} k={k}"] = share
        is_solved = right[4] >= SOLVED
        if asked == "ends":
            measures["heart_ends"][name] = float(is_solved)
            continue
        least = measures[f"heart_{facts}_{asked}"]
        needed = layers if is_solved else most + 1
        least[seed] = min(needed, least.get(seed, most + 1))
        if is_solved and asked == "all" and layers == most:
            measures[f"heart_{facts}_used"][name] = used(run)
    return measures


def accuracies(run: Run, without: int | None = None) -> dict[int, float]:
    """The share of right answers by k; where maps are named, in held-out beginnings.

    Args:
        run: the run.
        without: a layer that is to attend to no other position.
    """
    task = task_of(run.config, SeveralHops)
    if isinstance(task, Named):
        task = replace(task, beginnings="held out")
    tap = None if without is None else alone(without)
    batch = held_out(task, 512, run.config.seed, run.device, "by heart")
    outputs = predictions(run.transformer(), batch, tap)
    right = task.targets.accuracies(outputs, batch.targets)
    return dict(zip(task.asked, right.tolist(), strict=True))


def used(run: Run) -> int:
    """The layers without whose attention four hops lose half of what is right above a
    guess.
    """
    guess = 1 / task_of(run.config, SeveralHops).n_symbols
    learnt = accuracies(run)[4] - guess
    least = guess + (1 - HALF) * learnt
    layers = range(run.config.transformer.n_layers)
    by_layer = [accuracies(run, layer)[4] for layer in layers]
    return sum(accuracy <= least for accuracy in by_layer)


RUNS = Group("by-heart", "maps named or written out, by layers", runs_of)
TITLE = "the layers that k hops take, over facts that are known by heart or written out"
EXPERIMENTS = (Experiment(__file__, "by-heart", TITLE, (RUNS,), measured),)
