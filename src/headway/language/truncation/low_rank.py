"""Weights cut to low rank by their singular values, and a model evaluated with some of them cut.

Of W = U diag(s) Vᵀ the r largest singular values are kept: of all matrices of rank r that is the
nearest (Eckart and Young 1936). Sharma et al. (2023, arXiv 2312.13558) do it to single weights of
trained language models, Chen, Bruna and Bietti (2024, arXiv 2406.03068) to the MLPs of late layers.

Nothing here knows what a model is for: weights are views into its parameters, by layer and name,
and what is measured is a function that the caller gives.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from headway.errors import HeadwayError, require
from headway.models.transformer import Transformer

KINDS = {"attention": ("query", "key", "value", "output"), "mlp": ("gate", "up", "down")}
"""The weights of a layer by their part of it: W_Q W_K W_V W_O, and W_gate W_in W_out."""

Found = TypeVar("Found")
Layer = Mapping[str, Tensor]
"""Weights of one layer by name, each [row, column], as views into the model's parameters."""


def matrices(model: Transformer) -> list[Layer]:
    """The weights of every layer: query, key, value, output, and up and down if it has an MLP.

    Each holds all heads of its layer.
    """
    found: list[Layer] = []
    for block in model.layers:
        query, key, value = block.attn.qkv.weight.detach().chunk(3)
        output = block.attn.out.weight.detach()
        layer = {"query": query, "key": key, "value": value, "output": output}
        if block.mlp is not None:
            layer |= {"up": block.mlp.up.weight.detach(), "down": block.mlp.down.weight.detach()}
        found.append(layer)
    return found


def rank_of(fraction: float, full: int) -> int:
    """How many singular values a fraction of the full rank, min(rows, columns), is: rounded up.

    So any fraction above 0 keeps at least one.
    """
    return math.ceil(fraction * full - 1e-9)  # 0.1 · 30 is 3, not the next float above it


class LowRank:
    """A weight and its singular value decomposition, computed once, when it is first needed.

    Args:
        weight: any matrix; a copy of it is kept.
        name: of the weight, for the complaint.

    Raises:
        HeadwayError: if the weight holds what is no number.
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
        """How many singular values a fraction keeps."""
        return rank_of(fraction, min(self.weight.shape))

    def at(self, fraction: float) -> Float[Tensor, "row column"]:
        """The nearest matrix of a fraction of the full rank; at full rank the weight itself."""
        rank = self.rank(fraction)
        if rank == min(self.weight.shape):
            return self.weight
        if rank == 0:
            return torch.zeros_like(self.weight)
        left, values, right = self.parts
        return ((left[:, :rank] * values[:rank]) @ right[:rank]).to(self.weight.dtype)

    def squares(self, fraction: float) -> tuple[float, float]:
        """The sum of the squares of the entries at a fraction, and that of all."""
        whole = self.weight.double().square().sum().item()
        rank = self.rank(fraction)
        if rank in (0, min(self.weight.shape)):
            return (whole if rank else 0.0), whole
        return self.parts[1][:rank].double().square().sum().item(), whole


@dataclass(frozen=True)
class Cut:
    """What is truncated together.

    Attributes:
        layers: from low to high; none of them is the intact model.
        weights: names joined by `+`; `attention` and `mlp` are all of theirs that a layer has.
        fraction: of the full rank, from 0 (the weight is zero; a bias stays) to 1 (as it was).
    """

    layers: tuple[int, ...]
    weights: str
    fraction: float

    @property
    def lowest(self) -> int | None:
        """The first layer that is not as it was; none in the intact model."""
        return self.layers[0] if self.layers else None

    def names(self, layer: Layer) -> list[str]:
        """The weights of a layer that are truncated."""
        names = [name for part in self.weights.split("+") for name in _members(part, layer)]
        return list(dict.fromkeys(names))


INTACT = Cut((), "", 1.0)
"""Nothing is truncated."""


def _members(part: str, layer: Layer) -> list[str]:
    return [name for name in KINDS.get(part, (part,)) if name in layer]


def spans(layers: Sequence[int]) -> dict[str, list[tuple[int, ...]]]:
    """The sets of layers to truncate: each `alone`, and, if there are several, each with those
    above it (`upwards`).
    """
    ordered = sorted(layers)
    alone: list[tuple[int, ...]] = [(layer,) for layer in ordered]
    if len(ordered) < 2:
        return {"alone": alone}
    return {"alone": alone, "upwards": [tuple(ordered[i:]) for i in range(len(ordered))]}


def cuts(layers: Sequence[int], weights: Sequence[str], fractions: Sequence[float]) -> list[Cut]:
    """The intact model, then each set of weights in each of the `spans` at each fraction below 1.

    A fraction of 1 is the intact model. What would be truncated twice is named once.
    """
    found = [INTACT]
    for names in weights:
        for span in (span for spans_ in spans(layers).values() for span in spans_):
            found += [Cut(span, names, fraction) for fraction in fractions if fraction < 1]
    return list(dict.fromkeys(found))


class Truncation:
    """A model's weights, truncated for a while; each is decomposed once, whatever is asked of it.

    The decompositions take about as much memory again as the weights that were truncated.

    Args:
        layers: the weights of every layer, as views (see `matrices`).
    """

    def __init__(self, layers: Sequence[Layer]):
        self.layers = layers
        self._known: dict[tuple[int, str], LowRank] = {}

    @contextmanager
    def applied(self, cut: Cut) -> Iterator[None]:
        """Truncates, and puts the same bits back afterwards, whatever happens in between.

        Raises:
            HeadwayError: if a weight holds what is no number.
        """
        touched = self._touched(cut)
        try:
            for weight, low_rank in touched:
                weight.copy_(low_rank.at(cut.fraction))
            yield
        finally:
            for weight, low_rank in touched:
                weight.copy_(low_rank.weight)

    def kept(self, cut: Cut) -> float:
        """The share of the truncated entries' squares that is left; 1 if they are all zero."""
        pairs = [low_rank.squares(cut.fraction) for _, low_rank in self._touched(cut)]
        whole = sum(pair[1] for pair in pairs)
        return sum(pair[0] for pair in pairs) / whole if whole else 1.0

    def _touched(self, cut: Cut) -> list[tuple[Tensor, LowRank]]:
        found = []
        for layer in cut.layers:
            for name in cut.names(self.layers[layer]):
                weight = self.layers[layer][name]
                if (layer, name) not in self._known:
                    self._known[layer, name] = LowRank(weight, f"{name} of layer {layer}")
                found.append((weight, self._known[layer, name]))
        return found


def truncate(
    layers: Sequence[Layer], wanted: Sequence[Cut], evaluate: Callable[[Cut], Found]
) -> Iterator[tuple[Cut, float, Found]]:
    """What a model does with weights cut to low rank, cut by cut.

    Args:
        layers: the model's weights, as views.
        wanted: what to truncate; see `cuts`.
        evaluate: called with the weights truncated, and told which; what it returns is passed on.

    Yields: the cut, the share of the truncated weights' squares that it keeps, and what `evaluate`
        returned. The weights are whole again by then.
    """
    truncation = Truncation(layers)
    for cut in wanted:
        with truncation.applied(cut):
            found = evaluate(cut)
        yield cut, truncation.kept(cut), found


def require_fractions(fractions: Sequence[float]) -> None:
    """Raises a `HeadwayError` if a fraction of the full rank is none."""
    require(len(fractions) > 0, "rank", fractions, "at least one fraction")
    for fraction in fractions:
        require(0 <= fraction <= 1, "rank", fraction, "a fraction of the full rank, from 0 to 1")


def require_names(weights: Sequence[str]) -> None:
    """Raises a `HeadwayError` if sets of weights are made of anything but known names."""
    known = [name for kind in KINDS.values() for name in kind]
    allowed = f"made of {', '.join([*KINDS, *known])}, joined by + to be truncated together"
    for names in weights:
        for part in names.split("+"):
            require(part in [*KINDS, *known], "weights", names, allowed)


def require_there(layers: Sequence[Layer], chosen: Sequence[int], weights: Sequence[str]) -> None:
    """Raises a `HeadwayError` if a model has no such layer, or one of them no such weight."""
    for layer in chosen:
        allowed = f"a layer of the model, from 0 to {len(layers) - 1}"
        require(0 <= layer < len(layers), "layers", layer, allowed)
    for layer in chosen:
        for part in (part for names in weights for part in names.split("+")):
            has = ", ".join(layers[layer]) or "none that is known"
            there = bool(_members(part, layers[layer]))
            require(there, "weights", part, f"one that layer {layer} of the model has ({has})")
