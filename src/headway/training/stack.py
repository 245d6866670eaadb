"""Many models of one shape that learn at once, each as it would alone.

One small model leaves a GPU idle. The model's code knows nothing of replicas: `torch.vmap` runs it
with the weights of all, so that products of matrices become products of stacks of matrices. All
numbers that an optimiser moves in one model lie side by side in one row: what is done number by
number is then one operation over all weights of all models.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn, vmap
from torch.func import functional_call

from headway.models import Transformer
from headway.tasks import Batch, Task
from headway.training.environment import casting, rounding
from headway.training.losses import CHUNK
from headway.training.optimisers import AdamW, Muon, Optimisers, gain, orthogonalised_by_shape

Numbers = Float[Tensor, "row number"]
Column = Float[Tensor, "row 1"]

MOMENTS = {AdamW: ("exp_avg", "exp_avg_sq"), Muon: ("momentum",)}
"""What an optimiser remembers of every number that it moves, as its state names it."""


class Rows:
    """The numbers that one of a run's optimisers moves, for many runs: a row a run.

    Rates and counts of steps are each row's own. They are kept on the CPU, in double precision as
    Python's own numbers are; what follows from them goes to the device once a step.

    Args:
        rows: how many.
        like: that optimiser of one of the runs; it tells the weights and their order.
        names: of the weights, by identity.

    Attributes:
        numbers: by what they are: `weight`, `decay`, and what the optimiser remembers.
        rates: a number a row: `lr`, `step` (how many were made), and the optimiser's options.
    """

    def __init__(self, rows: int, like: torch.optim.Optimizer, names: dict[int, str]):
        self.like = like
        weights = [weight for group in like.param_groups for weight in group["params"]]
        self.names = [names[id(weight)] for weight in weights]
        self.shapes = [weight.shape for weight in weights]
        self.sizes = [weight.numel() for weight in weights]
        self.moments = MOMENTS[type(like)]
        space = torch.zeros(rows, sum(self.sizes), device=weights[0].device)
        self.numbers = {key: space.clone() for key in ("weight", "decay", *self.moments)}
        self.rates = {
            key: torch.zeros(rows, dtype=torch.float64) for key in ("step", *_rates(like))
        }

    def put(self, row: int, optimiser: torch.optim.Optimizer) -> None:
        """Puts the weights, the state and the rates of one run's optimiser in a row's place.

        Its rates must be the full ones, as they are before its first step here.
        """
        weights = [(w, group) for group in optimiser.param_groups for w in group["params"]]
        states = [optimiser.state.get(weight, {}) for weight, _ in weights]
        found = {key: [state.get(key) for state in states] for key in self.moments}
        found["weight"] = [weight.detach() for weight, _ in weights]
        found["decay"] = [torch.full_like(w, group["weight_decay"]) for w, group in weights]
        for key, values in found.items():
            each = zip(values, weights, strict=True)
            whole = [torch.zeros_like(w) if value is None else value for value, (w, _) in each]
            self.numbers[key][row] = torch.cat([value.flatten() for value in whole])
        now = {"step": float(states[0].get("step", 0.0)), **_rates(optimiser)}
        for key, value in now.items():
            self.rates[key][row] = value

    def keep(self, rows: Sequence[int]) -> None:
        """Lets all rows but these go."""
        for kept in (self.numbers, self.rates):
            kept.update({key: value[rows] for key, value in kept.items()})

    def named(self, numbers: Float[Tensor, "*row number"]) -> dict[str, Tensor]:
        """Numbers of one row or many as weights, by name."""
        pieces = zip(self.names, numbers.split(self.sizes, dim=-1), self.shapes, strict=True)
        return {name: piece.unflatten(-1, shape) for name, piece, shape in pieces}

    def state_of(self, row: int) -> dict[str, Tensor]:
        """What is remembered of a row's weights, named as in `Optimisers.state`: weight, key."""
        found = {
            f"{index}.{key}": value
            for key in self.moments
            for index, value in enumerate(self.named(self.numbers[key][row].cpu()).values())
        }
        if isinstance(self.like, AdamW):
            made = self.rates["step"]
            found |= {f"{index}.step": made[row].float() for index in range(len(self.names))}
        return found

    def step(self, gradient: Numbers, scales: Float[Tensor, " row"]) -> None:
        """Moves all weights of all rows.

        Args:
            gradient: of the losses.
            scales: the factor on every row's rates and decay; on the CPU, in double precision.
        """
        self.rates["step"] += 1
        rate = self.rates["lr"] * scales
        update = self._muon if isinstance(self.like, Muon) else self._adam
        step, rate, scale = update(gradient, rate, scales)
        weights = self.numbers["weight"]
        weights.mul_(1 - rate * scale * self.numbers["decay"]).sub_(step)

    def _adam(
        self, gradient: Numbers, rate: Tensor, scale: Tensor
    ) -> tuple[Numbers, Column, Column]:
        """The step of `torch.optim.AdamW`, row by row; with rate and scale as columns."""
        beta1, beta2, made = self.rates["beta1"], self.rates["beta2"], self.rates["step"]
        length, root = rate / (1 - beta1**made), (1 - beta2**made).sqrt()
        rate, scale, length, root, new1, new2, eps = _columns(
            gradient.device, rate, scale, length, root, 1 - beta1, 1 - beta2, self.rates["eps"]
        )
        mean = self.numbers["exp_avg"].lerp_(gradient, new1)
        square = self.numbers["exp_avg_sq"].lerp_(gradient.square(), new2)
        return length * mean / (square.sqrt() / root + eps), rate, scale

    def _muon(
        self, gradient: Numbers, rate: Tensor, scale: Tensor
    ) -> tuple[Numbers, Column, Column]:
        """The step of `Muon`, row by row: matrices of one shape, of all rows, in one batch."""
        assert isinstance(self.like, Muon)
        momentum = self.rates["momentum"]
        rate, scale, old, new = _columns(gradient.device, rate, scale, momentum, 1 - momentum)
        nesterov = gradient.lerp(self.numbers["momentum"].lerp_(gradient, new), old)
        parts = [group["parts"] for group in self.like.param_groups for _ in group["params"]]
        updates = zip(self.named(nesterov).values(), parts, strict=True)
        matrices = [part for update, count in updates for part in update.chunk(count, dim=1)]
        steps = orthogonalised_by_shape(matrices, self.like.products)
        whole = torch.cat([(gain(step) * step).flatten(1) for step in steps], dim=1)
        return rate * whole, rate, scale


def _rates(optimiser: torch.optim.Optimizer) -> dict[str, float]:
    """An optimiser's rates, which are those of all its groups of weights."""
    group = optimiser.param_groups[0]
    if isinstance(optimiser, Muon):
        return {"lr": group["lr"], "momentum": group["momentum"]}
    beta1, beta2 = group["betas"]
    return {"lr": group["lr"], "beta1": beta1, "beta2": beta2, "eps": group["eps"]}


def _columns(device: torch.device, *rows: Float[Tensor, " row"]) -> tuple[Column, ...]:
    """One column a quantity, on the device, in one transfer that nothing waits for."""
    return torch.stack(rows)[..., None].float().to(device, non_blocking=True).unbind()


class Stack:
    """Models that learn together.

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
        names = {id(weight): name for name, weight in self._model.named_parameters()}
        self._rows = [Rows(len(models), like, names) for like in optimisers.each]
        self._linear = {
            f"{name}.{kind}"
            for name, module in self._model.named_modules()
            if isinstance(module, nn.Linear)
            for kind in ("weight", "bias")
        }
        for row, (_, own) in enumerate(models):
            self.put(row, own)

    def step(self, batch: Batch, scales: Sequence[float]) -> Float[Tensor, " row"]:
        """Makes one step of all rows and returns the losses before it, on the device.

        Args:
            batch: the sequences of all rows, one row's after the other's.
            scales: the factor on every row's rates.
        """
        inputs = batch.inputs.unflatten(0, (len(scales), -1))
        targets = batch.targets.unflatten(0, (len(scales), -1))
        leaves = [rows.numbers["weight"].requires_grad_() for rows in self._rows]
        with rounding(self._precision, inputs.device):
            with casting(self._precision, inputs.device):
                losses = vmap(self._loss)(self._cast(self._named()), inputs, targets)
            gradients = torch.autograd.grad(losses.sum(), leaves)
            factors = torch.tensor(scales, dtype=torch.float64)
            for rows, leaf, gradient in zip(self._rows, leaves, gradients, strict=True):
                leaf.requires_grad_(False)
                rows.step(gradient, factors)
        return losses.detach()

    def _loss(self, weights: dict[str, Tensor], inputs: Tensor, targets: Tensor) -> Tensor:
        return self._targets.loss(self._predict(weights, inputs), targets)

    def _predict(self, weights: dict[str, Tensor], inputs: Tensor) -> Tensor:
        return functional_call(self._model, weights, (inputs,))

    def _named(self, rows: Sequence[int] | int | slice = slice(None)) -> dict[str, Tensor]:
        """The weights of one row or many, by name."""
        parts = [one.named(one.numbers["weight"][rows]) for one in self._rows]
        return {name: weight for part in parts for name, weight in part.items()}

    def _cast(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """As autocast would: under `vmap` it forgets biases, and adding them in float32 would make
        all that follows float32."""
        if self._precision != "bfloat16":
            return weights
        return {name: w.bfloat16() if name in self._linear else w for name, w in weights.items()}

    @torch.no_grad()
    def evaluate(self, rows: Sequence[int], batches: Sequence[Batch]) -> list[list[float]]:
        """The loss of every hop of some rows, each on its own batch."""
        weights, inputs = self._named(rows), torch.stack([batch.inputs for batch in batches])
        predicted = [vmap(self._predict)(weights, part) for part in inputs.split(CHUNK, dim=1)]
        targets = torch.stack([batch.targets for batch in batches])
        losses = vmap(self._targets.partial_losses)(torch.cat(predicted, dim=1), targets)
        return losses.tolist()

    def weights(self, row: int) -> dict[str, Tensor]:
        """A row's weights as they are now, named as in the model."""
        return {name: weight.cpu() for name, weight in self._named(row).items()}

    def memory(self, row: int) -> dict[str, Tensor]:
        """What a row's optimisers remember, as `Optimisers.state` has it."""
        return {
            f"optimizer.{i}.{name}": value
            for i, rows in enumerate(self._rows)
            for name, value in rows.state_of(row).items()
        }

    def put(self, row: int, optimisers: Optimisers) -> None:
        """Puts the weights that optimisers move, and what they remember, in a row's place."""
        for rows, own in zip(self._rows, optimisers.each, strict=True):
            rows.put(row, own)

    def keep(self, rows: Sequence[int]) -> None:
        """Lets all rows but these go, so that no work is done for what has ended."""
        for one in self._rows:
            one.keep(rows)
