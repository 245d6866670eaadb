"""Weights as associative memories, written down rather than trained.

A memory W = Σ_z α_z u_f(z) e_zᵀ keeps pairs of an item z and its class f(z), with e_z
and u_k vectors that are orthonormal, or nearly so as random ones are; what is recalled
of z is the class argmax_k u_kᵀ W e_z (Cabannes, Dohmatob and Bietti 2024, arXiv
2310.02984; Bietti et al. 2023, arXiv 2306.00802).

Throughout, `keys` are the e_z, `values` the u_k, and `classes` the f(z).
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

Keys = Float[Tensor, "item d_key"]
Values = Float[Tensor, "class d_value"]
Weights = Float[Tensor, "d_value d_key"]
Classes = Int[Tensor, " item"]
Each = Float[Tensor, " item"]


def random_vectors(
    count: int, size: int, generator: torch.Generator
) -> Float[Tensor, "{count} {size}"]:
    """Vectors from N(0, I / size): of length about 1, and nearly orthogonal."""
    return torch.randn(count, size, generator=generator) * size**-0.5


def orthonormal_vectors(
    count: int, size: int, generator: torch.Generator
) -> Float[Tensor, "{count} {size}"]:
    """Orthonormal vectors in a random direction, in double precision; no more than
    `size`.
    """
    drawn = torch.randn(size, count, generator=generator)
    orthonormal = torch.linalg.qr(drawn.double()).Q
    return orthonormal.T


def stored(values: Values, keys: Keys, classes: Classes, strengths: Each) -> Weights:
    """The memory Σ_z α_z u_f(z) e_zᵀ."""
    return values[classes].T @ (keys * strengths[:, None])


def logits(weights: Weights, values: Values, keys: Keys) -> Float[Tensor, "item class"]:
    """u_kᵀ W e_z of every item and class."""
    return keys @ (values @ weights).T


def is_recalled(weights: Weights, values: Values, keys: Keys, classes: Classes) -> Each:
    """1 for every item whose class has the largest logit of all, else 0; their mean is
    R(W, W*) of Bietti et al. 2023."""
    likeliest = logits(weights, values, keys).argmax(-1)
    is_right = likeliest == classes
    return is_right.to(keys.dtype)


def one_step(
    values: Values,
    keys: Keys,
    classes: Classes,
    frequencies: Each,
    rate: float,
    before: Float[Tensor, "item class"] | None = None,
) -> Weights:
    """W after one step of gradient descent on the cross-entropy from W = 0.

    It is rate · Σ_z p(z) Σ_k (1{f(z) = k} - p(k|z)) u_k e_zᵀ, where p(k|z) is what is
    predicted with W = 0 (arXiv 2306.00802): a memory of the right pairs.

    Args:
        values: the u_k.
        keys: the e_z.
        classes: the f(z).
        frequencies: p(z), which sum to 1.
        rate: the learning rate.
        before: logits that are there with W = 0, as of a residual stream; by default
            zero.
    """
    logits = before
    if logits is None:
        logits = torch.zeros(len(keys), len(values), dtype=keys.dtype)
    descent = -logits.softmax(-1)
    items = torch.arange(len(keys))
    descent[items, classes] += 1
    weighted = keys * frequencies[:, None]
    return rate * values.T @ descent.T @ weighted


def zipf(n_items: int, exponent: float) -> Each:
    """Frequencies p(z) ∝ (z + 1)^-exponent, in double precision."""
    weights = torch.arange(1, n_items + 1, dtype=torch.float64) ** -exponent
    return weights / weights.sum()


def scheme(name: str, frequencies: Each, d_model: int) -> Each:
    """The strength α_z of every item in a memory of width d (arXiv 2310.02984).

    Args:
        name: `all` items alike, all by their `frequency`, or only the `first` d/8, the
            most frequent ones, alike: no more than there is room for.
        frequencies: p(z), the most frequent item first.
        d_model: d.
    """
    match name:
        case "all":
            return torch.ones_like(frequencies)
        case "frequency":
            return frequencies / frequencies.max()
        case _:
            count = max(1, d_model // 8)
            is_first = torch.arange(len(frequencies)) < count
            return is_first.to(frequencies.dtype)


def error(
    weights: Weights, values: Values, keys: Keys, classes: Classes, frequencies: Each
) -> float:
    """The share of items that are not recalled, with items of these frequencies."""
    right = is_recalled(weights, values, keys, classes)
    wrong = (1 - right).to(frequencies.dtype)
    return (frequencies * wrong).sum().item()


def unseen(frequencies: Each, samples: int, generator: torch.Generator) -> float:
    """The share of items that were not sampled before: the error if there is room for
    all.

    For frequencies ∝ z^-a it falls as samples^(-1 + 1/a) (arXiv 2310.02984).
    """
    chances = torch.rand(samples, generator=generator, dtype=frequencies.dtype)
    last = len(frequencies) - 1
    seen = torch.searchsorted(frequencies.cumsum(0), chances).clamp(max=last)
    left = frequencies.clone()
    left[seen] = 0
    return left.sum().item()
