"""The gradients of a step; on a CUDA device recorded once and launched as one (CUDA graphs)."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headway.tasks import Batch
from headway.training.curriculum import Ask
from headway.training.environment import casting, rounding

WARM = 3
"""Passes before a recording: libraries choose their kernels in the first ones."""

Loss = Callable[[Ask, Batch], Float[Tensor, ""]]


@dataclass(frozen=True)
class Recorded:
    """The work of a step for batches of one kind, as a CUDA graph.

    Attributes:
        graph: the work.
        batch: where it reads sequences.
        loss: where it puts the loss.
        gradients: where it puts each weight's gradient; None of a weight that has none.
    """

    graph: torch.cuda.CUDAGraph
    batch: Batch
    loss: Float[Tensor, ""]
    gradients: list[Tensor | None]


class Gradients:
    """Puts the gradients of a batch's loss on a model's weights.

    A small model's step is hundreds of kernels of microseconds each, and to launch them takes
    several times as long as to run them. So on a CUDA device the forward and the backward pass are
    recorded for every kind of batch (its shapes and what is asked), and launched at once from then
    on. Arithmetic is the same.

    Args:
        model: that learns.
        loss: of a batch.
        precision: of its matrix products.
        recorded: whether work may be recorded; it must not depend on values in a batch then.
    """

    def __init__(self, model: nn.Module, loss: Loss, precision: str, recorded: bool):
        self._weights = [weight for weight in model.parameters() if weight.requires_grad]
        self._device = next(model.parameters()).device
        self._loss, self._precision = loss, precision
        self._may_record = recorded and self._device.type == "cuda"
        self._known: dict[Hashable, Recorded] = {}

    def __call__(self, ask: Ask, batch: Batch) -> Float[Tensor, ""]:
        """The loss of a batch, its gradients being those of the weights now."""
        if not self._may_record:
            return self._computed(ask, batch)
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

    def _computed(self, ask: Ask, batch: Batch) -> Float[Tensor, ""]:
        for weight in self._weights:
            weight.grad = None
        with rounding(self._precision, self._device):
            with casting(self._precision, self._device):
                loss = self._loss(ask, batch)
            loss.backward()
        return loss.detach()

    def _record(self, ask: Ask, batch: Batch) -> Recorded:
        own = replace(batch, inputs=batch.inputs.clone(), targets=batch.targets.clone())
        aside = torch.cuda.Stream(self._device)
        aside.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(aside):
            for _ in range(WARM):
                self._computed(ask, own)
        torch.cuda.current_stream(self._device).wait_stream(aside)
        for weight in self._weights:
            weight.grad = None
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = self._computed(ask, own)
        return Recorded(graph, own, loss, [weight.grad for weight in self._weights])
