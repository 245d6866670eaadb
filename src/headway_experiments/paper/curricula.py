"""Eleven ways to ask for a chain of three hops, and the heads that emerge."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from headway.dynamics import EMERGES_AT, hop_steps
from headway.fields import natural
from headway.recipes import changed
from headway.training import Curriculum, Implicit, Mixture, Run, evaluate, generator_for
from headway_experiments.curricula import FinalHop, FinalMixture, Gaps, Growing, PerLayer, Scheduled
from headway_experiments.experiment import Configs, Drawn, Experiment, Group, Measures, Runs
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

`concatenated` is the paper's implicit curriculum: x_1, x_2 and x_3 side by side; with `mixture` and
`rising` in sequences of all depths, or ever deeper ones. `gap` asks for x_1 and x_3 only,
`near-to-far` first for x_1, then for x_2 too, and so on, `far-to-near` the other way round, and
`random-target` for one of the three at every step. `mixture` and `easy-to-hard` ask only for the
last symbol of sequences of all depths, or ever deeper ones. `by-layers` asks only for x_3 at the
end, but has x_1 and x_2 read out of the layers below. `none` asks for x_3 alone.
"""


def runs_of(scale: str) -> Configs:
    """Three hops, asked for in every one of `WAYS`, in one attempt."""
    once = {"training.steps": 3_000, "training.patience": 0, "training.stop_below": 0.04}
    once |= {"training.checkpoint_every": 0}
    sizes = {"paper": (range(3), {}), "small": (range(3), once)}
    seeds, alike = sizes.get(scale, (range(1), {"task.depth": 3}))
    ways = dict(WAYS)
    if scale == "smoke":  # stages of five steps, where there are stages
        staged = {way: c for way, c in ways.items() if isinstance(c, Growing | Scheduled)}
        ways |= {way: replace(curriculum, every=5) for way, curriculum in staged.items()}
    return {
        f"{way},seed={seed}": changed(
            base(scale, 3, seed), {**alike, "training.curriculum": curriculum}
        )
        for way, curriculum in ways.items()
        for seed in seeds
    }


def measured(runs: Runs) -> Measures:
    """The loss of the answer at the end, and when every hop was learnt, by way of asking.

    If only the last symbol is asked for, in sequences of several depths, the final loss at every
    depth is measured, too: it shows what was learnt before the answer.
    """
    measured: Measures = {f"curriculum_{way}": {} for way in WAYS}
    measured |= {"curriculum_steps": {}, "curriculum_by_depth": {}}
    for name, run in runs.items():
        way, seed = name.split(",")
        metrics, hops = run.metrics(), run.task.hops
        measured[f"curriculum_{way}"][seed] = metrics[-1]["partial"][hops[-1]]
        measured["curriculum_steps"] |= {
            f"{way} {hop} {seed}": step
            for hop, step in hop_steps(metrics, hops).items()
            if step is not None
        }
        curriculum = run.config.training.curriculum
        final = isinstance(curriculum, Growing) and curriculum.final
        if final or isinstance(curriculum, FinalMixture):
            task, model = run.task, run.transformer()
            drawn = generator_for("cpu", run.config.seed, "by depth")
            draws = task.draw(run.config.training.eval_examples, drawn)
            for depth in range(1, task.n_depths + 1):
                loss = evaluate(model, task, task.shallower(draws, depth)).mean().item()
                measured["curriculum_by_depth"][f"{way} D={depth} {seed}"] = loss
    return measured


def drawn(runs: Runs) -> Drawn:
    """The partial losses of every way of asking."""
    ways = grouped((name.split(",")[0], run) for name, run in runs.items())
    return {
        "curricula": (
            "Partial losses against the step, by the way of asking",
            draw_panels(hop_panels(ways), 4, shared=True),
        )
    }


def hop_panels(ways: Mapping[str, Sequence[Run]]) -> list[Panel]:
    """A panel per way of asking: the partial losses of all its runs against the step.

    What is not asked for yet can be far worse than guessing, which is not what is to be seen.
    """
    runs = [run for several in ways.values() for run in several]
    hops = sorted({hop for run in runs for hop in run.task.hops}, key=natural)
    guesses = [loss for run in runs for loss in run.task.references().values()]
    how = {"levels": {"": EMERGES_AT}, "limits": {"ylim": (0, 1.08 * max(guesses))}}
    return [
        Panel(way, [one for run in several for one in run_curves(run, hops)], y="loss", **how)
        for way, several in ways.items()
    ]


RUNS = Group("curricula", "ways to ask for three hops", runs_of)
TITLE = "what makes a head emerge, and when: eleven ways to ask for three hops"
EXPERIMENTS = (Experiment(__file__, "curricula", TITLE, (RUNS,), measured, drawn),)
