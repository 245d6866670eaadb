"""Whether two scores depend on each other: the Hilbert-Schmidt criterion, by permutations.

Gretton et al. (2007), "A kernel statistical test of independence".
"""

import torch
from jaxtyping import Float
from torch import Tensor

TINY = 1e-12
"""The rounding error of a criterion, as a share of the largest that is possible."""


def independence(
    one: Float[Tensor, " n"], other: Float[Tensor, " n"], permutations: int, seed: int
) -> tuple[float, float]:
    """The criterion of two scores, and the p-value of their independence.

    Kernels are Gaussian, each as wide as the median distance between two different scores.

    Args:
        one: a score of every sequence.
        other: another one of the same sequences.
        permutations: how often the other's order is drawn anew.
        seed: of these draws.

    Returns:
        The criterion and its p-value, (1 + permutations that give as much) / (1 + permutations). A
        score that is the same everywhere depends on nothing: 0 and 1.
    """
    n = len(one)
    first, second = _features(centred(_kernel(one))), _features(_kernel(other))
    generator = torch.Generator().manual_seed(seed)
    orders = [torch.arange(n)]
    orders += [torch.randperm(n, generator=generator) for _ in range(permutations)]
    criteria = torch.stack([(first.T @ second[order]).square().sum() for order in orders])
    rounding = TINY * first.square().sum() * second.square().sum()
    as_much = criteria[1:] >= criteria[0] - rounding
    return criteria[0].item() / (n - 1) ** 2, (1 + int(as_much.sum())) / (1 + permutations)


def centred(kernel: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    """A kernel less the means of its rows and columns."""
    rows, columns = kernel.mean(0, keepdim=True), kernel.mean(1, keepdim=True)
    return kernel - rows - columns + kernel.mean()


def _kernel(scores: Float[Tensor, " n"]) -> Float[Tensor, "n n"]:
    apart = (scores.double()[:, None] - scores.double()).abs()
    if not bool((apart > 0).any()):
        return torch.ones_like(apart)
    return torch.exp(-(apart.square()) / (2 * apart[apart > 0].median() ** 2))


def _features(kernel: Float[Tensor, "n n"]) -> Float[Tensor, "n feature"]:
    """Vectors whose products are the kernel. They are few, as the kernel is smooth."""
    values, vectors = torch.linalg.eigh(kernel)
    counts = values > TINY * values.abs().max()
    return vectors[:, counts] * values[counts].sqrt()
