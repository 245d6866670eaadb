"""The loss, and what it is made of: one partial loss a hop."""

import torch
from jaxtyping import Float
from torch import Tensor

from headway.models import Transformer
from headway.tasks import Batch

CHUNK = 512
"""Sequences that are evaluated at once."""


def partial_losses(
    predicted: Float[Tensor, "batch query target"], targets: Float[Tensor, "batch query hop token"]
) -> Float[Tensor, " hop"]:
    """The mean squared error of every hop alone; their mean is the loss."""
    return (predicted.unflatten(-1, targets.shape[2:]) - targets).square().mean((0, 1, 3))


@torch.no_grad()
def evaluate(model: Transformer, batch: Batch, chunk: int = CHUNK) -> Float[Tensor, " hop"]:
    """The partial losses on a batch, computed so many sequences at a time."""
    predicted = torch.cat([model(inputs) for inputs in batch.inputs.split(chunk)])
    return partial_losses(predicted, batch.targets)
