"""The tap in attention that is written in other ways, and beside softmaxes that are none."""

import pytest
import torch
import torch.nn.functional as F
from nano import LENGTH, WIDTH
from torch import nn

from headway.models import tapped

X = torch.randn(3, LENGTH, WIDTH, generator=torch.Generator().manual_seed(0))
BIAS = torch.randn(4, LENGTH, LENGTH, generator=torch.Generator().manual_seed(1))


def split(x):
    return x.view(*x.shape[:2], 4, -1).transpose(1, 2)


def additive(x):
    """Scores that are no product."""
    return torch.tanh(x[:, :, None] + x[:, None])[..., :4].permute(0, 3, 1, 2).softmax(-1)


def grouped(x):
    """Scores [batch, key head, query head of it, query, key]."""
    query = split(x).unflatten(1, (2, 2))
    return torch.softmax(query @ query[:, :, :1].mT, -1).flatten(1, 2)


def flat(x):
    """Scores [batch * head, query, key], as in Bloom."""
    query = split(x).flatten(0, 1)
    scores = BIAS.repeat(len(x), 1, 1).baddbmm(batch1=query, batch2=query.mT, beta=0.5)
    return F.softmax(scores, dim=2).view(len(x), 4, LENGTH, LENGTH)


def viewed(x):
    """Such scores, with a key that is no position, as [batch, head, query, key]."""
    query = split(x).flatten(0, 1)
    keys = torch.cat([query, torch.zeros(4 * len(x), 1, query.shape[-1])], 1)
    return torch.bmm(query, keys.mT).view(len(x), 4, LENGTH, LENGTH + 1).softmax(3)


def sink(x):
    """A key beside the positions."""
    query = split(x)
    return torch.cat([query @ query.mT, torch.ones(len(x), 4, LENGTH, 1)], -1).softmax(-1)


WAYS = [additive, grouped, flat, viewed, sink]


@pytest.mark.parametrize("weigh", WAYS)
def test_other_ways_to_write_attention(weigh):
    class Module(nn.Module):
        def forward(self, x):
            pattern = weigh(x)
            values = F.pad(split(x), (0, 0, 0, pattern.shape[-1] - LENGTH))
            return (pattern @ values).transpose(1, 2)

    wrapped, seen = tapped(Module(), X), []
    expected = wrapped(X)
    found = wrapped(X, lambda _, pattern: seen.append(pattern) or pattern.clone())
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(seen, [weigh(X)])
    assert (wrapped.n_layers, wrapped.n_heads) == (1, 4)
    expected[:, :, 2] = 0
    torch.testing.assert_close(
        wrapped(X, lambda _, pattern: pattern.index_fill(1, torch.tensor(2), 0)), expected
    )


class Decoys(nn.Module):
    """One head, whose pattern has no dimension for it; as many outputs, experts and units of an
    expert as keys.
    """

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.router, self.unembed = nn.Linear(WIDTH, LENGTH), nn.Linear(WIDTH, LENGTH)
        self.up = nn.Parameter(torch.randn(LENGTH, WIDTH, LENGTH) / 4)
        self.down = nn.Parameter(torch.randn(LENGTH, LENGTH, WIDTH) / 4)

    def forward(self, x):
        self.pattern = torch.softmax(torch.bmm(x, x.transpose(1, 2)) / 8, -1)
        x = torch.bmm(self.pattern, x)
        experts = (x[:, None] @ self.up).relu() @ self.down
        shares = F.softmax(self.router(x), -1).mT[..., None]
        return self.unembed((shares * experts).sum(1)).softmax(-1)


def test_other_softmaxes_are_left_alone():
    module, seen = Decoys(), []
    wrapped = tapped(module, X)
    wrapped(X, lambda _, pattern: seen.append(pattern) or pattern)
    assert (wrapped.n_layers, wrapped.n_heads) == (1, 1)
    torch.testing.assert_close(seen, [module.pattern[:, None]])
