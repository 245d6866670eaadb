"""What is measured of k-fold composition, from the run folders alone."""

from typing import Literal

import torch

from headway.circuits.emergence import hop_steps, learnt_in_order
from headway.papers.claims import Measures
from headway.papers.measures.reading import Runs
from headway.tasks import CompositionConfig
from headway.training import Run
from headway.training.data import held_out
from headway.training.losses import accuracies, predictions

SEQUENCES = 512

Way = Literal["alone", "mixture", "easy-to-hard"]
HARDEST: dict[Way, str] = {
    "alone": "hard_only",
    "mixture": "mixture",
    "easy-to-hard": "easy_to_hard",
}
"""What the accuracy of the largest k is called, by how it was asked for."""


def way_of(run: Run) -> Way:
    """How a run is asked for its hops: for one k alone, for several at once, or one by one."""
    if run.config.training.targets == "rising":
        return "easy-to-hard"
    return "alone" if run.task.n_hops == 1 else "mixture"


def asked(run: Run) -> tuple[int, ...]:
    """The k that a run is asked for."""
    return _task(run).hops


def problem(run: Run) -> tuple[int, int]:
    """N, and the largest k that a run is asked for."""
    return _task(run).n_symbols, asked(run)[-1]


def _task(run: Run) -> CompositionConfig:
    task = run.config.task
    assert isinstance(task, CompositionConfig)
    return task


def learnt(run: Run) -> dict[int, float]:
    """The step at which each k that is ever learnt was: its loss passes below 0.5."""
    dated = hop_steps(run.metrics(), run.task.hop_names).values()
    return {k: step for k, step in zip(asked(run), dated, strict=True) if step is not None}


def curricula(runs: Runs) -> Measures:
    """Accuracies of the largest k with the most symbols by way of asking; orders; growth of time.

    Growth is the factor by which the steps to learn k hops grow with every hop more, on average:
    (steps for the most hops that are learnt / steps for the first)^(1 / hops more).
    """
    found: Measures = {}

    def put(measure: str, name: str, value: float) -> None:
        found.setdefault(f"composition_{measure}", {})[name] = value

    largest = max((problem(run) for run in runs.values()), default=(0, 0))
    steps: dict[tuple[str, str], dict[int, float]] = {}
    for name, run in runs.items():
        way, dated = way_of(run), learnt(run)
        every = f"N={problem(run)[0]},seed={run.config.seed}"
        if problem(run) == largest:
            put(HARDEST[way], name, last_accuracy(run))
        for k, step in dated.items():
            put("steps", f"k={k},{way},{every}", step)
        if way == "mixture":
            order = learnt_in_order(
                hop_steps(run.metrics(), run.task.hop_names), run.task.hop_order
            )
            put("in_order", name, float(order or False))
        if way != "easy-to-hard":
            steps.setdefault((way, every), {}).update(dated)
    for (way, every), dated in steps.items():
        first, last = min(dated, default=1), max(dated, default=1)
        if last > first == 1:
            put(f"growth_{way}", every, (dated[last] / dated[first]) ** (1 / (last - first)))
    return found


@torch.no_grad()
def last_accuracy(run: Run) -> float:
    """How often a model says rightly where the most hops that it is asked for lead."""
    batch = held_out(run.task, SEQUENCES, run.config.seed, run.device, "accuracy")
    return accuracies(predictions(run.model(), batch), batch.targets)[-1].item()
