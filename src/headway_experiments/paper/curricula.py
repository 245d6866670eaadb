"""Eleven ways to ask for a chain of three hops, and the heads that emerge."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from headway.dynamics import EMERGES_AT, hop_steps
from headway.fields import natural
from headway.recipes import changed
from headway.training import Curriculum, Implicit, Mixture, Run, evaluate, generator_for
from headway_experiments.curricula import (
    FinalHop,
    FinalMixture,
    Gaps,
    Growing,
    PerLayer,
    Scheduled,
)
from headway_experiments.experiment import (
    Configs,
    Drawn,
    Experiment,
    Group,
    Measures,
    Runs,
)
from headway_experiments.figures import Panel, draw_panels, run_curves
from headway_experiments.reading import grouped
from headway_experiments.recipes import base

WAYS: dict[str, Curriculum] = {
    "concatenated": Implicit(),
    "concatenated+mixture": Mixture(),
    "concatenated+rising": Growing(),
    "gap": Gaps((1, 3)),
    "near-to-far": Scheduled("rising"),
    "far-to-near": Scheduled("falling"),
    "random-target": Scheduled("random"),
    "mixture": FinalMixture(),
    "easy-to-hard": Growing(final=True),
    "by-layers": PerLayer(),
    "none": FinalHop(),
}
"""Ways to ask for a chain of three hops.

`concatenated` is the paper's implicit curriculum: x_1, x_2 and x_3 side by side; with
`mixture` and `rising` in sequences of all depths, or ever deeper ones. `gap` asks for
x_1 and x_3 only, `near-to-far` first for x_1, then for x_2 too, and so on,
`far-to-near` the other way round, and `random-target` for one of the three at every
step. `mixture` and `easy-to-hard` ask only for the last symbol of sequences of all
depths, or ever deeper ones. `by-layers` asks only for x_3 at the end, but has x_1 and
x_2 read out of the layers below. `none` asks for x_3 alone.
"""


TO_THE_END: dict[str, Any] = {
    "training.steps": 3_000,
    "training.patience": 0,
    "training.stop_below": 0.04,
    "training.checkpoint_every": 0,
}
"""The setting at small scale: no run is given up before its end."""


def runs_of(scale: str) -> Configs:
    """Three hops, asked for in every one of `WAYS`, in one attempt."""
    sizes = {"paper": (range(3), {}), "small": (range(3), TO_THE_END)}
    seeds, alike = sizes.get(scale, (range(1), {"task.depth": 3}))
    configs: Configs = {}
    for way, curriculum in WAYS.items():
        if scale == "smoke" and isinstance(curriculum, Growing | Scheduled):
            curriculum = replace(curriculum, every=5)  # stages of five steps
        for seed in seeds:
            changes = {**alike, "training.curriculum": curriculum}
            configs[f"{way},seed={seed}"] = changed(base(scale, 3, seed), changes)
    return configs


def measured(runs: Runs) -> Measures:
    """The loss of the answer at the end, and when every hop was learnt, by way of
    asking.

    If only the last symbol is asked for, in sequences of several depths, the final loss
    at every depth is measured, too: it shows what was learnt before the answer.
    """
    by_way: Measures = {f"curriculum_{way}": {} for way in WAYS}
    steps = {}
    by_depth = dict[str, float]()
    for name, run in runs.items():
        way, seed = name.split(",")
        metrics = run.metrics()
        hops = run.task.hops
        last = metrics[-1]["partial"]
        by_way[f"curriculum_{way}"][seed] = last[hops[-1]]
        for hop, step in hop_steps(metrics, hops).items():
            if step is not None:
                steps[f"{way} {hop} {seed}"] = step
        curriculum = run.config.training.curriculum
        is_final = isinstance(curriculum, Growing) and curriculum.final
        if is_final or isinstance(curriculum, FinalMixture):
            for depth, loss in _losses_by_depth(run).items():
                by_depth[f"{way} D={depth} {seed}"] = loss
    return {**by_way, "curriculum_steps": steps, "curriculum_by_depth": by_depth}


def _losses_by_depth(run: Run) -> dict[int, float]:
    """The loss of a run's model on sequences of each depth that it was taught."""
    task = run.task
    model = run.transformer()
    count = run.config.training.eval_examples
    draws = task.draw(count, generator_for("cpu", run.config.seed, "by depth"))
    losses = {}
    for depth in range(1, task.n_depths + 1):
        batch = task.shallower(draws, depth)
        losses[depth] = evaluate(model, task, batch).mean().item()
    return losses


def drawn(runs: Runs) -> Drawn:
    """The partial losses of every way of asking."""
    ways = grouped((name.partition(",")[0], run) for name, run in runs.items())
    figure = draw_panels(hop_panels(ways), 4, shared=True)
    return {
        "curricula": ("Partial losses against the step, by the way of asking", figure)
    }


def hop_panels(ways: Mapping[str, Sequence[Run]]) -> list[Panel]:
    """A panel per way of asking: the partial losses of all its runs against the step.

    The axis ends a little above the loss of guessing: the loss of a hop that is not
    asked for yet can be far larger, and is cut off.
    """
    hops = set()
    guesses = list[float]()
    for several in ways.values():
        for run in several:
            hops.update(run.task.hops)
            guesses += run.task.references().values()
    in_order = sorted(hops, key=natural)
    limits = {"ylim": (0, 1.08 * max(guesses))}
    panels = []
    for way, several in ways.items():
        series = [curve for run in several for curve in run_curves(run, in_order)]
        panels.append(
            Panel(way, series, y="loss", levels={"": EMERGES_AT}, limits=limits)
        )
    return panels


RUNS = Group("curricula", "ways to ask for three hops", runs_of)
TITLE = "what makes a head emerge, and when: eleven ways to ask for three hops"
EXPERIMENTS = (Experiment(__file__, "curricula", TITLE, (RUNS,), measured, drawn),)
