"""Replicas: many models of one shape that learn at once, each as it would alone.

One small model leaves a GPU idle. Its code knows nothing of replicas: `torch.vmap` runs it with
all their weights, and what were products of matrices are products of stacks of matrices.
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn, vmap
from torch.func import functional_call

from headway.errors import require
from headway.tasks import Batch
from headway.training.config import RunConfig, flat
from headway.training.learner import Learner, Single
from headway.training.losses import CHUNK, loss, partial_losses
from headway.training.precision import casting, rounding
from headway.training.stacked_optimisers import stacked_like

ONE_SHAPE = (
    *("task", "model", "device", "threads"),
    *("training.batch_size", "training.eval_examples"),
    *("training.optimizer", "training.decay_on", "training.precision"),
)
"""What the runs of a stack must agree in. All else is each one's own: seed, data, rates, decay,
schedule, when it is evaluated, saved, stopped or given up."""

PLAIN = {
    "training.depths": "full",
    "training.targets": "all",
    "training.supervise": "end",
    "training.trained": None,
}
"""What every run of a stack must ask for."""


def shape_of(config: RunConfig) -> dict[str, Any] | None:
    """What `ONE_SHAPE` names of a config, by dotted name; none if it can be in no stack.

    Runs of which this is the same can be trained in one stack.
    """
    fields = flat(config)
    if any(fields[name] != value for name, value in PLAIN.items()):
        return None
    return {
        name: value
        for name, value in fields.items()
        if name in ONE_SHAPE or name.split(".")[0] in ONE_SHAPE
    }


def require_one_shape(configs: Sequence[RunConfig]) -> None:
    """Checks that runs can be trained in one stack.

    Raises:
        HeadwayError: if they differ in what `ONE_SHAPE` names, or ask for something else than
            `PLAIN` says; the field is told.
    """
    if len(configs) > 1:
        for config in configs:
            fields = flat(config)
            for name, value in PLAIN.items():
                require(fields[name] == value, name, fields[name], f"{value} in a stack of runs")
    shapes = [shape_of(config) or {} for config in configs]
    for other in shapes[1:]:
        for name in [*shapes[0], *other]:
            value, first = other.get(name), shapes[0].get(name)
            require(value == first, name, value, f"{first!r} as in the stack's first run")


class Stacked(Learner):
    """Models that learn together: row by row the weights of each, all side by side in one tensor.

    What is wrong in one row stays in it: no operation looks across rows, and the gradient of the
    sum of the losses is each one's own.
    """

    def __init__(self, singles: Sequence[Single]):
        first = singles[0]
        self._model, self._precision = first.model, first.precision
        self._optimisers = [stacked_like(len(singles), like) for like in first.optimisers]
        names = {id(weight): name for name, weight in first.model.named_parameters()}
        self._names = [
            names[id(weight)]
            for optimiser in first.optimisers
            for group in optimiser.param_groups
            for weight in group["params"]
        ]
        self._linear = {
            f"{name}.{kind}"
            for name, module in first.model.named_modules()
            if isinstance(module, nn.Linear)
            for kind in ("weight", "bias")
        }
        self._shapes = [shape for o in self._optimisers for shape in o.shapes]
        self._sizes = [size for o in self._optimisers for size in o.sizes]
        device = next(first.model.parameters()).device
        self._weights = torch.zeros(len(singles), sum(self._sizes), device=device)
        for row, single in enumerate(singles):
            self.put(row, single)

    def step(self, batch: Batch, scales: Sequence[float], stage: int = 0) -> Float[Tensor, " row"]:
        """Makes one step and returns the losses before it, on the device."""
        inputs = batch.inputs.unflatten(0, (len(scales), -1))
        targets = batch.targets.unflatten(0, (len(scales), -1))
        weights = self._weights.requires_grad_()
        with rounding(self._precision, inputs.device):
            with casting(self._precision, inputs.device):
                losses = vmap(self._loss)(self._cast(self._named(weights)), inputs, targets)
            (gradient,) = torch.autograd.grad(losses.sum(), weights)
            self._weights = weights.detach()
            widths = [sum(optimiser.sizes) for optimiser in self._optimisers]
            factors = torch.tensor(scales, dtype=torch.float64)
            for optimiser, own, slope in zip(
                self._optimisers,
                self._weights.split(widths, dim=1),
                gradient.split(widths, dim=1),
                strict=True,
            ):
                optimiser.step(own, slope, factors)
        return losses.detach()

    def _loss(self, weights: dict[str, Tensor], inputs: Tensor, targets: Tensor) -> Tensor:
        return loss(self._predict(weights, inputs), targets)

    def _predict(self, weights: dict[str, Tensor], inputs: Tensor) -> Tensor:
        return functional_call(self._model, weights, (inputs,))

    def _named(self, weights: Float[Tensor, "*row number"]) -> dict[str, Tensor]:
        """Weights by name, of one row or many."""
        pieces = zip(self._names, weights.split(self._sizes, dim=-1), self._shapes, strict=True)
        return {name: numbers.unflatten(-1, shape) for name, numbers, shape in pieces}

    def _cast(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """As autocast would: under `vmap` it forgets biases, and adding them in float32 would make
        all that follows float32."""
        if self._precision != "bfloat16":
            return weights
        return {name: w.bfloat16() if name in self._linear else w for name, w in weights.items()}

    @torch.no_grad()
    def evaluate(self, rows: Sequence[int], batches: Sequence[Batch]) -> list[list[float]]:
        """The partial losses of some rows, each on its own batch."""
        weights = self._named(self._weights[rows])
        inputs = torch.stack([batch.inputs for batch in batches])
        predicted = [vmap(self._predict)(weights, part) for part in inputs.split(CHUNK, dim=1)]
        targets = torch.stack([batch.targets for batch in batches])
        return vmap(partial_losses)(torch.cat(predicted, dim=1), targets).tolist()

    def weights(self, row: int) -> dict[str, Tensor]:
        """A row's weights as they are now."""
        return self._named(self._weights[row].cpu())

    def state(self, row: int) -> dict[str, Tensor]:
        """A row's weights and the state of its optimisers, as `Single.state` has them."""
        weights = {f"model.{name}": value for name, value in self.weights(row).items()}
        moments = {
            f"optimizer.{i}.{name}": value
            for i, optimiser in enumerate(self._optimisers)
            for name, value in optimiser.state_of(row).items()
        }
        return {**weights, **moments}

    def put(self, row: int, other: Single) -> None:
        """Puts a single model and its optimisers in a row's place."""
        named = other.model.state_dict()
        self._weights[row] = torch.cat([named[name].flatten() for name in self._names])
        for mine, theirs in zip(self._optimisers, other.optimisers, strict=True):
            mine.put(row, theirs)

    def keep(self, rows: Sequence[int]) -> None:
        """Lets all rows but these go, so that no work is done for what has ended."""
        self._weights = self._weights[rows]
        for optimiser in self._optimisers:
            optimiser.keep(rows)
