"""The capacity of a model, the largest of a series of tasks that it learns, and its
growth with the parameters."""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from headway.models import TransformerConfig
from headway.tasks import Batch
from headway.training import Run
from headway_experiments.experiment import Measures, Runs
from headway_experiments.figures import Panel, Series, dotted, numbered
from headway_experiments.reading import accuracies, grouped, powers

BAR = 0.99
"""The accuracy from which on everything counts as kept."""


def items_for(parameters: float) -> int:
    """The N at which N log N is nearest to a number of parameters."""
    low = 1.0
    high = max(3.0, parameters)
    for _ in range(60):
        middle = (low + high) / 2
        if middle * math.log(middle) < parameters:
            low = middle
        else:
            high = middle
    return max(2, round(low))


def information(items: float) -> float:
    """N log N, the nats that it takes to name the class, out of N, of each of N
    items.
    """
    return items * math.log(items)


def trained_numbers(model: TransformerConfig) -> tuple[int, int]:
    """The numbers of all layers in W_Q, W_K, W_V and W_O, and in W_in and W_out."""
    attention = 4 * model.n_layers * model.n_heads * model.head_width * model.d_model
    return attention, 2 * model.n_layers * model.mlp_width * model.d_model


def accuracy(run: Run, everything: Batch) -> float:
    """The share of all items, or facts, that the last weights know."""
    (right,) = accuracies(run, everything).values()
    return right


def capacity(shares: Mapping[float, float]) -> float | None:
    """The capacity, from the accuracy by how much there was to keep.

    It is where the accuracy falls through `BAR` behind the largest number at which it
    does not lie below, interpolated linearly in the number's logarithm; None if it lies
    below at all numbers, or at none behind the largest.
    """
    counts = sorted(shares)
    kept = [i for i, count in enumerate(counts) if shares[count] >= BAR]
    if not kept or kept[-1] == len(counts) - 1:
        return None
    last = kept[-1]
    low, high = counts[last : last + 2]
    above = shares[low]
    below = shares[high]
    share = (above - BAR) / (above - below)
    return low * (high / low) ** share


@dataclass(frozen=True)
class Kept:
    """The capacity of a model of some shape and seed.

    Attributes:
        name: ends in `,seed=S`.
        count: how much it keeps; if that was not bracketed, a bound: the largest number
            that was tried if that was kept, the smallest if none was.
        is_bracketed: whether some run kept less and some run all.
        attention: numbers that are trained in attention.
        mlp: those in MLPs.
    """

    name: str
    count: float
    is_bracketed: bool
    attention: int
    mlp: int

    @property
    def shape(self) -> str:
        """The name without the seed."""
        return self.name.rpartition(",")[0]

    @property
    def seed(self) -> str:
        """The seed, as `seed=S`."""
        return self.name.rpartition(",")[2]

    @property
    def point(self) -> tuple[float, float]:
        """All numbers that are trained, and how much is kept."""
        return float(self.attention + self.mlp), self.count


def counted(kept: Iterable[Kept], is_bracketed: bool = True) -> dict[str, float]:
    """The facts kept where they were bracketed, or the bounds where not, by name."""
    return {
        model.name: model.count for model in kept if model.is_bracketed == is_bracketed
    }


def measures(kept: Sequence[Kept], kind: str, what: str) -> Measures:
    """Facts kept, runs not bracketed, and slopes, by names with a kind."""
    missing = counted(kept, is_bracketed=False)
    by_measure = {what: counted(kept), "not_bracketed": missing, "slope": slopes(kept)}
    return {f"{kind}_{name}": values for name, values in by_measure.items()}


def slopes(kept: Iterable[Kept]) -> dict[str, float]:
    """Seed by seed, the slope of log(what is kept) against log(parameters) over all
    shapes.

    Bounds count as what is kept, so a slope that leaves the series is at least drawn to
    that side.
    """
    return powers(grouped((model.seed, model.point) for model in kept))


def capacities(
    runs: Runs,
    shape: Callable[[TransformerConfig], str],
    everything: Callable[[Run], Batch],
    size: Callable[[TransformerConfig], tuple[int, int]] = trained_numbers,
) -> list[Kept]:
    """The capacity of every shape and seed.

    Args:
        runs: by name, each of one shape, one seed and one number of things to keep.
        shape: the name that the runs of a series share.
        everything: that a run is to keep, each item or fact in one sequence.
        size: the numbers that are trained, in attention and in MLPs.
    """
    series: dict[str, dict[float, float]] = {}
    sizes = {}
    for run in runs.values():
        model = run.config.transformer
        name = f"{shape(model)},seed={run.config.seed}"
        sizes[name] = size(model)
        batch = everything(run)
        count = float(len(batch.inputs))
        series.setdefault(name, {})[count] = accuracy(run, batch)
    return [_kept(name, shares, sizes[name]) for name, shares in series.items()]


def _kept(name: str, shares: Mapping[float, float], size: tuple[int, int]) -> Kept:
    """The capacity by the shares kept of ever more; or the end that was reached or
    not.
    """
    count = capacity(shares)
    if count is not None:
        return Kept(name, count, True, *size)
    most = max(shares)
    end = most if shares[most] >= BAR else min(shares)
    return Kept(name, end, False, *size)


def capacity_panel(kinds: Mapping[str, Iterable[Kept]], kept: str) -> Panel:
    """Capacity against trained parameters: a dot per model, a straight line per kind on
    two logarithmic axes, and one of slope 1.

    Args:
        kinds: models by kind, of which at least one was bracketed.
        kept: what is kept.
    """
    series = []
    every = []
    for i, (name, models) in enumerate(kinds.items()):
        points = [model.point for model in models if model.is_bracketed]
        every += points
        series += _points_and_line(points, name, i)
    share = statistics.geometric_mean(count / size for size, count in every)
    ends = [min(every)[0], max(every)[0]]
    label = f"{share:.2g} a parameter"
    foretold = [share * size for size in ends]
    series.append(Series(ends, foretold, dotted(), label))
    return Panel("", series, "trained parameters", kept, log="xy")


def _points_and_line(
    points: Sequence[tuple[float, float]], name: str, number: int
) -> list[Series]:
    """Models by size, and the line that fits them, which has the name if there is
    one.
    """
    line = _fitted(points, name, number)
    sizes = [size for size, _ in points]
    counts = [count for _, count in points]
    look = numbered(number, marker=True, ls="none", ms=4, alpha=0.6)
    return [*line, Series(sizes, counts, look, "" if line else name)]


def _fitted(
    points: Sequence[tuple[float, float]], name: str, number: int
) -> list[Series]:
    """The power that fits points best, if they are of more than one size."""
    sizes = sorted({size for size, _ in points})
    if len(sizes) < 2:
        return []
    log_sizes = [math.log(size) for size, _ in points]
    log_counts = [math.log(count) for _, count in points]
    slope, start = statistics.linear_regression(log_sizes, log_counts)
    fitted = [math.exp(start) * size**slope for size in sizes]
    return [Series(sizes, fitted, numbered(number), f"{name}, slope {slope:.2f}")]
