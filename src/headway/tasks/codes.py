"""Vectors in a sequence: a position code tells a model where each of them stands."""

import math
from typing import Annotated

import torch
from annotated_types import Ge, Gt, Lt, MultipleOf
from jaxtyping import Float, Int
from torch import Tensor

Even = Annotated[int, Ge(2), MultipleOf(2)]
"""The dimensions of a position code, which is made of pairs of sine and cosine."""

Base = Annotated[float, Gt(1), Lt(math.inf)]


def sinusoid(
    positions: Int[Tensor, " position"], d_code: int, base: float | None = None
) -> Float[Tensor, "position {d_code}"]:
    """The sine/cosine position code, sines first (Vaswani et al. 2017, section 3.5).

    Frequencies are base^(-2i/d_code) for i = 0 .. d_code/2 - 1; `d_code` must be even. Without a
    base, the longest wave is 1.25 times the number of positions: short enough to tell neighbours
    apart, long enough to tell the ends apart. (With two dimensions there is one wave, of 2π, and
    the base makes no difference.)
    """
    if base is None:
        base = base_for(int(positions.max()) + 1, d_code)
    steps = torch.arange(0, d_code, 2, dtype=torch.float32, device=positions.device)
    angles = positions[:, None].float() * torch.exp(-math.log(base) * steps / d_code)
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def coded(
    tokens: Float[Tensor, "batch token d_token"],
    positions: Int[Tensor, "batch token"],
    code: Float[Tensor, "position d_code"],
) -> Float[Tensor, "batch position number"]:
    """Tokens at their positions, every one beside the code of its position."""
    count, k = len(tokens), tokens.shape[2]
    inputs = tokens.new_empty(count, len(code), k + code.shape[1])
    inputs[..., k:] = code
    inputs[..., :k].scatter_(1, positions[..., None].expand(-1, -1, k), tokens)
    return inputs


def at_queries(
    asked: Float[Tensor, "batch chain hop d_token"], slots: Int[Tensor, "batch chain"]
) -> Float[Tensor, "batch query hop d_token"]:
    """What is asked of every chain, at the chain's slot among the queries."""
    where = slots[..., None, None].expand_as(asked)
    return torch.zeros_like(asked).scatter_(1, where, asked)


def base_for(length: int, d_code: int) -> float:
    """The base whose longest wave is 1.25 times so many positions."""
    longest = 1.25 * length / (2 * math.pi)
    return math.pow(max(longest, 1.0), d_code / max(d_code - 2, 1))
