"""Adam and Muon on many models of one shape at once, each with its own rates and its own step.

All numbers that an optimiser moves in one model lie side by side in one row: what is done number
by number is then one operation over all weights of all models.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from headway.training.optimisers import AdamW, Muon, gain, orthogonalised_by_shape

Numbers = Float[Tensor, "row number"]


class StackedOptimiser(ABC):
    """One of a run's optimisers, for a stack of runs.

    Rates are kept on the CPU, in double precision as Python's own numbers are; what follows from
    them goes to the device once a step.

    Args:
        rows: models in the stack.
        like: that optimiser of one of the runs; it tells the weights and their order.
    """

    moments: ClassVar[tuple[str, ...]]
    options: ClassVar[tuple[str, ...]]

    def __init__(self, rows: int, like: torch.optim.Optimizer):
        weights = [w for group in like.param_groups for w in group["params"]]
        self.shapes = [w.shape for w in weights]
        self.sizes = [w.numel() for w in weights]
        self.parts = [g.get("parts", 1) for g in like.param_groups for _ in g["params"]]
        device, width = weights[0].device, sum(self.sizes)
        self.state = {key: torch.zeros(rows, width, device=device) for key in self.moments}
        self.decay = torch.zeros(rows, width, device=device)
        self.rates = {key: torch.zeros(rows, dtype=torch.float64) for key in ("lr", *self.options)}
        self.steps = torch.zeros(rows, dtype=torch.float64)

    def put(self, row: int, other: torch.optim.Optimizer) -> None:
        """Puts the state and the rates of one run's optimiser in a row's place.

        Its rates must be the full ones, as they are before its first step here.
        """
        weights = [(w, group) for group in other.param_groups for w in group["params"]]
        states = [other.state.get(weight, {}) for weight, _ in weights]
        self.decay[row] = torch.cat(
            [torch.full((w.numel(),), group["weight_decay"]) for w, group in weights]
        )
        for key, moment in self.state.items():
            moment[row] = torch.cat(
                [
                    state.get(key, torch.zeros_like(w)).flatten()
                    for state, (w, _) in zip(states, weights, strict=True)
                ]
            )
        self.steps[row] = float(states[0].get("step", 0.0))
        for key, rates in self.rates.items():
            rates[row] = self.option(weights[0][1], key)

    def option(self, group: dict, key: str) -> float:
        """An option of an optimiser, as its groups of weights name it."""
        return group[key]

    def keep(self, rows: Sequence[int]) -> None:
        """Lets all rows but these go."""
        for kept in (self.state, self.rates):
            kept.update({key: value[rows] for key, value in kept.items()})
        self.decay, self.steps = self.decay[rows], self.steps[rows]

    def state_of(self, row: int) -> dict[str, Tensor]:
        """The state of a row's weights, named as in `Optimisers.state`: weight, then key."""
        return {
            f"{index}.{key}": value.view(shape)
            for key, moment in self.state.items()
            for index, (value, shape) in enumerate(
                zip(moment[row].cpu().split(self.sizes), self.shapes, strict=True)
            )
        }

    @abstractmethod
    def step(self, weights: Numbers, gradient: Numbers, scales: Float[Tensor, " row"]) -> None:
        """Moves all weights of all rows.

        Args:
            weights: that this optimiser moves.
            gradient: of the losses.
            scales: the factor on every row's rates; on the CPU, in double precision.
        """

    def shrink(self, weights: Numbers, rate: Float[Tensor, "row 1"], scale: Tensor) -> None:
        """The decay, which falls with the rate."""
        weights.mul_(1 - rate * scale * self.decay)


class StackedAdam(StackedOptimiser):
    """`torch.optim.AdamW`, row by row."""

    moments = ("exp_avg", "exp_avg_sq")
    options = ("beta1", "beta2", "eps")

    def option(self, group: dict, key: str) -> float:
        """An option of `torch.optim.AdamW`."""
        return group["betas"][int(key[-1]) - 1] if key.startswith("beta") else group[key]

    def state_of(self, row: int) -> dict[str, Tensor]:
        """The moments, and with every weight how many steps were made."""
        steps = {f"{i}.step": self.steps[row].float() for i in range(len(self.shapes))}
        return {**steps, **super().state_of(row)}

    def step(self, weights: Numbers, gradient: Numbers, scales: Float[Tensor, " row"]) -> None:
        """Moves all weights of all rows."""
        self.steps += 1
        beta1, beta2 = self.rates["beta1"], self.rates["beta2"]
        rate = self.rates["lr"] * scales
        rate, scale, length, root, new1, new2, eps = on(
            weights.device,
            *(rate, scales, rate / (1 - beta1**self.steps), (1 - beta2**self.steps).sqrt()),
            *(1 - beta1, 1 - beta2, self.rates["eps"]),
        )
        mean, square = self.state["exp_avg"], self.state["exp_avg_sq"]
        mean.lerp_(gradient, new1)
        square.lerp_(gradient.square(), new2)
        self.shrink(weights, rate, scale)
        weights.sub_(length * mean / (square.sqrt() / root + eps))


class StackedMuon(StackedOptimiser):
    """`Muon`, row by row: all matrices of one shape, of all rows, in one batch."""

    moments = ("momentum",)
    options = ("momentum",)

    def __init__(self, rows: int, like: Muon):
        super().__init__(rows, like)
        self.products = like.products

    def step(self, weights: Numbers, gradient: Numbers, scales: Float[Tensor, " row"]) -> None:
        """Moves all weights of all rows."""
        momentum = self.rates["momentum"]
        rate, scale, old, new = on(
            weights.device, self.rates["lr"] * scales, scales, momentum, 1 - momentum
        )
        mean = self.state["momentum"]
        mean.lerp_(gradient, new)
        nesterov = gradient.lerp(mean, old).split(self.sizes, dim=1)
        matrices = [
            matrix
            for numbers, shape, parts in zip(nesterov, self.shapes, self.parts, strict=True)
            for matrix in numbers.unflatten(1, shape).chunk(parts, dim=1)
        ]
        update = [
            (gain(m) * m).flatten(1) for m in orthogonalised_by_shape(matrices, self.products)
        ]
        self.shrink(weights, rate, scale)
        weights.sub_(rate * torch.cat(update, dim=1))


STACKED = {Muon: StackedMuon, AdamW: StackedAdam}


def on(device: torch.device, *rows: Float[Tensor, " row"]) -> tuple[Float[Tensor, "row 1"], ...]:
    """One column a quantity, on the device, in one transfer that nothing waits for."""
    return torch.stack(rows)[..., None].float().to(device, non_blocking=True).unbind()


def stacked_like(rows: int, like: torch.optim.Optimizer) -> StackedOptimiser:
    """The stacked form of one of a run's optimisers, with nothing in it yet."""
    return STACKED[type(like)](rows, like)
