"""Section 7: what models of few and many layers learn, with and without the curriculum."""

import statistics
from functools import partial
from itertools import pairwise

from headway.recipes import changed
from headway.training import Implicit, RunConfig
from headway_experiments.curricula import FinalHop
from headway_experiments.experiment import Configs, Drawn, Experiment, Group, Measures, Runs
from headway_experiments.figures import Panel, draw_panels, means, numbered
from headway_experiments.reading import by_run, correlations, final_loss, grouped, in_order
from headway_experiments.recipes import base, crossed, paper, roomy, smoke

WAYS = {"ic": Implicit(), "non-ic": FinalHop()}


def runs_of(curriculum: bool, scale: str) -> Configs:
    """Section 7: one to eight layers, eight seeds each; D = 5 with the curriculum, 3 without.

    Small: D = 4 instead of 5, layers of four heads, width 64, trained as `fast` trains; with the
    curriculum one to six layers, without it 1, 2, 3, 4, 6 and 8 layers, three seeds.
    """
    if scale == "smoke":
        short = {"task.depth": 3, "training.steps": 40, "training.cooldown_steps": 10}
        fields = {} if curriculum else {**short, "training.curriculum": FinalHop()}
        return crossed((1, 2), (0, 1), lambda n, seed: changed(smoke(n, seed), fields))
    depth, layers, seeds, config = {
        ("paper", True): (5, range(1, 9), range(8), _section_7),
        ("paper", False): (3, range(1, 9), range(8), _section_7),
        ("small", True): (4, range(1, 7), range(8), _small_layers),
        ("small", False): (3, (1, 2, 3, 4, 6, 8), range(3), _small_layers),
    }[scale, curriculum]
    fields = {} if curriculum else {"training.curriculum": FinalHop()}
    return crossed(layers, seeds, lambda n, seed: changed(config(depth, n, seed), fields))


def _section_7(depth: int, layers: int, seed: int) -> RunConfig:
    """As printed: 8 heads, width 128, 10 000 steps of 512 from 2^20 sequences, Adam 1e-3."""
    return changed(
        paper(depth, seed),
        {
            "model.n_layers": layers,
            "model.n_heads": 8,
            "training.steps": 10_000,
            "training.batch_size": 512,
            "training.train_examples": 2**20,
            "training.eval_every": 50,
            "training.checkpoint_every": 0,
            "training.save_every": 500,
        },
    )


def _small_layers(depth: int, layers: int, seed: int) -> RunConfig:
    return changed(
        roomy(depth, seed),
        {
            "model.n_layers": layers,
            "model.n_heads": 4,
            "training.steps": 2_000,
            "training.batch_size": 64,
            "training.weight_decay": 0.05,
            "training.cooldown_steps": 1_000,
            "training.patience": 0,
            "training.stop_below": 0.04,
            "training.checkpoint_every": 0,
        },
    )


def first_steps(scale: str) -> Configs:
    """Four layers and two hops, with and without the implicit curriculum."""
    layers = {} if scale == "smoke" else {"model.n_layers": 4}
    return {
        f"{way},seed={seed}": changed(
            base(scale, 2, seed), {**layers, "training.curriculum": curriculum}
        )
        for way, curriculum in WAYS.items()
        for seed in range({"paper": 8, "small": 10}.get(scale, 1))
    }


def final_losses(runs: Runs) -> Measures:
    """The final losses of the first steps, with and without the curriculum."""
    losses = {name: final_loss(run) for name, run in runs.items()}
    return {
        f"first_{way.replace('-', '_')}_loss": {
            name: loss for name, loss in losses.items() if name.startswith(f"{way},")
        }
        for way in WAYS
    }


def by_layers(with_ic: Runs, without: Runs) -> Measures:
    """Section 7: final losses, and when every hop is learnt, by number of layers.

    Whether later hops need more layers is judged by the final partial losses, averaged over all
    runs: every number of layers counts the same.
    """
    points = grouped(
        (f"seed={run.config.seed}", (run.config.transformer.n_layers, final_loss(run)))
        for run in with_ic.values()
    )
    last = [run.metrics()[-1]["partial"] for run in with_ic.values()]
    each = grouped((hop, loss) for losses in last for hop, loss in losses.items())
    means = {hop: statistics.mean(losses) for hop, losses in each.items()}
    return {
        **by_run(
            with_ic,
            lambda run: {"ic_final_loss": final_loss(run), "ic_in_chain_order": in_order(run)},
        ),
        "non_ic_final_loss": {name: final_loss(run) for name, run in without.items()},
        "ic_rank_correlation": correlations(points),
        "ic_partial_loss": means,
        "ic_later_costs_more": {
            f"{hop}, {later}": means[later] - means[hop] for hop, later in pairwise(means)
        },
    }


def drawn(with_ic: Runs, without: Runs) -> Drawn:
    """Figure 4: final losses by number of layers, with and without the curriculum; and the partial
    losses with it."""

    def against_layers(group: Runs, hop: str | None = None) -> list[tuple[float, float]]:
        last = [(run.config.transformer.n_layers, run.metrics()[-1]) for run in group.values()]
        return [(n, m["partial"][hop] if hop else m["val_loss"]) for n, m in last]

    both, hopwise = [], []
    for i, (name, group) in enumerate({"with the curriculum": with_ic, "without": without}.items()):
        if group:
            task = next(iter(group.values())).config.task
            label = f"{name}, {task.label.replace('=', ' = ')}"
            both += means(against_layers(group), numbered(i, marker=True), label)
    hops = next(iter(with_ic.values())).task.hops if with_ic else ()
    for i, hop in enumerate(hops):
        hopwise += means(against_layers(with_ic, hop), numbered(i, marker=True), hop)
    how = {"x": "layers", "limits": {"ylim": (0, 1.08)}}
    panels = [
        Panel("final losses", both, y="final validation loss", **how),
        Panel("partial losses, with the curriculum", hopwise, **how),
    ]
    return {"fig4": ("Final loss by number of layers", draw_panels(panels))}


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
