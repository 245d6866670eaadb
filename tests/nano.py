"""Small models as others write them, in the way of nanoGPT, with attention of several
kinds.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sampling import seeded

LENGTH = 6
WIDTH = 16
X = torch.randn(3, LENGTH, WIDTH, generator=seeded(0))
BIAS = torch.randn(4, LENGTH, LENGTH, generator=seeded(1))


def looked(wrapped, inputs=X):
    """The outputs under a tap that changes nothing, and the patterns that it saw."""
    seen = []
    return wrapped(inputs, lambda _, own: seen.append(own) or own.clone()), seen


@torch.library.custom_op("headway_tests::flash_attn", mutates_args=())
def flash_attn(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention that torch knows nothing of but its name."""
    return F.scaled_dot_product_attention(query, key, value)


class Rope(nn.Module):
    """Turns pairs of numbers by angles that grow with the position."""

    def forward(self, x):
        half = x.shape[-1] // 2
        speeds = 100.0 ** -(torch.arange(half) / half)
        angles = torch.arange(x.shape[-2])[:, None] * speeds
        first, second = x.chunk(2, -1)
        cos = angles.cos()
        sin = angles.sin()
        turned = torch.cat([first * cos - second * sin, first * sin + second * cos], -1)
        return turned.to(x.dtype)


class Block(nn.Module):
    """As in nanoGPT: RMSNorm, rotary positions, SwiGLU; heads share keys if these are
    fewer.
    """

    def __init__(self, kind, n_heads, n_keys=1, d_head=8, width=WIDTH):
        super().__init__()
        self.kind = kind
        self.d_head = d_head
        self.norm1 = nn.RMSNorm(width)
        self.norm2 = nn.RMSNorm(width)
        self.query = nn.Linear(width, n_heads * d_head, bias=False)
        self.key = nn.Linear(width, n_keys * d_head, bias=False)
        self.value = nn.Linear(width, n_keys * d_head, bias=False)
        self.out = nn.Linear(n_heads * d_head, width, bias=False)
        self.gate = nn.Linear(width, 3 * width, bias=False)
        self.up = nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)
        self.rope = Rope()

    def attend(self, query, key, value):
        if self.kind == "sdpa":
            return F.scaled_dot_product_attention(
                query, key, value, is_causal=True, enable_gqa=True
            )
        key = key.expand_as(query)
        value = value.expand_as(query)
        if self.kind == "custom":
            return flash_attn(query, key, value)
        if self.kind == "linear":
            states = torch.einsum("bhkd,bhke->bhde", key, value)
            return torch.einsum("bhqd,bhde->bhqe", query, states)
        if self.kind == "einsum":
            scores = torch.einsum("bhqd,bhkd->bhqk", query, key)
        else:
            scores = query @ key.transpose(-2, -1)
        length = query.shape[-2]
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        scores = (scores / math.sqrt(self.d_head)).masked_fill(future, -torch.inf)
        self.pattern = (
            scores.sigmoid() if self.kind == "sigmoid" else scores.softmax(dim=-1)
        )
        return self.pattern @ value

    def forward(self, x):
        normed = self.norm1(x)
        shape = (*x.shape[:2], -1, self.d_head)
        maps = (self.query, self.key, self.value)
        query, key, value = (m(normed).view(shape).transpose(1, 2) for m in maps)
        carried = self.attend(self.rope(query), self.rope(key), value)
        x = x + self.out(carried.transpose(1, 2).flatten(2))
        normed = self.norm2(x)
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))


class Nano(nn.Module):
    """A model as one would write it oneself: a block for each kind of attention."""

    def __init__(self, *kinds, n_heads=(2, 2)):
        super().__init__()
        torch.manual_seed(0)
        blocks = zip(kinds, n_heads[: len(kinds)], strict=True)
        self.blocks = nn.Sequential(*(Block(kind, heads) for kind, heads in blocks))
        for weight in self.parameters():
            nn.init.normal_(weight, std=0.5)

    def forward(self, x):
        return self.blocks(x)


class GPT(nn.Module):
    """A small language model of two layers of two heads."""

    def __init__(self, vocabulary=10, width=64):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        blocks = (Block("sdpa", 2, 2, width // 2, width) for _ in range(2))
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        return self.head(self.norm(self.blocks(self.embed(tokens))))
