"""A task of four tokens, and models whose losses are known because a rule sets them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from headway.replace import Bench
from headway.tasks import Batch, Task
from headway.training import held_out

TO_KEY = "query←key"
CERTAIN = 40.0
"""The logit of an answer that a model is sure of."""


@dataclass(frozen=True)
class First4(Task):
    """Reads 4 tokens; the answer is the first."""

    vocabulary = 6
    roles = ("query", "mid", "key")

    def draw(self, count, generator):
        return (torch.randint(0, 6, (count, 4), generator=generator),)

    def assemble(self, draws):
        (tokens,) = draws
        roles = torch.tensor([[3], [1], [0]]).expand(len(tokens), 3, 1)
        return Batch(tokens, tokens[:, :1, None], roles)


class Ruled(nn.Module):
    """A layer of heads that attend to the first position, and a rule for what comes of
    it.

    Args:
        shares: the attention of each head from the last position to the first.
        sure: how sure of the right answer the model is, from 0 to 1, by what every head
            attends there, [sequence, head].
    """

    n_layers = 1

    def __init__(self, shares: Sequence[float], sure: Callable[[Tensor], Tensor]):
        super().__init__()
        self.shares = shares
        self.n_heads = len(shares)
        self.sure = sure

    def forward(self, tokens, tap=None):
        pattern = torch.eye(4).repeat(len(tokens), self.n_heads, 1, 1)
        for head, share in enumerate(self.shares):
            rest = (1 - share) / 3
            pattern[:, head, 3] = torch.tensor([share, rest, rest, rest])
        pattern = pattern if tap is None else tap(0, pattern)
        right = nn.functional.one_hot(tokens[:, :1], 6).float()
        sure = self.sure(pattern[:, :, 3, 0])
        return CERTAIN * right * sure.float()[:, None, None]


def bench_of(model: nn.Module, sequences: int = 16) -> Bench:
    """A model on sequences of the task."""
    return Bench(model, First4(), held_out(First4(), sequences, 0, "cpu", "circuit"))
