"""What is studied without a run: a model, its task and a circuit."""

import inspect
from pathlib import Path
from typing import Any, TypeGuard

from torch import Tensor, nn

from headway.circuits.mechanism import Circuit
from headway.circuits.patterns import ABLATIONS
from headway.errors import HeadwayError, require
from headway.models import Tappable, Transformer, tapped
from headway.tasks import Task
from headway.tasks.checking import require_sound
from headway.training.data import generator_for
from headway.training.files import read_json


def require_task(task: Task | None) -> Task:
    """The task that a model is studied with, which must be given, and be of use."""
    if task is None:
        raise HeadwayError("task = None is not allowed: a model is studied together with its task")
    require_sound(task)
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
    if has_tap(model):
        return model
    example = task.sample(2, generator_for(device_of(model), "example"))
    if "logits_to_keep" in inspect.signature(getattr(model, "forward", model)).parameters:
        model = ReadOut(model, task.n_read)
    return tapped(model, example.inputs)


class ReadOut(nn.Module):
    """A language model of Transformers that computes logits at a sequence's last positions alone,
    as they take long with many tokens to choose from."""

    def __init__(self, model: nn.Module, positions: int):
        super().__init__()
        self.model, self.positions = model, positions

    def forward(self, inputs: Tensor) -> Any:
        """What the model puts out, with logits [sequence, position, token]."""
        return self.model(inputs, use_cache=False, logits_to_keep=self.positions)


def has_tap(model: Any) -> TypeGuard[Tappable]:
    """Whether a model hands its attention patterns to a `tap`, as `Tappable` says; a wrapper that
    takes any arguments is believed to."""
    if not isinstance(model, Tappable):
        return False
    taken = inspect.signature(model.forward if isinstance(model, nn.Module) else model).parameters
    return "tap" in taken or any(one.kind is one.VAR_POSITIONAL for one in taken.values())


def device_of(model: Any) -> str:
    """Where a model computes; the CPU if it has no parameters."""
    parameters = getattr(model, "parameters", None)
    first = None if parameters is None else next(iter(parameters()), None)
    return "cpu" if first is None else str(first.device)


def read_circuit(path: Path) -> Circuit:
    """The circuit in a file: a `circuit.json`, or its heads alone.

    Raises:
        HeadwayError: if the file cannot be read or holds no circuit.
    """
    return read_given(path)[0]


def read_given(path: Path) -> tuple[Circuit, str]:
    """The circuit in a file, and what stands in rows without a path; nothing else is read of it.

    Raises:
        HeadwayError: if there is none.
    """
    data = read_json(path)
    rows = data.get("ablation", "zero") if isinstance(data, dict) else "zero"
    known = isinstance(rows, str) and rows in ABLATIONS
    require(known, f"{path}: ablation", rows, f"one of {', '.join(ABLATIONS)}")
    try:
        return Circuit.from_json(data.get("heads", data) if isinstance(data, dict) else data), rows
    except HeadwayError as error:
        raise HeadwayError(f"{path}: no circuit: {error}") from None
