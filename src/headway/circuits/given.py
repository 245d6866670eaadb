"""What is studied where no run is: a model and its task, as they are given."""

from typing import Any

from headway.errors import HeadwayError, require
from headway.models import Tappable, Transformer, tapped
from headway.tasks import Task
from headway.training.data import generator_for


def require_task(task: Task | None) -> Task:
    """The task that a model is studied with, which must be given."""
    if task is None:
        raise HeadwayError("task = None is not allowed: a model is studied together with its task")
    return task


def with_tap(model: Any, task: Task) -> Tappable:
    """A model as it is if it has a tap, or else with one put into its attention.

    Raises:
        HeadwayError: if its attention cannot be tapped, or is linear.
    """
    if isinstance(model, Transformer):
        require(
            model.config.attention == "softmax",
            "model.attention",
            model.config.attention,
            "softmax: a circuit says where heads look; linear scores are no shares of attention",
        )
    if isinstance(model, Tappable):
        return model
    example = task.sample(2, generator_for(device_of(model), "example"))
    return tapped(model, example.inputs)


def device_of(model: Any) -> str:
    """Where a model computes; the CPU if it has no parameters."""
    parameters = getattr(model, "parameters", None)
    first = None if parameters is None else next(iter(parameters()), None)
    return "cpu" if first is None else str(first.device)
