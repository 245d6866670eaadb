"""What is found wrong with a task, and calls of a user's code whose errors become findings."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from headway.errors import HeadwayError
from headway.tasks.base import Task
from headway.userfile import described, line_of, source_of


@dataclass(frozen=True)
class Finding:
    """What is wrong with a task.

    Attributes:
        attribute: of the task, such as `draw`.
        what: what is wrong with it.
        doubt: whether the task may be meant so; else it cannot be used.
    """

    attribute: str
    what: str
    doubt: bool = False

    def __str__(self):
        return f"{self.attribute}: {self.what}"


class WrongError(Exception):
    """Something is wrong, so that nothing after it can be tried."""

    def __init__(self, attribute: str, what: str):
        super().__init__(what)
        self.finding = Finding(attribute, what)


def must(holds: bool | Tensor, attribute: str, what: str) -> None:
    """Raises a `WrongError` unless something holds."""
    if not holds:
        raise WrongError(attribute, what)


def must_be_below(limit: int, numbers: Tensor, attribute: str, told: str, also: str = "") -> None:
    """Raises a `WrongError` unless whole numbers are from 0 to below a limit."""
    if numbers.numel() and (numbers.min() < 0 or numbers.max() >= limit):
        found = f"{told} {int(numbers.min())} to {int(numbers.max())}"
        raise WrongError(attribute, f"{found}: it must be 0 to {limit - 1}{also}")


def called(cls: type[Task], attribute: str, function: Callable[..., Any], *given: Any) -> Any:
    """What a function of the user's returns.

    Raises:
        WrongError: if it raises something: what, and at which line of the user's file.
    """
    try:
        return function(*given)
    except WrongError:
        raise
    except HeadwayError as error:
        raise WrongError(attribute, str(error)) from error
    except (Exception, SystemExit) as error:
        source = source_of(cls)
        line = line_of(error, source.file) if source else ""
        raise WrongError(attribute, f"it raised {described(error)}{line}") from error


def value_of(task: Task, attribute: str) -> Any:
    """An attribute of the user's task; a `WrongError` if reading it raises something."""
    return called(type(task), attribute, getattr, task, attribute)


def kind_of(value: Any) -> str:
    """What something is, such as `int64 [8, 12]`."""
    if isinstance(value, Tensor):
        layout = "nested" if value.is_nested else str(value.layout).removeprefix("torch.")
        shape = "" if value.is_nested else f" {list(value.shape)}"
        place = "" if value.device.type == "cpu" else f" on {value.device}"
        kind = str(value.dtype).removeprefix("torch.")
        return f"{'' if layout == 'strided' else f'{layout} '}{kind}{shape}{place}"
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {', '.join(map(kind_of, value)) or 'nothing'}"
    return "None" if value is None else f"a {type(value).__name__}"


def is_of(value: Any, dtype: torch.dtype, dimensions: int) -> bool:
    """Whether something is a tensor of a type of numbers and so many dimensions."""
    return isinstance(value, Tensor) and value.dtype == dtype and value.ndim == dimensions


def is_plain(value: Any) -> bool:
    """Whether something is a dense tensor on the CPU, where tasks are tried."""
    dense = isinstance(value, Tensor) and not value.is_nested and value.layout == torch.strided
    return dense and value.device.type == "cpu"


def same(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are the same, NaN where there is NaN."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(((one == other) | ((one != one) & (other != other))).all())
