"""The passes of a step as CUDA graphs.

A small model's step is hundreds of kernels of microseconds each, and to launch them
takes several times as long as to run them. So on a CUDA device the forward and the
backward pass are recorded for every kind of batch (its shapes and what is asked), and
launched at once from then on. Arithmetic is the same.
"""

from collections.abc import Callable, Hashable
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headway.tasks import Batch
from headway.training.curriculum import Ask

WARM = 3
"""Passes before a recording: libraries choose their kernels in the first ones."""

Passes = Callable[[Ask, Batch], Float[Tensor, ""]]
"""Gives the loss of a batch, and leaves its gradients on the weights."""


class Recorded:
    """Passes that are recorded once for every kind of batch.

    Args:
        passes: what is recorded; nothing in it may depend on values in a batch.
        model: that learns.
    """

    def __init__(self, passes: Passes, model: nn.Module):
        self._passes = passes
        self._weights = list(model.parameters())
        self._known: dict[Hashable, Callable[[Batch], Float[Tensor, ""]]] = {}

    def __call__(self, ask: Ask, batch: Batch) -> Float[Tensor, ""]:
        """The loss of a batch, its gradients being those of the weights now."""
        kind = (ask.depth, ask.hops and (*ask.hops,), ask.layers, batch.inputs.shape)
        if kind not in self._known:
            self._known[kind] = self._recorded(ask, batch)
        return self._known[kind](batch)

    def _recorded(self, ask: Ask, like: Batch) -> Callable[[Batch], Float[Tensor, ""]]:
        """The passes of batches of one kind, as a CUDA graph for one call."""
        read = replace(like, inputs=like.inputs.clone(), targets=like.targets.clone())
        device = like.inputs.device
        here = torch.cuda.current_stream(device)
        aside = torch.cuda.Stream(device)
        aside.wait_stream(here)
        with torch.cuda.stream(aside):
            for _ in range(WARM):
                self._passes(ask, read)
        here.wait_stream(aside)
        for weight in self._weights:
            weight.grad = None
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = self._passes(ask, read)
        gradients = [
            weight.grad for weight in self._weights
        ]  # None of one that has none

        def launched(batch: Batch) -> Float[Tensor, ""]:
            read.inputs.copy_(batch.inputs)
            read.targets.copy_(batch.targets)
            graph.replay()
            for weight, gradient in zip(self._weights, gradients, strict=True):
                weight.grad = gradient
            return loss.clone()

        return launched
