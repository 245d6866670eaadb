"""The tap: what a model hands every attention pattern to, and what has one."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

Tap = Callable[[int, Float[Tensor, "batch head query key"]], Tensor]
"""Called with a layer and its attention pattern; the layer uses the pattern that is returned."""


@runtime_checkable
class Tappable(Protocol):
    """A model with a tap: what discovery, emergence and the page need of one."""

    @property
    def n_layers(self) -> int:
        """The number of calls of the tap in one pass, with 0, 1, …"""
        ...

    @property
    def n_heads(self) -> int:
        """Heads in every layer."""
        ...

    def __call__(self, inputs: Tensor, tap: Tap | None = None) -> Tensor:
        """Outputs [batch, position or read-out, output]; every pattern passes through `tap`."""
        ...


def attention_patterns(
    model: Tappable, inputs: Tensor, through: Tap | None = None
) -> Float[Tensor, "batch layer head query key"]:
    """The attention pattern of every head of every layer, edited by the tap `through`."""
    seen: list[Tensor] = []

    def record(layer: int, pattern: Tensor) -> Tensor:
        seen.append(pattern if through is None else through(layer, pattern))
        return seen[-1]

    model(inputs, record)
    return torch.stack(seen, dim=1)
