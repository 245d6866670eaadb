"""Which runs can be trained in one stack."""

from collections.abc import Sequence
from typing import Any

from headway.errors import require
from headway.training.config import CURRICULUM, RunConfig, flat

ONE_SHAPE = (
    *("task", "model", "device", "threads"),
    *("training.batch_size", "training.eval_examples", "training.curriculum"),
    *("training.optimizer", "training.precision"),
)
"""What the runs of a stack must agree in. All else is each one's own: seed, data, rates, decay,
schedule, when it is evaluated, saved, stopped or given up."""


def shape_of(config: RunConfig) -> dict[str, Any] | None:
    """What `ONE_SHAPE` names of a config, by dotted name; None if it can be in no stack.

    Runs of which this is the same can be trained in one stack.
    """
    if _problem(config):
        return None
    return {
        name: value
        for name, value in flat(config).items()
        if any(name == part or name.startswith(f"{part}.") for part in ONE_SHAPE)
    }


def require_one_shape(configs: Sequence[RunConfig]) -> None:
    """Checks that runs can be trained in one stack.

    Raises:
        HeadwayError: if they differ in what `ONE_SHAPE` names, or can be in no stack; it names the
            field.
    """
    if len(configs) < 2:
        return
    for config in configs:
        if problem := _problem(config):
            require(False, *problem)
    shapes = [shape_of(config) or {} for config in configs]
    for other in shapes[1:]:
        for name in [*shapes[0], *other]:
            value, first = other.get(name), shapes[0].get(name)
            require(value == first, name, value, f"{first!r} as in the stack's first run")


def _problem(config: RunConfig) -> tuple[str, Any, str] | None:
    """The field for which a run can be in no stack, its value, and what would be allowed."""
    training = config.training
    if not training.curriculum.is_steady:
        kind = training.curriculum.kind
        return CURRICULUM, kind, "implicit in a stack of runs, or another that never changes"
    if training.optimizer == "sgd":
        return "training.optimizer", "sgd", "adam or muon in a stack of runs"
    if training.clamped:
        return "training.clamped", ", ".join(training.clamped), "no path in a stack of runs"
    return None
