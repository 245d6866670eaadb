"""Readings of a run that several measures share."""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar, cast

from headway.dynamics import hop_steps, learnt_in_order
from headway.tasks import Batch, Task
from headway.theory import witness
from headway.training import Run, RunConfig, predictions
from headway_experiments.experiment import Measures, Runs

Row = Mapping[str, float | Mapping[str, float] | None]
"""The measures of a run: a number, several by what they are of, or None if nothing can
be said.
"""

LAST = 100
"""Steps over which the final loss is averaged (section 7.1)."""

SOLVED = 0.05
"""The validation MSE below which a task counts as solved, as a circuit does (section
8).
"""

Kind = TypeVar("Kind", bound=Task)
Key = TypeVar("Key")
Value = TypeVar("Value")


def by_run(runs: Runs, row: Callable[[Run], Row]) -> Measures:
    """The measures of runs, by run. If a run has several numbers of a measure, each is
    named after the run and what it is of.
    """
    measures: Measures = {}
    for name, run in runs.items():
        for measure, value in row(run).items():
            here = measures.setdefault(measure, {})
            if isinstance(value, Mapping):
                for which, number in value.items():
                    here[f"{name} {which}"] = float(number)
            elif value is not None:
                here[name] = float(value)
    return measures


def task_of(config: RunConfig, kind: type[Kind]) -> Kind:
    """The task of a run, whose kind the experiment that it belongs to knows."""
    return cast(Kind, config.task)


def accuracies(run: Run, batch: Batch) -> dict[str, float]:
    """The share of right answers that the last weights give, by hop."""
    outputs = predictions(run.transformer(), batch)
    right = run.task.targets.accuracies(outputs, batch.targets)
    return dict(zip(run.task.hops, right.tolist(), strict=True))


def is_solved(run: Run) -> bool:
    """True if a run solves its task at last."""
    return run.metrics()[-1]["val_loss"] < SOLVED


def final_loss(run: Run) -> float:
    """The validation loss, averaged over the evaluations in the last 100 steps."""
    metrics = run.metrics()
    since = metrics[-1]["step"] - LAST
    return statistics.mean(line["val_loss"] for line in metrics if line["step"] > since)


def in_order(run: Run) -> float | None:
    """1 if the hops were learnt in the order of the chain, else 0; None if that cannot
    be said.
    """
    hops = hop_steps(run.metrics(), run.task.hops)
    order = learnt_in_order(hops, run.task.hop_order)
    return None if order is None else float(order)


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """The values of every key, in the order of the pairs."""
    values_of: dict[Key, list[Value]] = {}
    for key, value in pairs:
        values_of.setdefault(key, []).append(value)
    return values_of


def power(points: Iterable[tuple[float, float]]) -> float:
    """The power of x as which y grows: the slope of log(y) against log(x), by least
    squares.
    """
    x_logs = []
    y_logs = []
    for x, y in points:
        x_logs.append(math.log(x))
        y_logs.append(math.log(y))
    return statistics.linear_regression(x_logs, y_logs).slope


def powers(points: Mapping[str, list[tuple[float, float]]]) -> dict[str, float]:
    """The `power` of every name that has two x or more."""
    powers = {}
    for name, some in points.items():
        places = {x for x, _ in some}
        if len(places) > 1:
            powers[name] = power(some)
    return powers


def taken_apart(run: Run) -> bool:
    """True if its circuit was found and dated."""
    return (
        run.read("circuit.json") is not None and run.read("emergence.json") is not None
    )


def least_heads(config: RunConfig) -> int | None:
    """The heads of a circuit with the fewest layers; None if no number of layers is
    enough.
    """
    flow = config.task.flow()
    causal = config.transformer.causal
    if flow is None or flow.minimum_layers(causal) is None:
        return None
    return witness(flow, causal).heads


def minimum(run: Run) -> int | None:
    """The least number of layers by information flow; None if no number is enough."""
    flow = run.config.task.flow()
    return None if flow is None else flow.minimum_layers(run.config.transformer.causal)


def correlations(
    points: Mapping[str, Sequence[tuple[float, float]]],
) -> dict[str, float]:
    """Spearman's rank correlation, ties sharing a rank, of names with two x and two y
    or more.
    """
    correlations = {}
    for name, some in points.items():
        sides = list(zip(*some, strict=True))
        if sides and all(len({*side}) > 1 for side in sides):
            x, y = map(_ranks, sides)
            correlations[name] = statistics.correlation(x, y)
    return correlations


def _ranks(values: Sequence[float]) -> list[int]:
    """Ranks, doubled; alike values share the mean of theirs."""
    ranks = []
    for value in values:
        below = sum(other < value for other in values)
        up_to = sum(other <= value for other in values)
        ranks.append(below + up_to)
    return ranks
