"""What is measured of k-fold composition, from the run folders alone."""

from typing import Literal

from headway.circuits.emergence import hop_steps, learnt_in_order
from headway.papers.claims import Measures
from headway.papers.experiment import Runs
from headway.papers.reading import accuracies, task_of
from headway.tasks import Composition
from headway.training import Run
from headway.training.curriculum import Scheduled
from headway.training.data import held_out

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
    if isinstance(run.config.training.curriculum, Scheduled):
        return "easy-to-hard"
    return "alone" if run.task.n_hops == 1 else "mixture"


def asked(run: Run) -> tuple[int, ...]:
    """The k that a run is asked for."""
    return task_of(run.config, Composition).asked


def problem(run: Run) -> tuple[int, int]:
    """N, and the largest k that a run is asked for."""
    return task_of(run.config, Composition).n_symbols, asked(run)[-1]


def learnt(run: Run) -> dict[int, float]:
    """The step at which each k that is ever learnt was: its loss passes below 0.5."""
    dated = hop_steps(run.metrics(), run.task.hops).values()
    return {k: step for k, step in zip(asked(run), dated, strict=True) if step is not None}


def curricula(runs: Runs) -> Measures:
    """Accuracies of the largest k with the most symbols, by way of asking; steps; orders; growth.

    Growth is what time the largest k takes over what one hop takes: by every hop more,
    (t_K / t_1)^(1 / (K - 1)), and against K times as much, t_K / (K t_1). What is never learnt
    counts as the steps that were made, so growth is then at least so much. A mixture that learns
    nothing is not in order.
    """
    kinds = ("hard_only", "mixture", "easy_to_hard", "steps", "in_order", "growth", "times_linear")
    found: Measures = {f"composition_{kind}": {} for kind in kinds}
    hardest = max((problem(run) for run in runs.values() if way_of(run) == "mixture"), default=None)
    times: dict[str, dict[int, float]] = {}
    for name, run in runs.items():
        way, dated = way_of(run), learnt(run)
        every = f"N={problem(run)[0]},seed={run.config.seed}"
        if problem(run) == hardest:
            found[f"composition_{HARDEST[way]}"][name] = last_accuracy(run)
        for k, step in dated.items():
            found["composition_steps"][f"k={k},{way},{every}"] = step
        taken = {k: dated.get(k, run.config.training.steps) for k in asked(run)}
        if way == "alone":
            times.setdefault(every, {}).update(taken)
        if way == "mixture":
            hops = hop_steps(run.metrics(), run.task.hops)
            found["composition_in_order"][name] = float(
                bool(learnt_in_order(hops, run.task.hop_order))
            )
            most = max(taken)
            found["composition_times_linear"][every] = taken[most] / (most * taken[1])
    for every, taken in times.items():
        most = max(taken)
        if most == 1 or 1 not in taken:
            continue  # A run is missing, as one that failed.
        found["composition_growth"][every] = (taken[most] / taken[1]) ** (1 / (most - 1))
    return found


def last_accuracy(run: Run) -> float:
    """How often a model says rightly where the most hops that it is asked for lead."""
    batch = held_out(run.task, SEQUENCES, run.config.seed, run.device, "accuracy")
    return accuracies(run, batch)[run.task.hops[-1]]
