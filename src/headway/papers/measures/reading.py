"""What several measures read off a run."""

import statistics
from collections.abc import Mapping, Sequence

import numpy as np

from headway.circuits.emergence import hop_steps, learnt_in_order
from headway.theory import flow_of, proven_minimum, witness
from headway.training import Run, RunConfig

LAST = 100
"""Steps over which the final loss is averaged (section 7.1)."""

Runs = Mapping[str, Run]
"""The runs of one group that are done, by name."""


def final_loss(run: Run) -> float:
    """The validation loss, averaged over the evaluations in the last 100 steps."""
    metrics = run.metrics()
    since = metrics[-1]["step"] - LAST
    return statistics.mean(line["val_loss"] for line in metrics if line["step"] > since)


def in_order(run: Run) -> float | None:
    """Whether the hops were learnt in the order of the chain; none if that cannot be said."""
    hops = hop_steps(run.metrics(), run.task.hop_names)
    order = learnt_in_order(hops, run.task.hop_order)
    return None if order is None else float(order)


def taken_apart(run: Run) -> bool:
    """Whether its circuit was found and dated."""
    return run.read("circuit.json") is not None and run.read("emergence.json") is not None


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's, of numbers that are not all the same; equal ones share their ranks."""
    ranks = [_ranks(values).tolist() for values in (first, second)]
    return statistics.correlation(*ranks)


def _ranks(values: Sequence[float]) -> np.ndarray:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[place]


def least_heads(config: RunConfig) -> int | None:
    """The heads of a circuit with the fewest layers; none if no number of layers is enough."""
    causal = config.model.causal
    if proven_minimum(config.task, causal) is None:
        return None
    return witness(flow_of(config.task), causal).heads
