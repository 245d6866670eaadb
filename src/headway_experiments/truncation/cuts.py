"""Weights cut to low rank, and the table of what is measured cut by cut.

Weights are views into a model's parameters, by layer and name (see `weights`). Of W = U diag(s) Vᵀ
the r largest singular values are kept: of all matrices of rank r that is the nearest (Eckart and
Young 1936). Sharma et al. (2023, arXiv 2312.13558) do it to single weights of trained language
models, Chen, Bruna and Bietti (2024, arXiv 2406.03068) to the MLPs of late layers.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from headway.errors import HeadwayError, require

KINDS = {"attention": ("query", "key", "value", "output"), "mlp": ("gate", "up", "down")}
"""The weights of a layer by their part of it: W_Q W_K W_V W_O, and W_gate W_in W_out."""

UPPER = 1 / 3
"""The share of a model's layers that are truncated by default: the late ones."""

Found = TypeVar("Found")
Layer = Mapping[str, Tensor]
"""Weights of one layer by name, each [row, column], as views into the model's parameters."""


@dataclass(frozen=True)
class Cut:
    """Weights that are truncated together.

    Attributes:
        layers: from low to high; none of them is the intact model.
        weights: names joined by `+`; `attention` and `mlp` stand for all of a layer's.
        fraction: of the full rank, from 0 (the weight is zero; a bias stays) to 1 (as it was).
    """

    layers: tuple[int, ...]
    weights: str
    fraction: float

    def names(self, layer: Layer) -> list[str]:
        """The weights of a layer that are truncated."""
        names = [name for part in self.weights.split("+") for name in _members(part, layer)]
        return list(dict.fromkeys(names))


INTACT = Cut((), "", 1.0)
"""Nothing is truncated."""


@dataclass(frozen=True)
class Cuts:
    """The plan of cuts: each set of weights in each of the `spans` at each fraction.

    Attributes:
        layers: each is cut alone, and with those above it among them; by default those of the
            upper third.
        weights: sets of weights, each cut as one.
        fractions: of the full rank; 1 is the intact model.

    Raises:
        HeadwayError: if a fraction or a name is not allowed.
    """

    layers: tuple[int, ...] | None
    weights: tuple[str, ...]
    fractions: tuple[float, ...]

    def __post_init__(self):
        require(len(self.fractions) > 0, "rank", self.fractions, "at least one fraction")
        for fraction in self.fractions:
            allowed = "a fraction of the full rank, from 0 to 1"
            require(0 <= fraction <= 1, "rank", fraction, allowed)
        known = [*KINDS, *(name for kind in KINDS.values() for name in kind)]
        allowed = f"made of {', '.join(known)}, joined by + to be truncated together"
        for names in self.weights:
            require(set(names.split("+")) <= {*known}, "weights", names, allowed)

    def chosen(self, n_layers: int) -> list[int]:
        """The layers of a model that are cut, from low to high."""
        late = range(n_layers - max(1, round(UPPER * n_layers)), n_layers)
        return sorted(set(late if self.layers is None else self.layers))

    def of(self, n_layers: int) -> list[Cut]:
        """The intact model, then every cut once, of a model with so many layers."""
        sets = [span for some in spans(self.chosen(n_layers)).values() for span in some]
        below = [fraction for fraction in self.fractions if fraction < 1]
        cuts = [Cut(span, names, f) for names in self.weights for span in sets for f in below]
        return list(dict.fromkeys([INTACT, *cuts]))

    def require_in(self, places: Sequence[Layer]) -> None:
        """Raises `HeadwayError` if a model lacks a layer that is cut, or one of them a weight."""
        chosen = self.chosen(len(places))
        for layer in chosen:
            allowed = f"a layer of the model, from 0 to {len(places) - 1}"
            require(0 <= layer < len(places), "layers", layer, allowed)
        for layer in chosen:
            for part in (part for names in self.weights for part in names.split("+")):
                has = ", ".join(places[layer]) or "none that is known"
                allowed = f"one that layer {layer} of the model has ({has})"
                require(bool(_members(part, places[layer])), "weights", part, allowed)


def spans(layers: Sequence[int]) -> dict[str, list[tuple[int, ...]]]:
    """The sets of layers to truncate: each `alone`, and, if there are several, each with those
    above it (`upwards`).
    """
    ordered = sorted(set(layers))
    alone: list[tuple[int, ...]] = [(layer,) for layer in ordered]
    if len(ordered) < 2:
        return {"alone": alone}
    return {"alone": alone, "upwards": [tuple(ordered[i:]) for i in range(len(ordered))]}


def _members(part: str, layer: Layer) -> list[str]:
    return [name for name in KINDS.get(part, (part,)) if name in layer]


class LowRank:
    """A weight and its singular value decomposition, computed once, when it is first needed.

    Args:
        weight: any matrix; a copy of it is kept.
        name: of the weight, for the error.

    Raises:
        HeadwayError: if the weight is not finite.
    """

    def __init__(self, weight: Float[Tensor, "row column"], name: str = "a weight"):
        if not weight.isfinite().all():
            raise HeadwayError(f"{name} holds values that are not finite: it cannot be truncated")
        self.weight = weight.detach().clone()

    @cached_property
    def parts(self) -> tuple[Tensor, Tensor, Tensor]:
        """U [row, value], s [value] from large to small, Vᵀ [value, column]."""
        exact = torch.promote_types(self.weight.dtype, torch.float32)
        return torch.linalg.svd(self.weight.to(exact), full_matrices=False)

    def rank(self, fraction: float) -> int:
        """The number of singular values that a fraction keeps, rounded up.

        So any fraction above 0 keeps at least one.
        """
        full = min(self.weight.shape)
        return math.ceil(fraction * full - 1e-9)  # 0.1 · 30 is 3, not the next float above it

    def at(self, fraction: float) -> Float[Tensor, "row column"]:
        """The nearest matrix of a fraction of the full rank; at full rank the weight itself."""
        rank = self.rank(fraction)
        if rank == min(self.weight.shape):
            return self.weight
        if rank == 0:
            return torch.zeros_like(self.weight)
        left, values, right = self.parts
        return ((left[:, :rank] * values[:rank]) @ right[:rank]).to(self.weight.dtype)


class Truncation:
    """A model's weights, truncated for a while; each is decomposed only once.

    The decompositions take about as much memory again as the weights that were truncated.

    Args:
        layers: the weights of every layer, as views (see `matrices`).
    """

    def __init__(self, layers: Sequence[Layer]):
        self.layers = layers
        self._known: dict[tuple[int, str], LowRank] = {}

    @contextmanager
    def applied(self, cut: Cut) -> Iterator[None]:
        """Truncates, and puts the same bits back afterwards, also after an error.

        Raises:
            HeadwayError: if a weight is not finite.
        """
        touched = []
        for layer in cut.layers:
            for name in cut.names(self.layers[layer]):
                weight = self.layers[layer][name]
                if (layer, name) not in self._known:
                    self._known[layer, name] = LowRank(weight, f"{name} of layer {layer}")
                touched.append((weight, self._known[layer, name]))
        try:
            for weight, low_rank in touched:
                weight.copy_(low_rank.at(cut.fraction))
            yield
        finally:
            for weight, low_rank in touched:
                weight.copy_(low_rank.weight)


class Table(Generic[Found]):
    """What was measured of every cut, the intact model among them.

    Attributes:
        rows: by cut, in their order.
        weights: the sets that were cut.
        fractions: to which, from low to high, all below 1.
        spans: the sets of layers; empty if nothing was cut.
    """

    def __init__(self, rows: Mapping[Cut, Found]):
        self.rows = rows
        cuts = [cut for cut in rows if cut != INTACT]
        self.weights = list(dict.fromkeys(cut.weights for cut in cuts))
        self.fractions = sorted({cut.fraction for cut in cuts})
        self.spans = spans([cut.layers[0] for cut in cuts]) if cuts else {}

    @property
    def intact(self) -> Found:
        """That of the intact model."""
        return self.rows[INTACT]

    def at(self, layers: tuple[int, ...], weights: str, fraction: float) -> Found:
        """That of a cut; of the intact model at a fraction of 1."""
        return self.intact if fraction == 1 else self.rows[Cut(layers, weights, fraction)]
