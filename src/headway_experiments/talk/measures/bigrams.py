"""Measures of in-context bigrams: induction heads, and the order in which they are learnt."""

from collections.abc import Sequence

from headway.circuits import crossing, saved_discovery
from headway.tasks import Batch
from headway.training import Run, held_out
from headway_experiments.claims import Measures
from headway_experiments.experiment import Runs
from headway_experiments.reading import Row, accuracies, by_run, task_of
from headway_experiments.talk.measures.probes import (
    OUTPUT,
    PREVIOUS,
    PROBES,
    TRIGGER,
    chances,
    histories,
)
from headway_experiments.tasks import Bigrams
from headway_experiments.tasks.bigrams import ALL, LATEST
from headway_experiments.tasks.bigrams import PREVIOUS as PREVIOUS_TOKEN

SEQUENCES = 1024
"""Sequences on which accuracies are measured, none of them seen in training."""


def unseen(run: Run) -> Batch:
    """Sequences to measure a run on, which no training step saw."""
    return held_out(run.task, SEQUENCES, run.config.seed, run.device, "talk")


def in_context_accuracy(run: Run) -> float:
    """The share of the in-context outputs that the last weights predict."""
    return accuracies(run, unseen(run))["in-context"]


def induction(one: Runs, two: Runs, joint: Runs, stages: Runs) -> Measures:
    """One layer against two, the heads that are found in two, and the order in which the three
    associative memories of an induction head are learnt."""
    return {
        "induction_one_layer": {name: in_context_accuracy(run) for name, run in one.items()},
        "induction_two_layers": {name: in_context_accuracy(run) for name, run in two.items()},
        "induction_heads": {
            name: float(run.read("circuit.json") is not None and has_induction_head(run))
            for name, run in two.items()
        },
        **by_run(joint, memories),
        "induction_joint_gain": {
            name: final_in_context_loss(stages[name]) - final_in_context_loss(run)
            for name, run in joint.items()
            if name in stages
        },
    }


def memories(run: Run) -> Row:
    """The contents of the three trained weights of a run at last, with their dates and order."""
    steps, found = histories(run)
    dates = {
        probe: settled(steps, values, halfway(run, probe, values))
        for probe, values in found.items()
    }
    learnt = [date for probe in (OUTPUT, TRIGGER, PREVIOUS) if (date := dates[probe]) is not None]
    return {
        **{f"induction_recall_{probe}": values[-1] for probe, values in found.items()},
        **{f"induction_date_{probe}": date for probe, date in dates.items()},
        "induction_order": len(learnt) == 3 and learnt[0] < learnt[1] < learnt[2],
    }


def has_induction_head(run: Run) -> bool:
    """True if the run's circuit explains the model, and has a previous-token head in its first
    layer and, in its second, one that attends from a trigger to what followed it."""
    found = saved_discovery(run)
    paths = {(layer, relation) for layer, _, relation in found.circuit.paths}
    return found.faithful and (0, PREVIOUS_TOKEN) in paths and bool({(1, ALL), (1, LATEST)} & paths)


def final_in_context_loss(run: Run) -> float:
    """The last held-out loss of in-context outputs, in nats."""
    return run.metrics()[-1]["partial"]["in-context"]


def halfway(run: Run, probe: str, values: Sequence[float]) -> float:
    """The level between a probe's chance and its last value."""
    return (chances(task_of(run.config, Bigrams))[probe] + values[-1]) / 2


def settled(steps: Sequence[int], values: Sequence[float], level: float) -> float | None:
    """The step at which a curve rises above a level for good, interpolated; None if it ends below.

    A probe of a few triggers is above the level by chance now and then; that does not count.
    """
    below = [i for i, value in enumerate(values) if value <= level]
    start = below[-1] if below else 0
    return crossing(steps[start:], values[start:], level)


def three_steps(runs: Runs) -> Measures:
    """The three probes after the three steps of every run."""

    def probed(run: Run) -> Row:
        model, task = run.transformer(), task_of(run.config, Bigrams)
        return {f"three_steps_{probe}": recall(model, task) for probe, recall in PROBES.items()}

    return by_run(runs, probed)
