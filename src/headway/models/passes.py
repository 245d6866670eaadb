"""A pass of somebody's module, alone or with its attention caught."""

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from headway.errors import HeadwayError
from headway.userfile import described

if TYPE_CHECKING:
    from headway.models.interception import Interception


def intercepted(module: nn.Module, inputs: Tensor, seen: "Interception") -> Tensor:
    """The output of a module whose attention is caught.

    Args:
        module: that is called.
        inputs: its only argument.
        seen: catches attention.

    Raises:
        HeadwayError: if the module fails, or its attention cannot be seen.
    """
    try:
        with eagerly(), seen:
            return output_of(module, inputs)
    except HeadwayError:
        if seen.failed is not None:
            raise seen.failed from None
        raise


def output_of(module: nn.Module, inputs: Tensor) -> Tensor:
    """The tensor that a module gives.

    Raises:
        HeadwayError: if it gives none, or fails.
    """
    name = type(module).__name__
    try:
        result = module(inputs)
    except HeadwayError:
        raise
    except Exception as error:  # whatever a module of somebody's may raise
        shape = list(inputs.shape)
        raise HeadwayError(f"{name} raises {described(error)}, at inputs of {shape}") from error
    first = next(iter(result), None) if isinstance(result, tuple) else result
    output = getattr(result, "logits", first)
    if not (isinstance(output, Tensor) and output.is_floating_point()):
        raise HeadwayError(
            f"the output of {name} is a {type(result).__name__}: it must be a floating-point "
            "tensor, a tuple that starts with one, or an object with .logits"
        )
    return output


def eagerly() -> AbstractContextManager[Any]:
    """Lets compiled modules run as they were written, so that their calls are seen, and without a
    compilation of their own."""
    if "torch._dynamo" not in sys.modules:  # nothing is compiled, and to load it takes a second
        return nullcontext()
    return torch.compiler.set_stance("force_eager")
