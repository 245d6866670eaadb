"""The passes of a step as CUDA graphs.

A small model's step is hundreds of kernels of microseconds each, and to launch them takes several
times as long as to run them. So on a CUDA device the forward and the backward pass are recorded for
every kind of batch (its shapes and what is asked), and launched at once from then on. Arithmetic is
the same.
"""

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headway.tasks import Batch
from headway.training.curriculum import Ask

WARM = 3
"""Passes before a recording: libraries choose their kernels in the first ones."""

Passes = Callable[[Ask, Batch], Float[Tensor, ""]]
"""Gives the loss of a batch, and leaves its gradients on the weights."""


class Recording(NamedTuple):
    """The passes of batches of one kind, as a CUDA graph.

    Attributes:
        graph: the passes.
        batch: where they read sequences.
        loss: where they put the loss.
        gradients: where they put each weight's gradient; None of a weight that has none.
    """

    graph: torch.cuda.CUDAGraph
    batch: Batch
    loss: Float[Tensor, ""]
    gradients: list[Tensor | None]


class Recorded:
    """Passes that are recorded once for every kind of batch.

    Args:
        passes: what is recorded; nothing in it may depend on values in a batch.
        model: that learns.
    """

    def __init__(self, passes: Passes, model: nn.Module):
        self._passes, self._weights = passes, list(model.parameters())
        self._known: dict[Hashable, Recording] = {}

    def __call__(self, ask: Ask, batch: Batch) -> Float[Tensor, ""]:
        """The loss of a batch, its gradients being those of the weights now."""
        kind = (ask.depth, ask.hops and (*ask.hops,), ask.layers, batch.inputs.shape)
        if kind not in self._known:
            self._known[kind] = self._record(ask, batch)
        known = self._known[kind]
        known.batch.inputs.copy_(batch.inputs)
        known.batch.targets.copy_(batch.targets)
        known.graph.replay()
        for weight, gradient in zip(self._weights, known.gradients, strict=True):
            weight.grad = gradient
        return known.loss.clone()

    def _record(self, ask: Ask, batch: Batch) -> Recording:
        own = replace(batch, inputs=batch.inputs.clone(), targets=batch.targets.clone())
        device = batch.inputs.device
        here, aside = torch.cuda.current_stream(device), torch.cuda.Stream(device)
        aside.wait_stream(here)
        with torch.cuda.stream(aside):
            for _ in range(WARM):
                self._passes(ask, own)
        here.wait_stream(aside)
        for weight in self._weights:
            weight.grad = None
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = self._passes(ask, own)
        return Recording(graph, own, loss, [weight.grad for weight in self._weights])
