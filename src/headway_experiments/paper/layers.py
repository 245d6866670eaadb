"""Section 7: what models of one to eight layers learn, with and without the curriculum."""

import statistics
from itertools import pairwise

from headway.intervals import rank_correlation
from headway.recipes import changed
from headway.training import Run, RunConfig
from headway_experiments.claims import Measures, claims_beside
from headway_experiments.curricula import FinalHop
from headway_experiments.experiment import Configs, Drawn, Experiment, Group, GroupRuns, Runs
from headway_experiments.reading import final_loss, in_order
from headway_experiments.recipes import paper
from headway_experiments.scales import crossed, roomy, smoke


def with_curriculum(scale: str) -> Configs:
    """Section 7, IC: one to eight layers, eight seeds each.

    Small: D = 4 instead of 5, one to six layers of four heads, width 64, trained as `fast` trains.
    """
    match scale:
        case "paper":
            return crossed(range(1, 9), range(8), lambda n, seed: _section_7(5, n, seed))
        case "small":
            return crossed(range(1, 7), range(8), lambda n, seed: _small_layers(4, n, seed))
        case _:
            return crossed((1, 2), (0, 1), smoke)


def without_curriculum(scale: str) -> Configs:
    """Section 7, non-IC, D = 3: one to eight layers, eight seeds each.

    Small: as with the curriculum; 1, 2, 3, 4, 6 and 8 layers, three seeds.
    """

    def small(layers: int, seed: int) -> RunConfig:
        return changed(_small_layers(3, layers, seed), {"training.curriculum": FinalHop()})

    def full(layers: int, seed: int) -> RunConfig:
        return changed(_section_7(3, layers, seed), {"training.curriculum": FinalHop()})

    def short(layers: int, seed: int) -> RunConfig:
        fields = {"task.depth": 3, "training.curriculum": FinalHop(), "training.steps": 40}
        return changed(smoke(layers, seed), {**fields, "training.cooldown_steps": 10})

    match scale:
        case "paper":
            return crossed(range(1, 9), range(8), full)
        case "small":
            return crossed((1, 2, 3, 4, 6, 8), range(3), small)
        case _:
            return crossed((1, 2), (0, 1), short)


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


def by_layers(with_ic: Runs, without: Runs) -> Measures:
    """Section 7: final losses, and when every hop is learnt, by number of layers.

    Whether later hops need more layers is judged by the final partial losses, averaged over all
    runs: every number of layers counts the same.
    """
    final = {name: final_loss(run) for name, run in with_ic.items()}
    seeds: dict[int, dict[int, Run]] = {}
    for run in with_ic.values():
        seeds.setdefault(run.config.seed, {})[run.config.transformer.n_layers] = run
    correlation = {}
    for seed, runs in sorted(seeds.items()):
        layers = sorted(runs)
        if len(layers) > 1:
            losses = [final_loss(runs[n]) for n in layers]
            correlation[f"seed={seed}"] = rank_correlation(layers, losses)
    partial: dict[str, list[float]] = {}
    for run in with_ic.values():
        for hop, loss in run.metrics()[-1]["partial"].items():
            partial.setdefault(hop, []).append(loss)
    means = {hop: statistics.mean(losses) for hop, losses in partial.items()}
    order = {name: in_order(run) for name, run in with_ic.items()}
    return {
        "ic_final_loss": final,
        "non_ic_final_loss": {name: final_loss(run) for name, run in without.items()},
        "ic_rank_correlation": correlation,
        "ic_partial_loss": means,
        "ic_later_costs_more": {
            f"{hop}, {later}": means[later] - means[hop] for hop, later in pairwise(means)
        },
        "ic_in_chain_order": {name: value for name, value in order.items() if value is not None},
    }


def layers(runs: GroupRuns) -> Drawn:
    """Figure 4: final losses by number of layers, with and without the curriculum; and the partial
    losses with it."""
    from headway_experiments.figures import Panel, draw_panels, means, numbered

    def by_layers(group: Runs, hop: str | None = None) -> list[tuple[float, float]]:
        last = [(run.config.transformer.n_layers, run.metrics()[-1]) for run in group.values()]
        return [(n, m["partial"][hop] if hop else m["val_loss"]) for n, m in last]

    both, partial = [], []
    names = {"ic": "with the curriculum", "non-ic": "without"}
    for i, (group, name) in enumerate(names.items()):
        if runs[group]:
            task = next(iter(runs[group].values())).config.task
            label = f"{name}, {task.label.replace('=', ' = ')}"
            both += means(by_layers(runs[group]), numbered(i, marker=True), label)
    hops = next(iter(runs["ic"].values())).task.hops if runs["ic"] else ()
    for i, hop in enumerate(hops):
        partial += means(by_layers(runs["ic"], hop), numbered(i, marker=True), hop)
    how = {"x": "layers", "limits": {"ylim": (0, 1.08)}}
    panels = [
        Panel("final losses", both, y="final validation loss", **how),
        Panel("partial losses, with the curriculum", partial, **how),
    ]
    return {"fig4": ("Final loss by number of layers", draw_panels(panels))}


EXPERIMENTS = (
    Experiment(
        "fig4",
        "final losses by number of layers, with and without the curriculum (section 7)",
        (
            Group("ic", "with the curriculum, by layers", with_curriculum),
            Group("non-ic", "without the curriculum, by layers", without_curriculum),
        ),
        lambda runs: by_layers(runs["ic"], runs["non-ic"]),
        layers,
        claims_beside(__file__, "fig4"),
    ),
)
