"""Whether two scores depend on each other: the Hilbert-Schmidt criterion, by permutations.

Gretton et al. (2007), "A kernel statistical test of independence".
"""

import torch
from jaxtyping import Float
from torch import Tensor


def independence(
    one: Float[Tensor, " n"], other: Float[Tensor, " n"], permutations: int, seed: int
) -> tuple[float, float]:
    """The criterion of two scores, and how likely so large a one is if they are independent.

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
    first, second = centred(_kernel(one.double())), _kernel(other.double())
    generator = torch.Generator().manual_seed(seed)
    n = len(first)
    found = [(first * second).sum()]
    for _ in range(permutations):
        order = torch.randperm(n, generator=generator).to(second.device)
        found.append((first * second[order[:, None], order]).sum())
    criteria = torch.stack(found) / (n - 1) ** 2
    scale = criteria.abs().max().item()
    as_much = criteria[1:] >= criteria[0] - 1e-9 * scale  # what is equal differs by rounding
    return criteria[0].item(), (1 + int(as_much.sum())) / (1 + permutations)


def centred(kernel: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    """A kernel less the means of its rows and columns."""
    rows, columns = kernel.mean(0, keepdim=True), kernel.mean(1, keepdim=True)
    return kernel - rows - columns + kernel.mean()


def _kernel(scores: Float[Tensor, " n"]) -> Float[Tensor, "n n"]:
    apart = (scores[:, None] - scores).abs()
    if not bool((apart > 0).any()):
        return torch.ones_like(apart)
    return torch.exp(-(apart.square()) / (2 * apart[apart > 0].median() ** 2))
