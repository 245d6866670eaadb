"""A weight cut to low rank by its singular values.

Of W = U diag(s) Vᵀ the r largest singular values are kept: of all matrices of rank r that is the
nearest (Eckart and Young 1936). Sharma et al. (2023, arXiv 2312.13558) do it to single weights of
trained language models, Chen, Bruna and Bietti (2024, arXiv 2406.03068) to the MLPs of late layers.
"""

import math
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from headway.errors import HeadwayError


def rank_of(fraction: float, full: int) -> int:
    """How many singular values a fraction of the full rank, min(rows, columns), is: rounded up.

    So any fraction above 0 keeps at least one.
    """
    return math.ceil(fraction * full - 1e-9)  # 0.1 · 30 is 3, not the next float above it


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
