"""Section 7: what models of few and many layers learn, with and without the
curriculum.
"""

import statistics
from collections.abc import Callable
from functools import partial
from itertools import pairwise

from headway.recipes import changed
from headway.training import Implicit, Run, RunConfig
from headway_experiments.curricula import FinalHop
from headway_experiments.experiment import (
    Configs,
    Drawn,
    Experiment,
    Group,
    Measures,
    Runs,
)
from headway_experiments.figures import Panel, draw_panels, means, numbered
from headway_experiments.reading import (
    Row,
    by_run,
    correlations,
    final_loss,
    grouped,
    in_order,
)
from headway_experiments.recipes import base, crossed, paper, roomy, smoke

WAYS = {"ic": Implicit(), "non-ic": FinalHop()}


def runs_of(curriculum: bool, scale: str) -> Configs:
    """Section 7: one to eight layers, eight seeds each; D = 5 with the curriculum, 3
    without.

    Small: D = 4 instead of 5, layers of four heads, width 64, trained as `fast` trains;
    with the curriculum one to six layers, without it 1, 2, 3, 4, 6 and 8 layers, three
    seeds.
    """
    asked = {} if curriculum else {"training.curriculum": FinalHop()}
    config = _config(curriculum, scale)
    sizes = {"smoke": ((1, 2), (0, 1)), "paper": (range(1, 9), range(8))}
    small = (1, 2, 3, 4, 6, 8), range(3)
    sizes["small"] = (range(1, 7), range(8)) if curriculum else small
    layers, seeds = sizes[scale]
    return crossed(layers, seeds, lambda n, seed: changed(config(n, seed), asked))


def _config(curriculum: bool, scale: str) -> Callable[[int, int], RunConfig]:
    """The config of a scale, by layers and seed."""
    depth = 3
    if curriculum:
        depth = 5 if scale == "paper" else 4
    if scale == "paper":
        return partial(_section_7, depth)
    if scale == "small":
        return partial(_small_layers, depth)
    short = {"task.depth": 3, "training.steps": 40, "training.cooldown_steps": 10}
    return smoke if curriculum else lambda n, seed: changed(smoke(n, seed), short)


def _section_7(depth: int, layers: int, seed: int) -> RunConfig:
    """As printed: 8 heads, width 128, 10 000 steps of 512 from 2^20 sequences, Adam
    1e-3.
    """
    printed = {
        "model.n_layers": layers,
        "model.n_heads": 8,
        "training.steps": 10_000,
        "training.batch_size": 512,
        "training.train_examples": 2**20,
        "training.eval_every": 50,
        "training.checkpoint_every": 0,
        "training.save_every": 500,
    }
    return changed(paper(depth, seed), printed)


def _small_layers(depth: int, layers: int, seed: int) -> RunConfig:
    small = {
        "model.n_layers": layers,
        "model.n_heads": 4,
        "training.steps": 2_000,
        "training.batch_size": 64,
        "training.weight_decay": 0.05,
        "training.cooldown_steps": 1_000,
        "training.patience": 0,
        "training.stop_below": 0.04,
        "training.checkpoint_every": 0,
    }
    return changed(roomy(depth, seed), small)


def first_steps(scale: str) -> Configs:
    """Four layers and two hops, with and without the implicit curriculum."""
    layers = {} if scale == "smoke" else {"model.n_layers": 4}
    count = {"paper": 8, "small": 10}.get(scale, 1)
    configs: Configs = {}
    for way, curriculum in WAYS.items():
        changes = {**layers, "training.curriculum": curriculum}
        for seed in range(count):
            configs[f"{way},seed={seed}"] = changed(base(scale, 2, seed), changes)
    return configs


def final_losses(runs: Runs) -> Measures:
    """The final losses of the first steps, with and without the curriculum."""
    measures: Measures = {}
    for way in WAYS:
        losses = {}
        for name, run in runs.items():
            if name.startswith(f"{way},"):
                losses[name] = final_loss(run)
        measures[f"first_{way.replace('-', '_')}_loss"] = losses
    return measures


def by_layers(with_ic: Runs, without: Runs) -> Measures:
    """Section 7: final losses, and when every hop is learnt, by number of layers.

    Whether later hops need more layers is judged by the final partial losses, averaged
    over all runs: every number of layers counts the same.
    """
    points = {}
    for run in with_ic.values():
        point = run.config.transformer.n_layers, final_loss(run)
        points.setdefault(f"seed={run.config.seed}", []).append(point)
    means = _mean_partial_losses(with_ic)
    later = {}
    for hop, then in pairwise(means):
        later[f"{hop}, {then}"] = means[then] - means[hop]
    return {
        **by_run(with_ic, _with_curriculum),
        "non_ic_final_loss": {name: final_loss(run) for name, run in without.items()},
        "ic_rank_correlation": correlations(points),
        "ic_partial_loss": means,
        "ic_later_costs_more": later,
    }


def _mean_partial_losses(runs: Runs) -> dict[str, float]:
    """The mean of every hop's last loss."""
    last = [run.metrics()[-1]["partial"] for run in runs.values()]
    by_hop = grouped(loss for losses in last for loss in losses.items())
    return {hop: statistics.mean(losses) for hop, losses in by_hop.items()}


def _with_curriculum(run: Run) -> Row:
    return {"ic_final_loss": final_loss(run), "ic_in_chain_order": in_order(run)}


def drawn(with_ic: Runs, without: Runs) -> Drawn:
    """Figure 4: final losses by number of layers, with and without the curriculum; and
    the partial losses with it."""
    both = []
    groups = {"with the curriculum": with_ic, "without": without}
    for i, (name, group) in enumerate(groups.items()):
        if group:
            task = next(iter(group.values())).config.task
            label = f"{name}, {task.label.replace('=', ' = ')}"
            both += means(_against_layers(group), numbered(i, marker=True), label)
    hopwise = []
    hops = next(iter(with_ic.values())).task.hops if with_ic else ()
    for i, name in enumerate(hops):
        hopwise += means(_against_layers(with_ic, name), numbered(i, marker=True), name)
    limits = {"ylim": (0, 1.08)}
    final = Panel(
        "final losses", both, "layers", "final validation loss", limits=limits
    )
    title = "partial losses, with the curriculum"
    partial_losses = Panel(title, hopwise, "layers", limits=limits)
    return {
        "fig4": ("Final loss by number of layers", draw_panels([final, partial_losses]))
    }


def _against_layers(group: Runs, hop: str | None = None) -> list[tuple[float, float]]:
    """The layers of runs and the last validation loss, or that of a hop."""
    points = []
    for run in group.values():
        last = run.metrics()[-1]
        loss = last["partial"][hop] if hop else last["val_loss"]
        points.append((run.config.transformer.n_layers, loss))
    return points


TITLE = "final losses by number of layers, with and without the curriculum (section 7)"
GROUPS = (
    Group("ic", "with the curriculum, by layers", partial(runs_of, True)),
    Group("non-ic", "without the curriculum, by layers", partial(runs_of, False)),
)
FIRST_TITLE = "four layers and two hops, with and without the curriculum"
FIRST = (Group("first-steps", FIRST_TITLE, first_steps),)
EXPERIMENTS = (
    Experiment(__file__, "fig4", TITLE, GROUPS, by_layers, drawn),
    Experiment(__file__, "first-steps", FIRST_TITLE, FIRST, final_losses),
)
