"""Weights cut to low rank, and the plan of cuts.

Weights are views into a model's parameters, by layer and name (see `weights`). Of W = U
diag(s) Vᵀ
the r largest singular values are kept: of all matrices of rank r that is the nearest
(Eckart and Young 1936). Sharma et al. (2023, arXiv 2312.13558) do it to single weights
of trained language models, Chen, Bruna and Bietti (2024, arXiv 2406.03068) to the MLPs
of late layers.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple, Self

import torch
from torch import Tensor

from headway.errors import HeadwayError, require

KINDS = {
    "attention": ("query", "key", "value", "output"),
    "mlp": ("gate", "up", "down"),
}
"""The weights of a layer by their part of it: W_Q W_K W_V W_O, and W_gate W_in
W_out.
"""

UPPER = 1 / 3
"""The share of a model's layers that are truncated by default: the late ones."""

Layer = Mapping[str, Tensor]
"""Weights of one layer by name, each [row, column], as views into the model's
parameters.
"""


@dataclass(frozen=True)
class Cut:
    """Weights that are truncated together.

    Attributes:
        layers: from low to high; none of them is the intact model.
        weights: names joined by `+`; `attention` and `mlp` stand for all of a layer's.
        fraction: of the full rank, from 0 (the weight is zero; a bias stays) to 1 (as
            it was).
    """

    layers: tuple[int, ...]
    weights: str
    fraction: float

    def names(self, layer: Layer) -> list[str]:
        """The weights of a layer that are truncated."""
        names = [
            name for part in self.weights.split("+") for name in _members(part, layer)
        ]
        return list(dict.fromkeys(names))


INTACT = Cut((), "", 1.0)
"""Nothing is truncated."""


@dataclass(frozen=True)
class Cuts:
    """The plan of cuts: each set of weights in each of the `spans` at each fraction.

    Attributes:
        layers: each is cut alone, and with those above it among them; by default those
            of the upper third.
        weights: sets of weights, each cut as one.
        fractions: of the full rank; 1 is the intact model.

    Raises:
        HeadwayError: if a fraction or a name is not allowed.
    """

    layers: tuple[int, ...] | None
    weights: tuple[str, ...]
    fractions: tuple[float, ...]

    def __post_init__(self):
        require(
            len(self.fractions) > 0, "rank", self.fractions, "at least one fraction"
        )
        for fraction in self.fractions:
            allowed = "a fraction of the full rank, from 0 to 1"
            require(0 <= fraction <= 1, "rank", fraction, allowed)
        known = [*KINDS, *(name for kind in KINDS.values() for name in kind)]
        allowed = f"made of {', '.join(known)}, joined by + to be truncated together"
        for names in self.weights:
            are_known = {*known}.issuperset(names.split("+"))
            require(are_known, "weights", names, allowed)

    def chosen(self, n_layers: int) -> list[int]:
        """The layers of a model that are cut, from low to high."""
        if self.layers is not None:
            return sorted(set(self.layers))
        count = max(1, round(UPPER * n_layers))
        return list(range(n_layers - count, n_layers))

    def of(self, n_layers: int) -> list[Cut]:
        """The intact model, then every cut once, of a model with so many layers."""
        below = [fraction for fraction in self.fractions if fraction < 1]
        cuts = [INTACT]
        for names in self.weights:
            for sets in spans(self.chosen(n_layers)).values():
                for layers in sets:
                    cuts += [Cut(layers, names, fraction) for fraction in below]
        return list(dict.fromkeys(cuts))

    def require_in(self, places: Sequence[Layer]) -> None:
        """Raises `HeadwayError` if a model lacks a layer that is cut, or one of them a
        weight.
        """
        chosen = self.chosen(len(places))
        for layer in chosen:
            allowed = f"a layer of the model, from 0 to {len(places) - 1}"
            require(0 <= layer < len(places), "layers", layer, allowed)
        parts = [part for names in self.weights for part in names.split("+")]
        for layer in chosen:
            has = ", ".join(places[layer]) or "none that is known"
            allowed = f"one that layer {layer} of the model has ({has})"
            for part in parts:
                members = _members(part, places[layer])
                require(bool(members), "weights", part, allowed)


def spans(layers: Sequence[int]) -> dict[str, list[tuple[int, ...]]]:
    """The sets of layers to truncate: each `alone`, and, if there are several, each
    with those above it (`upwards`).
    """
    ordered = tuple(sorted(set(layers)))
    spans: dict[str, list[tuple[int, ...]]] = {"alone": [(layer,) for layer in ordered]}
    if len(ordered) > 1:
        starts = range(len(ordered))
        spans["upwards"] = [ordered[start:] for start in starts]
    return spans


def _members(part: str, layer: Layer) -> list[str]:
    return [name for name in KINDS.get(part, (part,)) if name in layer]


class Axes(NamedTuple):
    """The differences of some cuts.

    Attributes:
        weights: the sets that are cut.
        fractions: to which, from low to high, all below 1.
        spans: the sets of layers; empty if nothing is cut.
    """

    weights: list[str]
    fractions: list[float]
    spans: dict[str, list[tuple[int, ...]]]

    @classmethod
    def of(cls, cuts: Iterable[Cut]) -> Self:
        """The axes of a whole plan, the intact model left out."""
        changing = [cut for cut in cuts if cut != INTACT]
        weights = list(dict.fromkeys(cut.weights for cut in changing))
        fractions = sorted({cut.fraction for cut in changing})
        layers = [cut.layers[0] for cut in changing]
        return cls(weights, fractions, spans(layers) if layers else {})


def rank_of(fraction: float, weight: Tensor) -> int:
    """The number of singular values that a fraction keeps, rounded up.

    So any fraction above 0 keeps at least one.
    """
    return math.ceil(
        fraction * min(weight.shape) - 1e-9
    )  # 0.1 · 30 is 3, not the next float


class Truncation:
    """A model's weights, truncated for a while; each is decomposed only once, when it
    is needed.

    The decompositions take about as much memory again as the weights that were
    truncated.

    Args:
        layers: the weights of every layer, as views (see `matrices`).
    """

    def __init__(self, layers: Sequence[Layer]):
        self.layers = layers
        self._parts: dict[tuple[int, str], tuple[Tensor, Tensor, Tensor]] = {}

    @contextmanager
    def applied(self, cut: Cut) -> Iterator[None]:
        """Truncates, and puts the same bits back afterwards, also after an error.

        Raises:
            HeadwayError: if a weight is not finite.
        """
        places = [
            (layer, name)
            for layer in cut.layers
            for name in cut.names(self.layers[layer])
        ]
        before = []
        for layer, name in places:
            weight = self.layers[layer][name]
            before.append((weight, weight.detach().clone()))
        try:
            for layer, name in places:
                nearest = self.nearest(layer, name, cut.fraction)
                self.layers[layer][name].copy_(nearest)
            yield
        finally:
            for weight, kept in before:
                weight.copy_(kept)

    def nearest(self, layer: int, name: str, fraction: float) -> Tensor:
        """The nearest matrix to a weight of a fraction of the full rank; at full rank
        itself.

        Raises:
            HeadwayError: if the weight is not finite.
        """
        weight = self.layers[layer][name]
        if not weight.isfinite().all():
            told = f"{name} of layer {layer} holds values that are not finite"
            raise HeadwayError(f"{told}: it cannot be truncated")
        rank = rank_of(fraction, weight)
        if rank == 0:
            return torch.zeros_like(weight)
        if rank == min(weight.shape):
            return weight
        place = layer, name
        if place not in self._parts:
            exact = torch.promote_types(weight.dtype, torch.float32)
            self._parts[place] = torch.linalg.svd(weight.to(exact), full_matrices=False)
        left, values, right = self._parts[place]
        scaled = left[:, :rank] * values[:rank]
        return (scaled @ right[:rank]).to(weight.dtype)
