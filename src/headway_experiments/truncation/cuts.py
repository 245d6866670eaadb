"""Weights cut to low rank, a model measured cut by cut, and the table of results.

Weights are views into a model's parameters, by layer and name (see `weights`); the caller gives the
function that measures. Of W = U diag(s) Vᵀ the r largest singular values are kept: of all matrices
of rank r that is the nearest (Eckart and Young 1936). Sharma et al. (2023, arXiv 2312.13558) do it
to single weights of trained language models, Chen, Bruna and Bietti (2024, arXiv 2406.03068) to the
MLPs of late layers.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
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

    @property
    def lowest(self) -> int | None:
        """The first layer that is changed; None in the intact model."""
        return self.layers[0] if self.layers else None

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
        layers: each is cut alone, and with those above it among them; by default those that `of` is
            given.
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

    def of(self, places: Sequence[Layer], default: Sequence[int]) -> list[Cut]:
        """The intact model, then every cut once, of a model with these weights.

        Raises:
            HeadwayError: if the model has no such layer, or one of them no such weight.
        """
        chosen = self.chosen(default)
        for layer in chosen:
            allowed = f"a layer of the model, from 0 to {len(places) - 1}"
            require(0 <= layer < len(places), "layers", layer, allowed)
        for layer in chosen:
            for part in (part for names in self.weights for part in names.split("+")):
                has = ", ".join(places[layer]) or "none that is known"
                allowed = f"one that layer {layer} of the model has ({has})"
                require(bool(_members(part, places[layer])), "weights", part, allowed)
        return self.listed(default)

    def chosen(self, default: Sequence[int]) -> list[int]:
        """The layers that are cut, from low to high."""
        return sorted(set(default if self.layers is None else self.layers))

    def listed(self, default: Sequence[int]) -> list[Cut]:
        """The cuts, whatever weights the model has."""
        sets = [span for some in spans(self.chosen(default)).values() for span in some]
        below = [fraction for fraction in self.fractions if fraction < 1]
        cuts = [Cut(span, names, f) for names in self.weights for span in sets for f in below]
        return list(dict.fromkeys([INTACT, *cuts]))


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

    def squares(self, fraction: float) -> tuple[float, float]:
        """The sum of the squares of the entries at a fraction, and that of all."""
        whole = self.weight.double().square().sum().item()
        rank = self.rank(fraction)
        if rank in (0, min(self.weight.shape)):
            return (whole if rank else 0.0), whole
        return self.parts[1][:rank].double().square().sum().item(), whole


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


@dataclass(frozen=True)
class Row(Generic[Found]):
    """The measurement of one cut.

    Attributes:
        cut: what was truncated.
        kept: share of the truncated weights' squares that was left.
        found: what was measured.
    """

    cut: Cut
    kept: float
    found: Found


def truncate(
    layers: Sequence[Layer],
    wanted: Sequence[Cut],
    measure: Callable[[Cut], Found],
    watch: Callable[[int, int], None] | None = None,
    done: int = 0,
) -> Iterator[Row[Found]]:
    """Measures a model with weights cut to low rank, cut by cut; in between they are whole.

    Args:
        layers: the model's weights, as views.
        wanted: what to truncate; see `Cuts`.
        measure: called with a cut while its weights are truncated.
        watch: called with how many cuts are measured, and of how many.
        done: how many were before.
    """
    truncation = Truncation(layers)
    for number, cut in enumerate(wanted, start=done + 1):
        with truncation.applied(cut):
            found = measure(cut)
        yield Row(cut, truncation.kept(cut), found)
        if watch is not None:
            watch(number, done + len(wanted))


class Table(Generic[Found]):
    """Rows, one per cut, the intact model's among them.

    Attributes:
        rows: in their order.
        weights: the sets that were cut.
        fractions: to which, from low to high, all below 1.
        spans: the sets of layers; empty if nothing was cut.
    """

    def __init__(self, rows: Sequence[Row[Found]]):
        self.rows, self._by = rows, {row.cut: row for row in rows}
        cuts = [cut for cut in self._by if cut != INTACT]
        self.weights = list(dict.fromkeys(cut.weights for cut in cuts))
        self.fractions = sorted({cut.fraction for cut in cuts})
        self.spans = spans([cut.layers[0] for cut in cuts]) if cuts else {}

    @property
    def intact(self) -> Row[Found]:
        """The row of the intact model."""
        return self._by[INTACT]

    def at(self, layers: tuple[int, ...], weights: str, fraction: float) -> Row[Found]:
        """The row of a cut; that of the intact model at a fraction of 1."""
        return self.intact if fraction == 1 else self._by[Cut(layers, weights, fraction)]
