"""The k-hop problem: how many layers it takes (Sanford, Hsu and Telgarsky 2024, arXiv 2402.09268).

Trained nearly as the recipe `hops` trains; every sequence asks for hop_k at every place.
"""

from dataclasses import replace

import torch

from headway.models import attention_patterns
from headway.recipes import changed, hops
from headway.replace import attention_along
from headway.tasks import IGNORE_INDEX, Batch, Hops
from headway.theory import closed_form
from headway.training import Run, held_out
from headway_experiments.experiment import Configs, Drawn, Experiment, Group, Measures, Runs
from headway_experiments.figures import Panel, Series, draw_panels, means, numbered, run_curves
from headway_experiments.reading import accuracies, grouped, in_order, task_of
from headway_experiments.recipes import crossed

SOLVED = 0.98
"""The accuracy at which k hops count as solved."""


SIZES: dict[str, tuple[tuple[int, ...], tuple[int, ...], int, int, tuple[int, ...]]] = {
    "paper": (tuple(range(1, 17)), (1, 2, 3, 4, 5, 6), 5, 10_000, (4, 100, 2, 128)),
    "small": ((1, 2, 4, 8), (1, 2, 3, 4, 5), 3, 3_500, (6, 80, 4, 64)),
    "smoke": ((1, 2), (1, 3), 1, 120, (6, 16, 4, 32)),
}
"""By scale the k that are asked, the layers to try, seeds, steps, and numbers of symbols, places,
heads and dimensions.

Small: of k = 1 to 16 those up to 8 that take one layer more; 80 places instead of 100; and six
symbols instead of four. With four, the places that matter are so near that a layer of four heads
gathers them, and two layers come near to solving two hops; so paper has two."""


def by_layers(scale: str) -> Configs:
    """All k in equal parts, with every number of layers.

    The cool-down is half of the steps, as eight hops become exact only at its end.
    """
    asked, layers, seeds, steps, (symbols, places, heads, width) = SIZES[scale]
    fields = {
        "task.n_symbols": symbols,
        "task.n_places": places,
        "model.n_heads": heads,
        "model.d_model": width,
        "model.d_mlp": 2 * width,
        "training.batch_size": 32,
        "training.matrix_learning_rate": 0.01,
        "training.cooldown_steps": steps // 2,
        "training.stop_below": 0.0,
        "training.checkpoint_every": 0,
    }
    return crossed(
        layers,
        range(seeds),
        lambda n, seed: changed(hops(asked, steps, seed), {**fields, "model.n_layers": n}),
    )


def measured(runs: Runs) -> Measures:
    """Accuracies by k and layers, against the layers that k takes; attention along find^j."""
    names = "accuracy", "enough", "too_few", "as_expected", "attention", "in_order"
    found: Measures = {f"khop_{name}": {} for name in names}
    for name, run in runs.items():
        layers = run.config.transformer.n_layers
        for k, accuracy in hop_accuracies(run).items():
            one = f"k={k},{name}"
            enough = layers >= closed_form(k)
            is_solved = accuracy >= SOLVED
            found["khop_accuracy"][one] = accuracy
            found["khop_enough" if enough else "khop_too_few"][one] = accuracy
            found["khop_as_expected"][one] = float(is_solved == enough)
            if is_solved and layers == closed_form(k):
                found["khop_attention"][one] = weakest_layer(run, k)
        if (order := in_order(run)) is not None:
            found["khop_in_order"][name] = order
    return found


def hop_accuracies(run: Run) -> dict[int, float]:
    """The share of places with an answer at which the model has it, by k."""
    task = task_of(run.config, Hops)
    batch = held_out(task, 512, run.config.seed, run.device, "accuracy")
    answers = batch.targets.masked_fill(batch.targets == task.none, IGNORE_INDEX)
    right = accuracies(run, replace(batch, targets=answers))
    return dict(zip(task.asked, right.values(), strict=True))


def weakest_layer(run: Run, hops: int) -> float:
    """The share of attention that the best head of a layer sends along its best find^j, in
    sequences that ask for so many hops: the least over all layers but the first."""
    by_find = torch.tensor(list(find_attention(run, hops).values()))  # [j, layer, head]
    return by_find.amax((0, 2))[1:].min().item()


@torch.no_grad()
def find_attention(run: Run, hops: int) -> dict[int, list[list[float]]]:
    """Mean attention along find^j, [layer, head], by j, in sequences that ask for so many hops."""
    task = task_of(run.config, Hops)
    several = held_out(task, 64 * task.n_depths, run.config.seed, run.device, "attention")
    asked = several.inputs[:, 0] - task.n_symbols == task.asked.index(hops)
    batch = Batch(several.inputs[asked], several.targets[asked], several.roles[asked])
    patterns = attention_patterns(run.transformer(), batch.inputs)
    relations = task.relations(batch)
    return {
        j: attention_along(patterns, relations[f"find^{j}"]).tolist()
        for j in range(1, max(task.asked) + 1)
    }


def drawn(runs: Runs) -> Drawn:
    """Accuracy by k and layers, with the k that so many layers solve by the theory; losses and
    attention of the deepest run of the first seed."""
    table = grouped(
        (run.config.transformer.n_layers, point)
        for run in runs.values()
        for point in hop_accuracies(run).items()
    )
    solved = []
    for i, (layers, points) in enumerate(sorted(table.items())):
        most = max((k for k, _ in points if closed_form(int(k)) <= layers), default=0)
        label = f"{layers} layers: k ≤ {most}" if most else f"{layers} layers: none"
        solved += means(points, numbered(i, marker=True), label)
    most = max(table)
    deepest = next(run for run in runs.values() if run.config.transformer.n_layers == most)
    k = max(task_of(deepest.config, Hops).asked)
    strongest = [[max(heads) for heads in rows] for rows in find_attention(deepest, k).values()]
    along = [
        Series(range(1, k + 1), values, numbered(i, marker=True), f"layer {i + 1}")
        for i, values in enumerate(zip(*strongest, strict=True))
    ]
    about = f"{deepest.config.transformer.n_layers} layers, seed {deepest.config.seed}"
    panels = [
        Panel("accuracy, and what is enough", solved, "hops k", "share of right answers"),
        Panel(about, run_curves(deepest, deepest.task.hops), y="cross-entropy (nats)"),
        Panel(f"attention along find^j, k = {k}", along, "j", "of the strongest head"),
    ]
    return {"khop-depth": ("Hops against layers", draw_panels(panels))}


RUNS = Group("khop-depth", "all k at once, by layers", by_layers)
TITLE = "k hops against the layers that solve them"
EXPERIMENTS = (Experiment(__file__, "khop-depth", TITLE, (RUNS,), measured, drawn),)
