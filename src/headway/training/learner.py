"""What learns: weights and optimisers, which turn batches into losses and steps."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import nullcontext

import torch
from jaxtyping import Float
from torch import Tensor

from headway.models import Transformer
from headway.tasks import Batch
from headway.training.config import TrainingConfig
from headway.training.losses import evaluate, loss
from headway.training.optimisers import flatten_state, make_optimisers, restore_state
from headway.training.precision import casting, resolved, rounding
from headway.training.trained import Trained


def read_by_layers(
    model: Transformer, inputs: Float[Tensor, "batch position d_input"], hops: int
) -> list[Float[Tensor, "batch query target"]]:
    """What the model reads out after layer ⌈j · n_layers / hops⌉, for every hop j from 1."""
    layers = [-(-hop * model.config.n_layers // hops) for hop in range(1, hops + 1)]
    streams = enumerate(model.streams(inputs), start=1)
    return [model.read(stream) for layer, stream in streams if layer in layers]


class Learner(ABC):
    """Models of one shape that make every step together; a row is one of them."""

    @abstractmethod
    def step(self, batch: Batch, scales: Sequence[float], stage: int = 0) -> Float[Tensor, " row"]:
        """Makes one step and returns the losses before it, on the device.

        Args:
            batch: the sequences of all rows, one row's after the other's.
            scales: the factor on every row's rates.
            stage: which weights are trained (see `TrainingConfig.trained`).
        """

    @abstractmethod
    def evaluate(self, rows: Sequence[int], batches: Sequence[Batch]) -> list[list[float]]:
        """The partial losses of some rows, each on its own batch."""

    @abstractmethod
    def weights(self, row: int) -> dict[str, Tensor]:
        """A row's weights as they are now, named as in the model."""

    @abstractmethod
    def state(self, row: int) -> dict[str, Tensor]:
        """All that a row needs to go on: its weights and the state of its optimisers."""

    @abstractmethod
    def put(self, row: int, other: "Single") -> None:
        """Puts another in a row's place."""

    @abstractmethod
    def keep(self, rows: Sequence[int]) -> None:
        """Lets all rows but these go; those that stay are counted anew."""


class Single(Learner):
    """One model, learning alone."""

    def __init__(self, model: Transformer, config: TrainingConfig):
        self.model, self.supervise = model, config.supervise
        self.precision = resolved(config.precision, next(model.parameters()).device)
        self.trained = None if config.trained is None else Trained(model, config.trained)
        self.optimisers = make_optimisers(model, config)
        self._note_rates()

    def _note_rates(self) -> None:
        self._full_rates = [
            (group, group["lr"], group["weight_decay"])
            for optimiser in self.optimisers
            for group in optimiser.param_groups
        ]

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Takes over what `state` gave.

        Raises:
            ValueError, RuntimeError: if it is the state of another model.
        """
        prefix = "model."
        weights = {
            name.removeprefix(prefix): value
            for name, value in tensors.items()
            if name.startswith(prefix)
        }
        self.model.load_state_dict(weights)
        restore_state(self.optimisers, tensors)
        self._note_rates()

    def step(self, batch: Batch, scales: Sequence[float], stage: int = 0) -> Float[Tensor, " row"]:
        """Makes one step and returns the loss before it, on the device."""
        (scale,), device = scales, batch.inputs.device
        with rounding(self.precision, device):
            with casting(self.precision, device):
                predicted = self._predicted(batch)
            lost = loss(predicted, batch.targets)
            for optimiser in self.optimisers:
                optimiser.zero_grad()
            lost.backward()
            for group, rate, decay in self._full_rates:
                group["lr"], group["weight_decay"] = rate * scale, decay * scale
            with self.trained.holding(stage) if self.trained else nullcontext():
                for optimiser in self.optimisers:
                    optimiser.step()
        return lost.detach()[None]

    def _predicted(self, batch: Batch) -> Float[Tensor, "batch query target"]:
        """What the model says to the targets of a batch."""
        if not batch.targets.is_floating_point():
            return self.model(batch.inputs)
        hops, size = batch.targets.shape[2:]
        if self.supervise == "layers":
            return torch.cat(read_by_layers(self.model, batch.inputs, hops), -1)
        predicted = self.model(batch.inputs)
        if batch.asked is None:
            return predicted[..., : hops * size]
        return predicted.unflatten(-1, (-1, size))[..., batch.asked, :].flatten(-2)

    def evaluate(self, rows: Sequence[int], batches: Sequence[Batch]) -> list[list[float]]:
        """The partial losses."""
        return [evaluate(self.model, batch).tolist() for batch in batches]

    def weights(self, row: int) -> dict[str, Tensor]:
        """The weights as they are now."""
        return self.model.state_dict()

    def state(self, row: int) -> dict[str, Tensor]:
        """The weights and the state of the optimisers."""
        weights = {f"model.{name}": value for name, value in self.weights(row).items()}
        return {**weights, **flatten_state(self.optimisers)}

    def put(self, row: int, other: "Single") -> None:
        """Becomes the other."""
        self.model, self.optimisers, self.trained = other.model, other.optimisers, other.trained
        self._note_rates()

    def keep(self, rows: Sequence[int]) -> None:
        """Stays: alone, it goes only when all is over."""
