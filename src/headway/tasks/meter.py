"""A meter of computation: work that would take too much is ended early.

The fields of a task that somebody else wrote down may ask for any size. How large its
sequences are is known only when they are laid out, so that is where numbers are
counted.
"""

import math
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

AT_ONCE = 2**25
"""The most numbers that one operation may make."""
IN_ALL = 2**28
"""The most numbers that all operations may make together."""

PIECE = 2**13
"""Numbers that an operation counts for at least, by the time that it takes."""


class TooMuchError(Exception):
    """More numbers would be computed than are allowed."""


class Meter(TorchDispatchMode):
    """Counts the numbers that torch makes within it.

    Attributes:
        made: so many were.

    Raises:
        TooMuchError: from the operation that would make too many; nothing is made of
            it.
    """

    def __init__(self):
        super().__init__()
        self.made = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Does an operation if it is not too large."""
        numbers = expected(func, args, kwargs or {})
        self.made += PIECE + numbers
        if numbers > AT_ONCE or self.made > IN_ALL:
            raise TooMuchError
        return func(*args, **(kwargs or {}))


def expected(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """About how many numbers an operation makes, by its arguments, at most."""
    leaves = tree_leaves((args, kwargs))
    shapes = [leaf.shape for leaf in leaves if isinstance(leaf, Tensor)]
    counts = [math.prod(shape) for shape in shapes]
    if torch.Tag.pointwise in func.tags and shapes:
        together = torch.broadcast_shapes(*shapes)
        counts.append(math.prod(together))
    for given in (*args, *kwargs.values()):
        if isinstance(given, list | tuple) and all(type(size) is int for size in given):
            counts.append(abs(math.prod(given)))  # of a size that is left open, -1
    if func.overloadpacket is torch.ops.aten.arange:
        ends = [end for end in args if isinstance(end, int | float)]
        counts += [math.ceil(abs(end)) for end in ends]
    return max(counts, default=0)
