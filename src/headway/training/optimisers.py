"""Optimisers: Adam with decoupled decay, Muon, and gradient descent."""

from collections.abc import Iterable, Iterator, Sequence
from inspect import unwrap
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headway.models import Transformer
from headway.training.config import TrainingConfig

foreach: Any = torch
"""Operations on lists of tensors, as in torch: one launch on a GPU."""

NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)

NEWTON_SCHULZ_STEPS = 5


class Uncompiled(torch.optim.Optimizer):
    """An optimiser that does not load PyTorch's compiler, as nothing here is compiled.

    PyTorch's own optimisers load it on their first call: more than a second in every
    process.

    Attributes:
        keeps: the names of what it remembers of every weight.
    """

    keeps: tuple[str, ...] = ()
    add_param_group = unwrap(torch.optim.Optimizer.add_param_group)


class AdamW(Uncompiled, torch.optim.AdamW):
    """Adam with decoupled decay."""

    keeps = ("step", "exp_avg", "exp_avg_sq")
    step = torch.no_grad()(unwrap(torch.optim.AdamW.step))


class SGD(Uncompiled, torch.optim.SGD):
    """Gradient descent with momentum."""

    step = torch.no_grad()(unwrap(torch.optim.SGD.step))


class Muon(Uncompiled):
    """Momentum with all singular values brought near 1 (Jordan et al. 2024).

    All matrices of one shape are orthogonalised in one batch, over layers and over the
    query, key and value maps that attention keeps stacked in one weight: the updates
    are those of `torch.optim.Muon` on each matrix alone, for a fraction of its time.

    Args:
        groups: parameter groups; `parts` says how many matrices are stacked in each
            weight.
        lr: step size; multiplied by sqrt(max(1, rows / columns)) for a matrix.
        momentum: of the running mean of gradients (Nesterov).
        weight_decay: decoupled.
        products: the type that matrices are multiplied in; momentum and weights keep
            theirs.
    """

    def __init__(
        self,
        groups: Iterable[dict],
        lr: float,
        momentum: float,
        weight_decay: float,
        products: torch.dtype = torch.float32,
    ):
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "weight_decay": weight_decay,
            "parts": 1,
        }
        super().__init__(groups, defaults)
        self.products = products
        self.keeps = ("momentum",)

    @torch.no_grad()
    def step(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Updates every weight from its gradient."""
        alike: dict[tuple[torch.Size, float], tuple[list[Tensor], list[Tensor]]] = {}
        for group in self.param_groups:
            weights = group["params"]
            rate = group["lr"]
            parts = group["parts"]
            ahead = self._ahead(weights, group["momentum"])
            foreach._foreach_mul_(weights, 1 - rate * group["weight_decay"])
            for weight, update in zip(weights, ahead, strict=True):
                pieces = weight.chunk(parts)
                moved, by = alike.setdefault((pieces[0].shape, rate), ([], []))
                moved += pieces
                by += update.chunk(parts)
        for ((rows, columns), rate), (moved, by) in alike.items():
            gain = max(1.0, rows / columns) ** 0.5
            updates = orthogonalised(torch.stack(by), self.products)
            foreach._foreach_add_(moved, updates.unbind(), alpha=-(rate * gain))

    def _ahead(self, weights: list[Tensor], momentum: float) -> Sequence[Tensor]:
        """Gradients, moved on by their running means, which take them in first."""
        states = [self.state[weight] for weight in weights]
        for weight, state in zip(weights, states, strict=True):
            if "momentum" not in state:
                state["momentum"] = torch.zeros_like(weight)
        gradients = [weight.grad for weight in weights]
        means = [state["momentum"] for state in states]
        foreach._foreach_lerp_(means, gradients, 1 - momentum)
        return foreach._foreach_lerp(gradients, means, momentum)


def orthogonalised(
    matrices: Float[Tensor, "batch rows columns"],
    products: torch.dtype = torch.float32,
) -> Float[Tensor, "batch rows columns"]:
    """Brings singular values to 0.7 to 1.2 by a quintic Newton-Schulz iteration."""
    a, b, c = NEWTON_SCHULZ
    is_tall = matrices.shape[1] > matrices.shape[2]
    wide = matrices.mT.contiguous() if is_tall else matrices  # whose products cost less
    size = wide.norm(dim=(1, 2), keepdim=True) + 1e-7
    iterate = (wide / size).to(products)
    for _ in range(NEWTON_SCHULZ_STEPS):
        gram = iterate @ iterate.mT
        quadratic = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
        iterate = torch.baddbmm(iterate, quadratic, iterate, beta=a)
    iterate = iterate.to(matrices.dtype)
    return iterate.mT if is_tall else iterate


class Optimisers:
    """The optimisers of a run as one: each trained weight is moved by one.

    With Muon, the matrices inside the blocks are its own; embedding, read-out, norms
    and biases are Adam's. Biases and norms do not decay.

    Args:
        model: whose weights they move.
        config: how.
        precision: that Muon multiplies matrices in.

    Attributes:
        each: the optimisers.
    """

    def __init__(
        self, model: Transformer, config: TrainingConfig, precision: str = "float32"
    ):
        self.each = list(_made(model, config, precision))
        self._rates = [(group["lr"], group["weight_decay"]) for group in self._groups()]

    def _groups(self) -> list[dict[str, Any]]:
        return [group for optimiser in self.each for group in optimiser.param_groups]

    def step(self, scale: float) -> None:
        """Moves all weights by their gradients, with factors on rates and decay."""
        for group, (rate, decay) in zip(self._groups(), self._rates, strict=True):
            group["lr"] = rate * scale
            group["weight_decay"] = decay * scale
            for weight in group["params"]:
                if (
                    weight.grad is None
                ):  # of a layer that the batch did not pass through
                    weight.grad = torch.zeros_like(weight)
        for optimiser in self.each:
            optimiser.step()

    def state(self) -> dict[str, Tensor]:
        """Their memory, as named tensors."""
        return {name: own[key] for name, _, own, key in self._memory() if key in own}

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of `state` after a step, by name; counts are scalars."""
        memory = self._memory()
        return {n: () if key == "step" else tuple(w.shape) for n, w, _, key in memory}

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Puts back what `state` gave, which must be of these `shapes`."""
        for name, weight, own, key in self._memory():
            own[key] = tensors[name].to(weight.device)

    def _memory(self) -> Iterator[tuple[str, Tensor, dict[str, Tensor], str]]:
        """The memory of every weight: its name, the weight, and where it is kept."""
        for i, optimiser in enumerate(self.each):
            weights = [
                weight for group in optimiser.param_groups for weight in group["params"]
            ]
            for index, weight in enumerate(weights):
                for key in optimiser.keeps:
                    yield (
                        f"optimizer.{i}.{index}.{key}",
                        weight,
                        optimiser.state[weight],
                        key,
                    )


def _muon(matrices: dict[str, Tensor], config: TrainingConfig, precision: str) -> Muon:
    """The optimiser of matrices by name; queries, keys and values are stacked."""
    stacked = [
        matrix for name, matrix in matrices.items() if name.endswith("attn.qkv.weight")
    ]
    single = [
        matrix
        for name, matrix in matrices.items()
        if not name.endswith("attn.qkv.weight")
    ]
    groups = [{"params": stacked, "parts": 3}, {"params": single, "parts": 1}]
    return Muon(
        groups,
        lr=config.matrix_learning_rate,
        momentum=config.momentum,
        weight_decay=config.weight_decay,
        products=getattr(torch, precision),
    )


def _made(
    model: Transformer, config: TrainingConfig, precision: str
) -> Iterator[Uncompiled]:
    """The optimisers that a config asks for."""
    weights = dict[str, Tensor]()
    matrices = dict[str, Tensor]()
    for name, weight in model.named_parameters():
        if weight.requires_grad:
            is_inner = name.startswith("blocks.") and weight.ndim == 2
            is_muons = config.optimizer == "muon" and is_inner
            (matrices if is_muons else weights)[name] = weight
    if config.optimizer == "muon":
        yield _muon(matrices, config, precision)
    linear = [weight for weight in weights.values() if weight.ndim == 2]
    others = [weight for weight in weights.values() if weight.ndim != 2]
    groups = [
        {"params": linear, "weight_decay": config.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    if config.optimizer == "sgd":
        plain = SGD(groups, lr=config.learning_rate, momentum=config.momentum)
        plain.keeps = ("momentum_buffer",) if config.momentum else ()
        yield plain
    else:
        yield AdamW(groups, lr=config.learning_rate, betas=config.betas, fused=True)
