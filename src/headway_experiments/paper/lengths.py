"""The time until the first head emerges in longer sequences (arXiv 2511.01033)."""

from functools import partial
from statistics import geometric_mean

from headway.circuits import crossing
from headway.recipes import changed
from headway_experiments.experiment import Configs, Drawn, Experiment, Group, Measures, Runs
from headway_experiments.figures import Panel, Series, dotted, draw_panels, means, numbered
from headway_experiments.reading import powers
from headway_experiments.recipes import paper, roomy, smoke


def runs_of(scale: str) -> Configs:
    """One hop in sequences of ever more chains, at constant rates, until it is learnt."""
    constant = {
        "training.steps": 1_500,
        "training.patience": 0,
        "training.cooldown_below": 0.0,
        "training.cooldown_steps": 0,
        "training.eval_every": 10,
        "training.eval_examples": 256,
        "training.checkpoint_every": 0,
    }
    chains, seeds, config, fields = {
        "paper": ((2, 4, 8, 16, 32), range(8), partial(paper, 1), {}),
        "small": ((2, 4, 8, 16), range(4), partial(roomy, 1), constant),
    }.get(scale, ((2, 3), range(1), partial(smoke, 4), constant))
    fields = {**fields, "training.stop_below": 0.1}
    return {
        f"chains={n},seed={seed}": changed(config(seed), {**fields, "task.n_chains": n})
        for n in chains
        for seed in seeds
    }


def measured(runs: Runs) -> Measures:
    """The step at which x_1's loss passes half of its plateau; the slope of log(step) against
    log(positions), of every seed with which it passes at all lengths; and the last other steps."""
    emerged, never = dict[str, float](), dict[str, float]()
    points: dict[str, list[tuple[float, float]]] = {}
    for name, run in runs.items():
        metrics, task = run.metrics(), run.task
        half = task.references()["mean of the candidates"] / 2
        losses = [-line["partial"]["x_1"] for line in metrics]
        step = crossing([line["step"] for line in metrics], losses, -half)
        if step is None:
            never[name] = metrics[-1]["step"]
            continue
        emerged[name] = step
        points.setdefault(f"seed={run.config.seed}", []).append((task.length, step))
    for name in never:
        points.pop(f"seed={runs[name].config.seed}", None)
    return {
        "lengths_steps": emerged,
        "lengths_exponent": powers(points),
        "lengths_not_reached": never,
    }


def drawn(runs: Runs) -> Drawn:
    """The step at which the first hop is learnt, against the length of the sequence."""
    steps = measured(runs)["lengths_steps"]
    points = [(runs[name].task.length, step) for name, step in steps.items()]
    if not points:
        return {}
    found = means(points, numbered(0), "mean of all runs", geometric_mean)
    lengths, middle = found[-1].x, found[-1].y[0]
    square = [middle * (n / lengths[0]) ** 2 for n in lengths]
    found.append(Series(lengths, square, dotted(), "growing as the square"))
    panel = Panel("", found, "positions in a sequence", "step at which x₁ emerges", log="xy")
    title = "Emergence of the first hop, by length of the sequence"
    return {"lengths": (title, draw_panels([panel]))}


RUNS = Group("lengths", "one hop among ever more chains", runs_of)
TITLE = "how long the first head takes to emerge in longer sequences (arXiv 2511.01033)"
EXPERIMENTS = (Experiment(__file__, "lengths", TITLE, (RUNS,), measured, drawn),)
