"""Many models of one shape that learn at once, each as it would alone.

One small model leaves a GPU idle. The model's code knows nothing of replicas: `torch.vmap` runs it
with the weights of all, so that products of matrices become products of stacks of matrices.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn, vmap
from torch.func import functional_call

from headway.models import Transformer
from headway.tasks import Batch, Task
from headway.training.losses import CHUNK
from headway.training.optimisers import Optimisers
from headway.training.precision import casting, rounding
from headway.training.stacked.optimisers import stacked_like


class Stack:
    """Models that learn together: row by row the weights of each, all side by side in one tensor.

    An error in one row stays in it: no operation looks across rows, and the gradient of the sum of
    the losses is, row by row, that of the row's own loss.

    Args:
        models: the models, and the optimisers of each.
        task: that all of them learn.
        precision: of matrix products.
    """

    def __init__(
        self, models: Sequence[tuple[Transformer, Optimisers]], task: Task, precision: str
    ):
        self._model, optimisers = models[0]
        self._targets, self._precision = task.targets, precision
        self._optimisers = [stacked_like(len(models), like) for like in optimisers.each]
        names = {id(weight): name for name, weight in self._model.named_parameters()}
        self._names = [
            names[id(weight)]
            for optimiser in optimisers.each
            for group in optimiser.param_groups
            for weight in group["params"]
        ]
        self._linear = {
            f"{name}.{kind}"
            for name, module in self._model.named_modules()
            if isinstance(module, nn.Linear)
            for kind in ("weight", "bias")
        }
        self._shapes = [shape for o in self._optimisers for shape in o.shapes]
        self._sizes = [size for o in self._optimisers for size in o.sizes]
        device = next(self._model.parameters()).device
        self._weights = torch.zeros(len(models), sum(self._sizes), device=device)
        for row, (model, own) in enumerate(models):
            self.put(row, model, own)

    def step(self, batch: Batch, scales: Sequence[float]) -> Float[Tensor, " row"]:
        """Makes one step of all rows and returns the losses before it, on the device.

        Args:
            batch: the sequences of all rows, one row's after the other's.
            scales: the factor on every row's rates.
        """
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
        return self._targets.loss(self._predict(weights, inputs), targets)

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
        """The loss of every hop of some rows, each on its own batch."""
        weights = self._named(self._weights[rows])
        inputs = torch.stack([batch.inputs for batch in batches])
        predicted = [vmap(self._predict)(weights, part) for part in inputs.split(CHUNK, dim=1)]
        targets = torch.stack([batch.targets for batch in batches])
        losses = vmap(self._targets.partial_losses)(torch.cat(predicted, dim=1), targets)
        return losses.tolist()

    def weights(self, row: int) -> dict[str, Tensor]:
        """A row's weights as they are now, named as in the model."""
        return self._named(self._weights[row].cpu())

    def memory(self, row: int) -> dict[str, Tensor]:
        """What a row's optimisers remember, as `Optimisers.state` has it."""
        return {
            f"optimizer.{i}.{name}": value
            for i, optimiser in enumerate(self._optimisers)
            for name, value in optimiser.state_of(row).items()
        }

    def put(self, row: int, model: Transformer, optimisers: Optimisers) -> None:
        """Puts a model and its optimisers in a row's place."""
        named = model.state_dict()
        self._weights[row] = torch.cat([named[name].flatten() for name in self._names])
        for mine, theirs in zip(self._optimisers, optimisers.each, strict=True):
            mine.put(row, theirs)

    def keep(self, rows: Sequence[int]) -> None:
        """Lets all rows but these go, so that no work is done for what has ended."""
        self._weights = self._weights[rows]
        for optimiser in self._optimisers:
            optimiser.keep(rows)
