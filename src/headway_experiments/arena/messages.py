"""What heads read, seen and changed: products of an attention pattern and values.

A model with a tap of its own is watched by a mode of torch for the pattern that the tap passed on.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function
from torch.overrides import TorchFunctionMode

from headway.models import Tappable, Tapped

PRODUCTS = {torch.matmul, torch.bmm, torch.Tensor.matmul, torch.Tensor.__matmul__, torch.Tensor.bmm}

Product = Callable[[Tensor, Tensor], Tensor]
Read = Callable[[int, Tensor, Tensor, Product], Tensor]
"""Given a layer, its pattern, the values that it meets and how they are multiplied; gives what the
heads read."""


class Reading(TorchFunctionMode):
    """Runs a model whose heads read what `read` gives."""

    def __init__(self, read: Read):
        super().__init__()
        self.read, self.layer = read, 0
        self.pattern: Tensor | None = None

    def run(self, model: Tappable, inputs: Tensor) -> Tensor:
        """The model's outputs."""
        with self:
            if isinstance(model, Tapped):
                return model(inputs, self.tap, lambda at: self.meet(at.layer, *at[1:3], at.product))
            return model(inputs, self.tap)

    def tap(self, layer: int, pattern: Tensor) -> Tensor:
        """Passes a pattern on, and waits for the values that it meets."""
        self.layer, self.pattern = layer, pattern
        return pattern

    def meet(self, layer: int, pattern: Tensor, values: Tensor, product: Product) -> Tensor:
        """The values that are read where a pattern meets them."""
        return self.read(layer, pattern, values, product)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in PRODUCTS and args[0] is self.pattern:
            return self.meet(self.layer, *args, func)
        return func(*args, **(kwargs or {}))


class Gentle(Reading):
    """As `Reading`, with the gradients of GIM (Edin et al. 2025, arXiv 2505.17630).

    Outputs are as they are. On the way back a softmax has the derivative that it has at a higher
    temperature, LayerNorms divide by constants, and a gradient that meets a product is shared
    evenly among its factors: half for the pattern and half for the values, and of the pattern's
    half, half each for queries and keys. The pattern itself keeps its whole gradient.
    """

    TEMPERATURE = 2.0
    """As in the paper."""

    def tap(self, layer: int, pattern: Tensor) -> Tensor:
        """Passes a pattern on, whose softmax has another derivative."""
        return super().tap(layer, _Tempered.apply(pattern, self.TEMPERATURE))

    def meet(self, layer: int, pattern: Tensor, values: Tensor, product: Product) -> Tensor:
        """The values that are read, which get half of the gradient."""
        return super().meet(layer, pattern, _scaled(values, 0.5), product)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is F.layer_norm:
            return _frozen_norm(*args, **(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs)


class _Tempered(Function):
    """A pattern as it is. What its softmax passes on is a quarter of what it would at T."""

    @staticmethod
    def forward(ctx: Any, pattern: Tensor, temperature: float) -> Tensor:
        ctx.save_for_backward(pattern)
        ctx.temperature = temperature
        return pattern.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (pattern,), (grad,) = ctx.saved_tensors, grads
        softer = pattern ** (1 / ctx.temperature)
        softer = softer / softer.sum(-1, keepdim=True)
        wanted = softer * (grad - (softer * grad).sum(-1, keepdim=True))
        return torch.where(pattern > 0, wanted / pattern, 0.0) / 4, None


def _scaled(value: Tensor, share: float) -> Tensor:
    """A tensor as it is, through which so much of the gradient passes."""
    return value * share + value.detach() * (1 - share)


def _frozen_norm(
    value: Tensor, shape: list[int], weight: Tensor, bias: Tensor, eps: float = 1e-5
) -> Tensor:
    """LayerNorm with a standard deviation that is taken for a constant."""
    axes = tuple(range(-len(shape), 0))
    centred = value - value.mean(axes, keepdim=True)
    apart = (centred.square().mean(axes, keepdim=True) + eps).sqrt()
    return centred / apart.detach() * weight + bias
