"""The layers that k hops take, over facts that are known by heart or written out in the sequence.

Both tasks compose permutations: `Named` gives their names, and `Composition` writes them out. Each
is asked for all k, for those that doubling passes through, or for one hop and four alone.
"""

from dataclasses import replace
from typing import Any

from headway.recipes import changed
from headway.tasks import SeveralHops
from headway.training import Run, RunConfig, held_out, predictions
from headway_experiments.claims import Measures
from headway_experiments.experiment import Configs, Experiment, Group, Runs
from headway_experiments.paper.ways import HALF, alone
from headway_experiments.reading import task_of
from headway_experiments.recipes import composition
from headway_experiments.tasks import Composition, Named

SOLVED = 0.9
"""The accuracy at which k hops count as solved; where maps are named, in held-out beginnings."""

SEEDS = range(3100, 3110)
"""The seeds of the judged runs; the setting was chosen with seed 2000."""

SEQUENCES = 512
"""Sequences that every accuracy is over; no step of the run saw them."""

ASKED = {"all": (1, 2, 3, 4), "doubling": (1, 2, 4), "ends": (1, 4)}
"""The k that are asked for."""

LAYERS = 3, 4, 5
"""Doubling takes three for four hops, and a hop a layer four."""

SETTING: dict[str, Any] = {
    "training.warmup_steps": 20,
    "training.cooldown_steps": 0,
    "training.stop_below": 0.05,
    "training.eval_examples": 256,
    "training.checkpoint_every": 0,
}
NAMED: dict[str, Any] = {
    "training.batch_size": 128,
    "training.weight_decay": 0.1,
    "training.matrix_learning_rate": 0.02,
}
"""Beside the recipe `composition`; and where maps are named, which take half as many steps more."""


def config(named: bool, asked: str, layers: int, seed: int, steps: int) -> RunConfig:
    """A run, with permutations of its own if they are named."""
    ks = ASKED[asked]
    base = composition(ks, steps + steps // 2 if named else steps, seed)
    task = Composition(asked=ks, n_symbols=4, hidden=None)
    own = Named(asked=ks, facts=seed) if named else task
    fields = {**SETTING, **(NAMED if named else {}), "model.n_layers": layers}
    return changed(replace(base, task=own), fields)


def runs_of(scale: str) -> Configs:
    """All settings of a seed before the next seed."""
    seeds, steps = {"smoke": (range(1), 20), "small": (SEEDS, 1_000), "paper": (SEEDS, 20_000)}[
        scale
    ]
    return {
        f"{facts},{asked},layers={layers},seed={seed}": config(
            facts == "named", asked, layers, seed, steps
        )
        for seed in seeds
        for layers in (LAYERS[-1:] if scale == "smoke" else LAYERS)
        for facts in ("named", "written")
        for asked in ASKED
        if asked != "ends" or layers == LAYERS[-1]
    }


def measured(runs: Runs) -> Measures:
    """Accuracies by k, and the layers that four hops take.

    `…_least` is the least number of layers in which models of a seed solve them, or one more than
    the most that there were. `…_used` is the number of layers that models depend on that have the
    most, were asked for all k, and solve them.
    """
    found: Measures = {"heart_accuracy": {}, "heart_ends": {}}
    for name, run in runs.items():
        facts, asked, layers, seed = name.split(",")
        right = accuracies(run)
        ks = task_of(run.config, SeveralHops).asked
        found["heart_accuracy"] |= {f"{name} k={k}": r for k, r in zip(ks, right, strict=True)}
        is_solved = right[-1] >= SOLVED
        if asked == "ends":
            found["heart_ends"][name] = float(is_solved)
            continue
        least = found.setdefault(f"heart_{facts}_{asked}", {})
        own = int(layers[7:]) if is_solved else LAYERS[-1] + 1
        least[seed] = min(own, least.get(seed, own))
        if is_solved and asked == "all" and own == LAYERS[-1]:
            found.setdefault(f"heart_{facts}_used", {})[name] = used(run)
    return found


def accuracies(run: Run, without: int | None = None) -> list[float]:
    """The share of right answers by hop; where maps are named, in held-out beginnings.

    Args:
        run: the run.
        without: a layer that is to attend to no other position.
    """
    task = replace(run.task, beginnings="held out") if isinstance(run.task, Named) else run.task
    batch = held_out(task, SEQUENCES, run.config.seed, run.device, "by heart")
    said = predictions(run.transformer(), batch, None if without is None else alone(without))
    return task.targets.accuracies(said, batch.targets).tolist()


def used(run: Run) -> int:
    """The layers of which four hops lose half of what is right above a guess, if one of them
    attends to no other position."""
    guess = 1 / task_of(run.config, SeveralHops).n_symbols
    layers = range(run.config.transformer.n_layers)
    least = guess + (1 - HALF) * (accuracies(run)[-1] - guess)
    return sum(accuracies(run, layer)[-1] <= least for layer in layers)


RUNS = Group("by-heart", "maps named or written out, by layers", runs_of)
TITLE = "the layers that k hops take, over facts that are known by heart or written out"
EXPERIMENTS = (Experiment(__file__, "by-heart", TITLE, (RUNS,), measured),)
