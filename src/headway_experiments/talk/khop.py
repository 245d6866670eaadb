"""The k-hop problem: how many layers it takes (Sanford, Hsu and Telgarsky 2024, arXiv
2402.09268).

Trained nearly as the recipe `hops` trains; every sequence asks for hop_k at every
place.
"""

from dataclasses import replace
from typing import NamedTuple

import torch

from headway.models import attention_patterns
from headway.recipes import changed, hops
from headway.replace import attention_along
from headway.tasks import IGNORE_INDEX, Batch, Hops
from headway.theory import closed_form
from headway.training import Run, RunConfig, held_out
from headway_experiments.experiment import (
    Configs,
    Drawn,
    Experiment,
    Group,
    Measures,
    Runs,
)
from headway_experiments.figures import (
    Panel,
    Series,
    draw_panels,
    means,
    numbered,
    run_curves,
)
from headway_experiments.reading import accuracies, in_order, task_of
from headway_experiments.recipes import crossed

SOLVED = 0.98
"""The accuracy at which k hops count as solved."""


class Size(NamedTuple):
    """The sizes of a scale: the k, layers to try, seeds, steps; numbers
    of symbols and places; heads and dimensions of a model."""

    asked: tuple[int, ...]
    layers: tuple[int, ...]
    seeds: int
    steps: int
    symbols: int
    places: int
    heads: int
    width: int


SIZES = {
    "paper": Size(tuple(range(1, 17)), (1, 2, 3, 4, 5, 6), 5, 10_000, 4, 100, 2, 128),
    "small": Size((1, 2, 4, 8), (1, 2, 3, 4, 5), 3, 3_500, 6, 80, 4, 64),
    "smoke": Size((1, 2), (1, 3), 1, 120, 6, 16, 4, 32),
}
"""By scale. Small: of k = 1 to 16 those up to 8 that take one layer more; 80 places
instead of 100; and six symbols instead of four. With four, the places that matter are
so near that a layer of four heads gathers them, and two layers come near to solving two
hops; so paper has two."""


def by_layers(scale: str) -> Configs:
    """All k in equal parts, with every number of layers.

    The cool-down is half of the steps, as eight hops become exact only at its end.
    """
    size = SIZES[scale]
    fields = {
        "task.n_symbols": size.symbols,
        "task.n_places": size.places,
        "model.n_heads": size.heads,
        "model.d_model": size.width,
        "model.d_mlp": 2 * size.width,
        "training.batch_size": 32,
        "training.matrix_learning_rate": 0.01,
        "training.cooldown_steps": size.steps // 2,
        "training.stop_below": 0.0,
        "training.checkpoint_every": 0,
    }

    def config(layers: int, seed: int) -> RunConfig:
        base = hops(size.asked, size.steps, seed)
        return changed(base, {**fields, "model.n_layers": layers})

    return crossed(size.layers, range(size.seeds), config)


def measured(runs: Runs) -> Measures:
    """Accuracies by k and layers, against the layers that k takes; attention along
    find^j.
    """
    names = "accuracy", "enough", "too_few", "as_expected", "attention", "in_order"
    measures: Measures = {f"khop_{name}": {} for name in names}
    for name, run in runs.items():
        layers = run.config.transformer.n_layers
        for k, accuracy in hop_accuracies(run).items():
            which = f"k={k},{name}"
            least = closed_form(k)
            is_enough = layers >= least
            is_solved = accuracy >= SOLVED
            group = "khop_enough" if is_enough else "khop_too_few"
            measures["khop_accuracy"][which] = accuracy
            measures[group][which] = accuracy
            measures["khop_as_expected"][which] = float(is_solved == is_enough)
            if is_solved and layers == least:
                measures["khop_attention"][which] = weakest_layer(run, k)
        order = in_order(run)
        if order is not None:
            measures["khop_in_order"][name] = order
    return measures


def hop_accuracies(run: Run) -> dict[int, float]:
    """The share of places with an answer at which the model has it, by k."""
    task = task_of(run.config, Hops)
    batch = held_out(task, 512, run.config.seed, run.device, "accuracy")
    is_none = batch.targets == task.none
    answers = batch.targets.masked_fill(is_none, IGNORE_INDEX)
    right = accuracies(run, replace(batch, targets=answers))
    return dict(zip(task.asked, right.values(), strict=True))


def weakest_layer(run: Run, hops: int) -> float:
    """The share of attention that the best head of a layer sends along its best find^j,
    in
    sequences that ask for so many hops: the least over all layers but the first."""
    by_find = torch.tensor(list(find_attention(run, hops).values()))  # [j, layer, head]
    by_layer = by_find.amax((0, 2))
    return by_layer[1:].min().item()


@torch.no_grad()
def find_attention(run: Run, hops: int) -> dict[int, list[list[float]]]:
    """Mean attention along find^j, [layer, head], by j, in sequences that ask for so
    many hops.
    """
    task = task_of(run.config, Hops)
    several = held_out(
        task, 64 * task.n_depths, run.config.seed, run.device, "attention"
    )
    number = several.inputs[:, 0] - task.n_symbols
    asked = number == task.asked.index(hops)
    batch = Batch(several.inputs[asked], several.targets[asked], several.roles[asked])
    patterns = attention_patterns(run.transformer(), batch.inputs)
    relations = task.relations(batch)
    attention = {}
    for j in range(1, max(task.asked) + 1):
        along = attention_along(patterns, relations[f"find^{j}"])
        attention[j] = along.tolist()
    return attention


def drawn(runs: Runs) -> Drawn:
    """Accuracy by k and layers, with the k that so many layers solve by the theory;
    losses and attention of the deepest run of the first seed."""
    table: dict[int, list[tuple[int, float]]] = {}
    for run in runs.values():
        points = table.setdefault(run.config.transformer.n_layers, [])
        points += hop_accuracies(run).items()
    solved = []
    for i, (layers, points) in enumerate(sorted(table.items())):
        enough = [k for k, _ in points if closed_form(k) <= layers]
        label = f"k ≤ {max(enough)}" if enough else "none"
        solved += means(points, numbered(i, marker=True), f"{layers} layers: {label}")
    most = max(table)
    deepest = next(
        run for run in runs.values() if run.config.transformer.n_layers == most
    )
    hops = run_curves(deepest, deepest.task.hops)
    title = f"{most} layers, seed {deepest.config.seed}"
    accuracies = Panel(
        "accuracy, and what is enough", solved, "hops k", "share of right answers"
    )
    losses = Panel(title, hops, y="cross-entropy (nats)")
    figure = draw_panels([accuracies, losses, _attention_panel(deepest)])
    return {"khop-depth": ("Hops against layers", figure)}


def _attention_panel(run: Run) -> Panel:
    """Attention along find^1, find^2, … of the strongest head of every layer."""
    k = max(task_of(run.config, Hops).asked)
    strongest = []
    for layers in find_attention(run, k).values():
        strongest.append([max(heads) for heads in layers])
    hops = range(1, k + 1)
    series = []
    for i, values in enumerate(zip(*strongest, strict=True)):
        look = numbered(i, marker=True)
        series.append(Series(hops, values, look, f"layer {i + 1}"))
    return Panel(
        f"attention along find^j, k = {k}", series, "j", "of the strongest head"
    )


RUNS = Group("khop-depth", "all k at once, by layers", by_layers)
TITLE = "k hops against the layers that solve them"
EXPERIMENTS = (Experiment(__file__, "khop-depth", TITLE, (RUNS,), measured, drawn),)
