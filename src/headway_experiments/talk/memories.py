"""Weights as associative memories: how much they hold, and what one gradient step stores (Cabannes
et al. 2024, arXiv 2310.02984; Bietti et al. 2023, arXiv 2306.00802; Nichani et al. 2024, arXiv
2412.06538).

A sequence is one item, so attention has nothing to choose from, and a model of one layer without
norms and positions is x + W_O W_V x with x = e_z: a linear memory, W_V being a frozen rotation.
With attention that says nothing and an MLP it is x + W_out act(W_in x). Embeddings and read-out
are random and stay.
"""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import product
from typing import Any

import torch

from headway.models import TransformerConfig
from headway.tasks import Batch
from headway.training import Run, RunConfig, TrainingConfig, predictions
from headway_experiments.experiment import Configs, Drawn, Experiment, Group, Measures, Runs
from headway_experiments.figures import Panel, Series, draw_panels, means, numbered
from headway_experiments.reading import Row, by_run, grouped, power, task_of
from headway_experiments.recipes import moving
from headway_experiments.talk import associative_memory as memory
from headway_experiments.talk import capacity
from headway_experiments.tasks import Associations
from headway_experiments.trained import Trained

BARE = TransformerConfig(n_layers=1, norm="none", positions="none", init="associative")

LINEAR = [0.35 * 1.1**i for i in range(20)]
"""N log N over the parameters of a linear memory: the series of runs that brackets its capacity. It
is wide enough to bracket a capacity that grows with another power of them, too."""
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
"""The expected fall of the error with the width, or with the samples: minus the power."""
WIDTHS = (8, 16, 32, 64, 128, 256)
SAMPLES = (10, 30, 100, 300, 1_000, 3_000, 10_000)
N_ITEMS, N_CLASSES, N_SAMPLED = 4_000, 5, 200_000
REPEATS = 10
"""Draws of all vectors, or of samples, over which an error is averaged: the laws are of means."""

SHAPES = {
    "linear": {
        "paper": ([(d, 0) for d in (8, 16, 32, 64, 128, 256)], range(5), LINEAR),
        "small": ([(d, 0) for d in (8, 12, 16, 24, 32, 48)], range(10), LINEAR),
        "smoke": ([(6, 0), (12, 0)], range(1), LINEAR[7::6]),
    },
    "mlp": {
        "paper": ([*product((32, 64, 128), (32, 128, 512))], range(5), MLP),
        "small": ([*product((16, 24, 32), (8, 32, 128))], range(10), MLP),
        "smoke": ([(12, 12)], range(1), MLP[3::3]),
    },
}
"""Widths and hidden widths (0: linear), seeds, and the series that brackets each."""


def series(kind: str, scale: str) -> Configs:
    """Linear memories of the identity, or memories in an MLP, trained on all items at once."""
    return _series(*SHAPES[kind][scale])


def longer(scale: str) -> Configs:
    """Some of both with three times the steps, to see whether steps or parameters limit them."""
    seeds = SHAPES["linear"][scale][1]
    if scale == "smoke":
        return _series([(6, 0)], seeds, LINEAR[7::6], 900)
    one, other = {"paper": ((128, 0), (64, 128)), "small": ((32, 0), (24, 32))}[scale]
    return _series([one], seeds, LINEAR, 900) | _series([other], seeds, MLP, 900)


def one_step(scale: str) -> Configs:
    """One step of gradient descent from zero, on all items at once, by width."""
    widths, items, seeds = {
        "paper": ((8, 16, 32, 64, 128, 256, 512, 1024), 256, range(10)),
        "small": ((8, 16, 32, 64, 128, 256), 64, range(5)),
    }.get(scale, ((8, 64), 16, range(1)))
    return {
        f"d={d},items={items},seed={seed}": RunConfig(
            task=Associations(n_items=items, n_classes=items),
            model=replace(BARE, d_model=d, d_mlp=0),
            training=_training("W_O.0", 1, 10.0 * items, items, optimizer="sgd", momentum=0.0),
            seed=seed,
        )
        for d in widths
        for seed in seeds
    }


def _series(
    shapes: Iterable[tuple[int, int]],
    seeds: Iterable[int],
    shares: Sequence[float],
    steps: int = 300,
) -> Configs:
    """Runs that bracket what memories of some widths and hidden widths (0: linear) hold."""
    seeds = tuple(seeds)
    configs: Configs = {}
    for d, m in shapes:
        name, parameters = (f"MLP d={d} m={m}", 2 * d * m) if m else (f"linear d={d}", d * d)
        rate, trained = (0.2, "W_in.0 W_out.0") if m else (1.0, "W_O.0")
        for n in dict.fromkeys(capacity.items_for(share * parameters) for share in shares):
            for seed in seeds:
                training = _training(trained, steps, rate, n, cooldown_steps=steps // 2)
                model = replace(BARE, d_model=d, d_mlp=m)
                config = RunConfig(Associations(n_items=n), model, training, seed)
                configs[f"{name},items={n},seed={seed}"] = config
    return configs


def _training(trained: str, steps: int, rate: float, items: int, **more: Any) -> TrainingConfig:
    """All items at every step; measured at the end."""
    ends = {"eval_every": steps, "eval_examples": items, "checkpoint_every": 0, "save_every": steps}
    return moving(Trained(trained), steps, rate, items, **ends, **more)


def shape(model: TransformerConfig) -> str:
    """Width, and hidden width if there is an MLP."""
    return f"d={model.d_model}" + ("" if model.attn_only else f" m={model.mlp_width}")


def size(model: TransformerConfig) -> tuple[int, int]:
    """The number of trained parameters: W_O, and W_in and W_out."""
    return (model.d_model**2 if model.attn_only else 0), capacity.trained_numbers(model)[1]


def every_item(run: Run) -> Batch:
    """All items, one a sequence."""
    task = task_of(run.config, Associations)
    return task.assemble((torch.arange(task.n_items, device=run.device),))


def kept(runs: Runs) -> list[capacity.Kept]:
    """N log N at capacity."""
    counts = capacity.capacities(runs, shape, every_item, size)
    return [replace(one, count=capacity.information(one.count)) for one in counts]


def associative(linear: Runs, with_mlp: Runs, longer: Runs) -> Measures:
    """Capacities of linear and MLP memories, their slopes, and whether more steps change them."""
    measured: Measures = {}
    known: dict[str, float] = {}
    for kind, runs in (("linear", linear), ("mlp", with_mlp)):
        here = kept(runs)
        known |= capacity.counted(here)
        measured |= capacity.measures(here, kind, "information")
        over = [one.point[0] for one in here if one.is_bracketed]
        measured[f"{kind}_range"] = {"largest / smallest": max(over) / min(over)} if over else {}
    found = kept(longer)
    return {
        **measured,
        "memories_longer": {
            one.name: one.count / known[one.name] for one in found if one.name in known
        },
        "memories_longer_not_bracketed": capacity.counted(found, is_bracketed=False),
    }


def gradient(runs: Runs) -> Measures:
    """One step from zero, trained and written down, and memories of items of unequal frequency.

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
    """The largest distance of logits after one step from the lemma's, for orthonormal vectors."""
    found = {}
    for n_items, n_classes in ((16, 16), (64, 64), (64, 8)):
        for seed in seeds:
            generator = torch.Generator().manual_seed(seed)
            keys = memory.orthonormal_vectors(n_items, 64, generator)
            values = memory.orthonormal_vectors(n_classes, 64, generator)
            classes = torch.randint(n_classes, (n_items,), generator=generator)
            alike = torch.full((n_items,), 1 / n_items, dtype=keys.dtype)
            rate = float(n_items)
            weights = memory.one_step(values, keys, classes, alike, rate)
            right = torch.nn.functional.one_hot(classes, n_classes).double()
            expected = rate / n_items * (right - 1 / n_classes)
            off = (memory.logits(weights, values, keys) - expected).abs().max().item()
            found[f"N={n_items} classes={n_classes},seed={seed}"] = off
    return found


def _as_written(run: Run) -> float:
    """The distance of a run's logits from those of the step written down, against the largest."""
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
    trained = predictions(model, every_item(run))[:, 0]
    return ((trained - written).abs().max() / written.abs().max()).item()


def zipf_exponents(seeds: tuple[int, ...]) -> Measures:
    """The fall of errors, as a power of width and of samples, against the expected power.

    Every number is a measured exponent over the expected one; where none is expected (all items
    kept alike: the error stays), the exponent itself.
    """
    measured: Measures = {f"zipf_{name}": {} for name in EXPECTED}
    found = {which: -power(errors.items()) for which, errors in zipf_errors(seeds).items()}
    for (name, a, seed), fall in found.items():
        expected = EXPECTED[name](a)
        measured[f"zipf_{name}"][f"a={a:g},seed={seed}"] = fall / expected if expected else fall
    measured["zipf_frequency_to_first"] = {
        f"a={a:g},seed={seed}": fall / found["first", a, seed]
        for (name, a, seed), fall in found.items()
        if name == "frequency"
    }
    return measured


@cache
def zipf_errors(seeds: tuple[int, ...]) -> dict[tuple[str, float, int], dict[int, float]]:
    """The error by width, for every scheme, and by samples (`samples`), for every a and seed."""
    drawn: dict[tuple[str, float, int], dict[int, list[float]]] = {}

    def note(name: str, a: float, seed: int, at: int, error: float) -> None:
        drawn.setdefault((name, a, seed), {}).setdefault(at, []).append(error)

    frequencies = {a: memory.zipf(N_ITEMS, a) for a in EXPONENTS}
    tails = {a: memory.zipf(N_SAMPLED, a) for a in EXPONENTS}
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        classes = torch.randint(N_CLASSES, (N_ITEMS,), generator=generator)
        for _ in range(REPEATS):
            for d in WIDTHS:
                keys = memory.random_vectors(N_ITEMS, d, generator)
                values = memory.random_vectors(N_CLASSES, d, generator)
                for (a, p), name in product(frequencies.items(), SCHEMES):
                    strengths = memory.scheme(name, p, d).float()
                    weights = memory.stored(values, keys, classes, strengths)
                    note(name, a, seed, d, memory.error(weights, values, keys, classes, p))
            for (a, p), count in product(tails.items(), SAMPLES):
                note("samples", a, seed, count, memory.unseen(p, count, generator))
    return {
        which: {at: statistics.mean(errors) for at, errors in curve.items()}
        for which, curve in drawn.items()
    }


def draw_associative(linear: Runs, with_mlp: Runs, _: Runs) -> Drawn:
    """The capacity against parameters, and accuracies against the number of items."""
    found = {"linear (d²)": kept(linear), "MLP (2 m d)": kept(with_mlp)}
    if not any(one.is_bracketed for some in found.values() for one in some):
        return {}
    title = "Associations kept, N log N, against trained parameters"
    figure = draw_panels([capacity.capacity_panel(found, "N log N at 99 % accuracy, nats")])
    return {"associative-memory": (title, figure)}


def draw_gradient(runs: Runs) -> Drawn:
    """A panel per exponent of the frequencies, and one for the samples: errors, dotted the power
    expected."""
    curves = zipf_errors(seeds_of(runs)).items()
    errors = grouped(((name, a), each) for (name, a, _), one in curves for each in one.items())

    def fall(name: str, a: float, number: int, label: str) -> list[Series]:
        *dots, mean = means(
            errors[name, a], numbered(number, True, ls=""), label, statistics.geometric_mean
        )
        last = mean.x[-1]
        power = EXPECTED[name](a)
        expected = [mean.y[-1] * (x / last) ** -power for x in mean.x]
        return [*dots, mean, Series(mean.x, expected, {**numbered(number), "ls": ":"})]

    kinds = {f"a = {a:g}": [(name, a, f"α: {name}") for name in SCHEMES] for a in EXPONENTS}
    kinds["room for all that was seen"] = [("samples", a, f"a = {a:g}") for a in EXPONENTS]
    panels = []
    for title, lines in kinds.items():
        series = [
            one for i, (name, a, label) in enumerate(lines) for one in fall(name, a, i, label)
        ]
        x = "samples T" if lines[0][0] == "samples" else "width d"
        y = "error (dotted: the power expected)"
        panels.append(Panel(title, series, x, y, log="xy"))
    title = "Errors of memories of Zipf frequencies, against width and samples"
    return {"zipf-memory": (title, draw_panels(panels))}


MLPS = "memories in an MLP, by width, hidden width and items"
SERIES = (
    Group("memories-linear", "linear memories, by width and items", partial(series, "linear")),
    Group("memories-mlp", MLPS, partial(series, "mlp")),
    Group("memories-longer", "some of both, trained for longer", longer),
)
STEP = (Group("memories-one-step", "one gradient step from zero, by width", one_step),)
KEPT = "how many associations a linear map and an MLP keep (arXiv 2310.02984, 2412.06538)"
STORED = "what one gradient step from zero stores (arXiv 2306.00802, 2310.02984)"
CAPACITY, GRADIENT = "associative-memory", "gradient-memory"
EXPERIMENTS = (
    Experiment(__file__, CAPACITY, KEPT, SERIES, associative, draw_associative),
    Experiment(__file__, GRADIENT, STORED, STEP, gradient, draw_gradient),
)
