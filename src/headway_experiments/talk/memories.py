"""Weights as associative memories: how much they hold, and what one gradient step
stores (Cabannes et al. 2024, arXiv 2310.02984; Bietti et al. 2023, arXiv 2306.00802;
Nichani et al. 2024, arXiv 2412.06538).

A sequence is one item, so attention has nothing to choose from, and a model of one
layer without norms and positions is x + W_O W_V x with x = e_z: a linear memory, W_V
being a frozen rotation. With attention that says nothing and an MLP it is x + W_out
act(W_in x). Embeddings and read-out are random and stay.
"""

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import product
from typing import Any

import torch

from headway.models import TransformerConfig
from headway.tasks import Batch
from headway.training import Run, RunConfig, TrainingConfig, predictions
from headway_experiments.experiment import (
    Configs,
    Drawn,
    Experiment,
    Group,
    Measures,
    Runs,
)
from headway_experiments.figures import Panel, Series, draw_panels, means, numbered
from headway_experiments.reading import Row, by_run, power, task_of
from headway_experiments.recipes import moving
from headway_experiments.talk import associative_memory as memory
from headway_experiments.talk import capacity
from headway_experiments.tasks import Associations
from headway_experiments.trained import Trained

BARE = TransformerConfig(n_layers=1, norm="none", positions="none", init="associative")

LINEAR = [0.35 * 1.1**i for i in range(20)]
"""N log N over the parameters of a linear memory: the series of runs that brackets its
capacity. It is wide enough to bracket a capacity that grows with another power of them,
too."""
MLP = [0.4 * 1.2**i for i in range(9)]
"""N log N over the parameters of an MLP, likewise."""

EXPONENTS = (1.5, 2.0)
"""a of the frequencies p(z) ∝ z^-a."""
SCHEMES = ("first", "frequency", "all")
"""The ways of keeping items; see `memory.scheme`."""
EXPECTED = {
    "first": lambda a: a - 1,
    "frequency": lambda a: (a - 1) / (2 * a),
    "all": lambda a: 0.0,
    "samples": lambda a: 1 - 1 / a,
}
"""The expected fall of the error with the width, or with the samples: minus the
power.
"""
WIDTHS = (8, 16, 32, 64, 128, 256)
SAMPLES = (10, 30, 100, 300, 1_000, 3_000, 10_000)
N_ITEMS, N_CLASSES, N_SAMPLED = 4_000, 5, 200_000
REPEATS = 10
"""Draws of all vectors, or of samples, over which an error is averaged: the laws are of
means.
"""

LINEAR_SHAPES = {
    "paper": ([(d, 0) for d in (8, 16, 32, 64, 128, 256)], range(5), LINEAR),
    "small": ([(d, 0) for d in (8, 12, 16, 24, 32, 48)], range(10), LINEAR),
    "smoke": ([(6, 0), (12, 0)], range(1), LINEAR[7::6]),
}
MLP_SHAPES = {
    "paper": ([*product((32, 64, 128), (32, 128, 512))], range(5), MLP),
    "small": ([*product((16, 24, 32), (8, 32, 128))], range(10), MLP),
    "smoke": ([(12, 12)], range(1), MLP[3::3]),
}
SHAPES = {"linear": LINEAR_SHAPES, "mlp": MLP_SHAPES}
"""Widths and hidden widths (0: linear), seeds, and the series that brackets each."""


def series(kind: str, scale: str) -> Configs:
    """Linear memories of the identity, or memories in an MLP, trained on all items at
    once.
    """
    return _series(*SHAPES[kind][scale])


def longer(scale: str) -> Configs:
    """Some of both with three times the steps, to see whether steps or parameters limit
    them.
    """
    seeds = SHAPES["linear"][scale][1]
    if scale == "smoke":
        return _series([(6, 0)], seeds, LINEAR[7::6], 900)
    linear = {"paper": (128, 0), "small": (32, 0)}[scale]
    with_mlp = {"paper": (64, 128), "small": (24, 32)}[scale]
    configs = _series([linear], seeds, LINEAR, 900)
    return configs | _series([with_mlp], seeds, MLP, 900)


def one_step(scale: str) -> Configs:
    """One step of gradient descent from zero, on all items at once, by width."""
    sizes = {
        "paper": ((8, 16, 32, 64, 128, 256, 512, 1024), 256, range(10)),
        "small": ((8, 16, 32, 64, 128, 256), 64, range(5)),
    }
    widths, items, seeds = sizes.get(scale, ((8, 64), 16, range(1)))
    task = Associations(n_items=items, n_classes=items)
    training = _training("W_O.0", 1, 10.0 * items, items, optimizer="sgd", momentum=0.0)
    configs: Configs = {}
    for d in widths:
        model = replace(BARE, d_model=d, d_mlp=0)
        for seed in seeds:
            configs[f"d={d},items={items},seed={seed}"] = RunConfig(
                task, model, training, seed
            )
    return configs


def _series(
    shapes: Iterable[tuple[int, int]],
    seeds: Iterable[int],
    shares: Sequence[float],
    steps: int = 300,
) -> Configs:
    """Memories of every shape, of fewer items and more: shares of the trained
    parameters.
    """
    seeds = tuple(seeds)
    configs: Configs = {}
    for d, m in shapes:
        parameters = 2 * d * m if m else d * d
        name = f"MLP d={d} m={m}" if m else f"linear d={d}"
        rate = 0.2 if m else 1.0
        trained = "W_in.0 W_out.0" if m else "W_O.0"
        model = replace(BARE, d_model=d, d_mlp=m)
        counts = [capacity.items_for(share * parameters) for share in shares]
        for n in dict.fromkeys(counts):
            training = _training(trained, steps, rate, n, cooldown_steps=steps // 2)
            for seed in seeds:
                config = RunConfig(Associations(n_items=n), model, training, seed)
                configs[f"{name},items={n},seed={seed}"] = config
    return configs


def _training(
    trained: str, steps: int, rate: float, items: int, **more: Any
) -> TrainingConfig:
    """All items at every step; measured at the end."""
    ends = {
        "eval_every": steps,
        "eval_examples": items,
        "checkpoint_every": 0,
        "save_every": steps,
    }
    return moving(Trained(trained), steps, rate, items, **ends, **more)


def shape(model: TransformerConfig) -> str:
    """Width, and hidden width if there is an MLP."""
    return f"d={model.d_model}" + ("" if model.attn_only else f" m={model.mlp_width}")


def size(model: TransformerConfig) -> tuple[int, int]:
    """The number of trained parameters: W_O, and W_in and W_out."""
    return (model.d_model**2 if model.attn_only else 0), capacity.trained_numbers(
        model
    )[1]


def every_item(run: Run) -> Batch:
    """All items, one a sequence."""
    task = task_of(run.config, Associations)
    return task.assemble((torch.arange(task.n_items, device=run.device),))


def kept(runs: Runs) -> list[capacity.Kept]:
    """N log N at capacity."""
    counts = capacity.capacities(runs, shape, every_item, size)
    return [replace(model, count=capacity.information(model.count)) for model in counts]


def associative(linear: Runs, with_mlp: Runs, longer: Runs) -> Measures:
    """Capacities of linear and MLP memories, their slopes, and whether more steps
    change them.
    """
    measures: Measures = {}
    known: dict[str, float] = {}
    for kind, runs in (("linear", linear), ("mlp", with_mlp)):
        models = kept(runs)
        known |= capacity.counted(models)
        measures |= capacity.measures(models, kind, "information")
        sizes = [model.point[0] for model in models if model.is_bracketed]
        span = {"largest / smallest": max(sizes) / min(sizes)} if sizes else {}
        measures[f"{kind}_range"] = span
    trained_longer = kept(longer)
    measures["memories_longer"] = {}
    for model in trained_longer:
        if model.name in known:
            measures["memories_longer"][model.name] = model.count / known[model.name]
    open_ended = capacity.counted(trained_longer, is_bracketed=False)
    measures["memories_longer_not_bracketed"] = open_ended
    return measures


def gradient(runs: Runs) -> Measures:
    """One step from zero, trained and written down, and memories of items of unequal
    frequency.

    What is not trained is drawn by the runs' seeds.
    """

    def row(run: Run) -> Row:
        share = capacity.accuracy(run, every_item(run))
        items = task_of(run.config, Associations).n_items
        is_wide = run.config.transformer.d_model >= 2 * items
        return {
            "gradient_accuracy": share,
            "gradient_accuracy_wide": share if is_wide else None,
            "gradient_as_written": _as_written(run),
        }

    seeds = seeds_of(runs)
    exact = {"gradient_exact_logits": exact_logits(seeds)}
    return {**by_run(runs, row), **exact, **zipf_exponents(seeds)}


def seeds_of(runs: Runs) -> tuple[int, ...]:
    """The seeds of runs, each once."""
    return tuple(sorted({run.config.seed for run in runs.values()}))


def exact_logits(seeds: Sequence[int]) -> dict[str, float]:
    """The largest distance of logits after one step from the lemma's, for orthonormal
    vectors.
    """
    errors = {}
    for n_items, n_classes in ((16, 16), (64, 64), (64, 8)):
        for seed in seeds:
            which = f"N={n_items} classes={n_classes},seed={seed}"
            errors[which] = _error_of_logits(n_items, n_classes, seed)
    return errors


def _error_of_logits(n_items: int, n_classes: int, seed: int) -> float:
    """The most that a logit is off after a step from zero, with orthonormal vectors."""
    generator = torch.Generator().manual_seed(seed)
    keys = memory.orthonormal_vectors(n_items, 64, generator)
    values = memory.orthonormal_vectors(n_classes, 64, generator)
    classes = torch.randint(n_classes, (n_items,), generator=generator)
    alike = torch.full((n_items,), 1 / n_items, dtype=keys.dtype)
    rate = float(n_items)
    weights = memory.one_step(values, keys, classes, alike, rate)
    right = torch.nn.functional.one_hot(classes, n_classes).double()
    expected = rate / n_items * (right - 1 / n_classes)
    off = memory.logits(weights, values, keys) - expected
    return off.abs().max().item()


def _as_written(run: Run) -> float:
    """The distance of a run's logits from those of the step written down, against the
    largest.
    """
    task = task_of(run.config, Associations)
    model = run.transformer()
    keys = model.embed.weight
    values = model.unembed.weight
    assert isinstance(keys, torch.Tensor)
    residual = keys @ values.T
    rate = run.config.training.learning_rate
    frequencies = torch.full((task.n_items,), 1 / task.n_items, dtype=keys.dtype)
    weights = memory.one_step(values, keys, task.classes(), frequencies, rate, residual)
    written = memory.logits(weights, values, keys) + residual
    off = predictions(model, every_item(run))[:, 0] - written
    return (off.abs().max() / written.abs().max()).item()


def zipf_exponents(seeds: tuple[int, ...]) -> Measures:
    """The fall of errors, as a power of width and of samples, against the expected
    power.

    Every number is a measured exponent over the expected one; where none is expected
    (all items kept alike: the error stays), the exponent itself.
    """
    measures: Measures = {f"zipf_{name}": {} for name in EXPECTED}
    measures["zipf_frequency_to_first"] = {}
    falls = {}
    for which, errors in zipf_errors(seeds).items():
        falls[which] = -power(errors.items())
    for (name, a, seed), fall in falls.items():
        run = f"a={a:g},seed={seed}"
        expected = EXPECTED[name](a)
        measures[f"zipf_{name}"][run] = fall / expected if expected else fall
        if name == "frequency":
            measures["zipf_frequency_to_first"][run] = fall / falls["first", a, seed]
    return measures


@cache
def zipf_errors(
    seeds: tuple[int, ...],
) -> dict[tuple[str, float, int], dict[int, float]]:
    """The error by width, for every scheme, and by samples (`samples`), for every a and
    seed.
    """
    curves = {}
    for seed in seeds:
        for (name, a), errors in _errors_of(seed).items():
            means = {at: statistics.mean(several) for at, several in errors.items()}
            curves[name, a, seed] = means
    return curves


def _errors_of(seed: int) -> dict[tuple[str, float], dict[int, list[float]]]:
    """The errors of a seed by scheme and a, at every width or number of samples."""
    generator = torch.Generator().manual_seed(seed)
    classes = torch.randint(N_CLASSES, (N_ITEMS,), generator=generator)
    errors: dict[tuple[str, float], dict[int, list[float]]] = {}
    for _ in range(REPEATS):
        for name, a, at, error in _drawn_errors(classes, generator):
            by_size = errors.setdefault((name, a), {})
            of_size = by_size.setdefault(at, [])
            of_size.append(error)
    return errors


def _drawn_errors(
    classes: torch.Tensor, generator: torch.Generator
) -> Iterator[tuple[str, float, int, float]]:
    """A scheme, a, width and error of every memory, with vectors drawn anew; then those
    of what has not been seen, with samples in place of widths."""
    for d in WIDTHS:
        keys = memory.random_vectors(N_ITEMS, d, generator)
        values = memory.random_vectors(N_CLASSES, d, generator)
        for a, name in product(EXPONENTS, SCHEMES):
            p = _zipf(N_ITEMS, a)
            strengths = memory.scheme(name, p, d).float()
            weights = memory.stored(values, keys, classes, strengths)
            yield name, a, d, memory.error(weights, values, keys, classes, p)
    for a, count in product(EXPONENTS, SAMPLES):
        unseen = memory.unseen(_zipf(N_SAMPLED, a), count, generator)
        yield "samples", a, count, unseen


_zipf = cache(memory.zipf)


def draw_associative(linear: Runs, with_mlp: Runs, _: Runs) -> Drawn:
    """The capacity against parameters, and accuracies against the number of items."""
    models = {"linear (d²)": kept(linear), "MLP (2 m d)": kept(with_mlp)}
    if not any(model.is_bracketed for same in models.values() for model in same):
        return {}
    title = "Associations kept, N log N, against trained parameters"
    figure = draw_panels(
        [capacity.capacity_panel(models, "N log N at 99 % accuracy, nats")]
    )
    return {"associative-memory": (title, figure)}


def draw_gradient(runs: Runs) -> Drawn:
    """A panel per exponent of the frequencies, and one for the samples: errors, dotted
    the power expected."""
    errors: dict[tuple[str, float], list[tuple[int, float]]] = {}
    for (name, a, _), curve in zipf_errors(seeds_of(runs)).items():
        errors.setdefault((name, a), []).extend(curve.items())
    panels = []
    for a in EXPONENTS:
        series = []
        for i, name in enumerate(SCHEMES):
            expected = EXPECTED[name](a)
            series += _falling(errors[name, a], expected, i, f"α: {name}")
        panels.append(_errors_panel(f"a = {a:g}", series, "width d"))
    series = []
    for i, a in enumerate(EXPONENTS):
        expected = EXPECTED["samples"](a)
        series += _falling(errors["samples", a], expected, i, f"a = {a:g}")
    panels.append(_errors_panel("room for all that was seen", series, "samples T"))
    title = "Errors of memories of Zipf frequencies, against width and samples"
    return {"zipf-memory": (title, draw_panels(panels))}


def _errors_panel(title: str, series: Sequence[Series], x: str) -> Panel:
    return Panel(title, series, x, "error (dotted: the power expected)", log="xy")


def _falling(
    points: Sequence[tuple[int, float]], power: float, number: int, label: str
) -> list[Series]:
    """Errors, their means, and below a power that leads to the last mean."""
    look = numbered(number, True, ls="")
    *dots, mean = means(points, look, label, statistics.geometric_mean)
    last = mean.x[-1]
    expected = [mean.y[-1] * (x / last) ** -power for x in mean.x]
    dotted = {**numbered(number), "ls": ":"}
    return [*dots, mean, Series(mean.x, expected, dotted)]


MLPS = "memories in an MLP, by width, hidden width and items"
SERIES = (
    Group(
        "memories-linear",
        "linear memories, by width and items",
        partial(series, "linear"),
    ),
    Group("memories-mlp", MLPS, partial(series, "mlp")),
    Group("memories-longer", "some of both, trained for longer", longer),
)
STEP = (Group("memories-one-step", "one gradient step from zero, by width", one_step),)
KEPT = (
    "how many associations a linear map and an MLP keep (arXiv 2310.02984, 2412.06538)"
)
STORED = "what one gradient step from zero stores (arXiv 2306.00802, 2310.02984)"
CAPACITY, GRADIENT = "associative-memory", "gradient-memory"
EXPERIMENTS = (
    Experiment(__file__, CAPACITY, KEPT, SERIES, associative, draw_associative),
    Experiment(__file__, GRADIENT, STORED, STEP, gradient, draw_gradient),
)
