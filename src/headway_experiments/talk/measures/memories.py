"""Measures of associative memories, trained and written down."""

import functools
import statistics
from collections.abc import Sequence
from itertools import product

import torch

from headway.tasks import Batch
from headway.training import Run, predictions
from headway_experiments.claims import Measures
from headway_experiments.experiment import Runs
from headway_experiments.reading import Row, by_run, power, task_of
from headway_experiments.talk import associative_memory as memory
from headway_experiments.talk.measures.capacity import (
    Kept,
    accuracy,
    capacities,
    information,
    mlp_parameters,
)
from headway_experiments.tasks import Associations

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


def shape(run: Run) -> str:
    """Width, and hidden width if there is an MLP."""
    model = run.config.transformer
    return f"d={model.d_model}" + ("" if model.attn_only else f" m={model.mlp_width}")


def size(run: Run) -> tuple[int, int]:
    """The number of trained parameters: W_O, and W_in and W_out."""
    model = run.config.transformer
    return (model.d_model**2 if model.attn_only else 0), mlp_parameters(model)


def every_item(run: Run) -> Batch:
    """All items, one a sequence."""
    task = task_of(run.config, Associations)
    return task.assemble((torch.arange(task.n_items, device=run.device),))


def kept(runs: Runs) -> Kept:
    """N log N at capacity."""
    counts = capacities(runs, shape, size, every_item)
    found, missing = (
        {name: information(n) for name, n in numbers.items()}
        for numbers in (counts.found, counts.missing)
    )
    return Kept(found, missing, counts.sizes)


def associative(linear: Runs, with_mlp: Runs, longer: Runs) -> Measures:
    """Capacities of linear and MLP memories, their slopes, and whether more steps change them."""
    measured: Measures = {}
    known: dict[str, float] = {}
    for kind, runs in (("linear", linear), ("mlp", with_mlp)):
        here = kept(runs)
        known |= here.found
        measured[f"{kind}_information"] = here.found
        measured[f"{kind}_not_bracketed"] = here.missing
        measured[f"{kind}_slope"] = here.slopes()
        measured[f"{kind}_per_parameter"] = {
            name: nats / here.parameters(name) for name, nats in here.found.items()
        }
        over = [size for size, _ in here.points]
        measured[f"{kind}_range"] = {"largest / smallest": max(over) / min(over)} if over else {}
    found = kept(longer)
    every = {**found.found, **found.missing}.items()
    ratios = {name: nats / known[name] for name, nats in every if name in known}
    return {**measured, "memories_longer": ratios, "memories_longer_not_bracketed": found.missing}


def gradient(runs: Runs) -> Measures:
    """One step from zero, trained and written down, and memories of items of unequal frequency.

    What is not trained is drawn by the runs' seeds.
    """

    def row(run: Run) -> Row:
        share, items = known_share(run), task_of(run.config, Associations).n_items
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


def known_share(run: Run) -> float:
    """The share of the items whose class the last weights know."""
    return accuracy(run, every_item(run))


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
            expected = memory.one_step_logits(classes, n_classes, rate)
            off = (memory.logits(weights, values, keys) - expected).abs().max().item()
            found[f"N={n_items} classes={n_classes},seed={seed}"] = off
    return found


def _as_written(run: Run) -> float:
    """The distance of a run's logits from those of the step written down, against the largest."""
    task, model = task_of(run.config, Associations), run.transformer()
    keys, values = model.embed.weight, model.unembed.weight
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


@functools.cache
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
