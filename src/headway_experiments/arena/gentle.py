"""The gradients of GIM (Edin et al. 2025, arXiv 2505.17630); outputs are as they are.

On the way back a softmax has the derivative that it has at a higher temperature,
LayerNorms divide by constants, and a gradient that meets a product is shared evenly
among its factors: half for the pattern and half for the values, and of the pattern's
half, half each for queries and keys.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function
from torch.overrides import TorchFunctionMode

TEMPERATURE = 2.0
"""As in the paper."""


class FrozenNorms(TorchFunctionMode):
    """A context in which gradients take the standard deviations of LayerNorms for
    constants.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        called = _frozen_norm if func is F.layer_norm else func
        return called(*args, **(kwargs or {}))


def _frozen_norm(
    value: Tensor, shape: list[int], weight: Tensor, bias: Tensor, eps: float = 1e-5
) -> Tensor:
    axes = tuple(range(-len(shape), 0))
    centred = value - value.mean(axes, keepdim=True)
    variance = centred.square().mean(axes, keepdim=True)
    deviation = (variance + eps).sqrt()
    return centred / deviation.detach() * weight + bias


class Tempered(Function):
    """The identity on a pattern. Behind it, the softmax passes on a quarter of the
    gradient that it would have at a higher temperature.
    """

    @staticmethod
    def forward(ctx: Any, pattern: Tensor) -> Tensor:
        """The pattern."""
        ctx.save_for_backward(pattern)
        return pattern.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        """The gradient that the derivative of the ordinary softmax turns into that
        one.
        """
        (pattern,), (grad,) = ctx.saved_tensors, grads
        softer = pattern ** (1 / TEMPERATURE)
        softer = softer / softer.sum(-1, keepdim=True)
        mean = (softer * grad).sum(-1, keepdim=True)
        wanted = softer * (grad - mean)
        return torch.where(pattern > 0, wanted / pattern, 0.0) / 4


def halved(values: Tensor) -> Tensor:
    """Values as they are, which get half of the gradient."""
    return values / 2 + values.detach() / 2
