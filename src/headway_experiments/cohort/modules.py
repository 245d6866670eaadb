"""Small transformers as people write them: a plain module, torch's encoder, and
headway's own.
"""

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headway.models import Transformer, TransformerConfig
from headway.tasks import Task


@dataclass(frozen=True)
class Shape:
    """The shape of a transformer.

    Attributes:
        kind: `plain` is this file's own module, `encoder` torch's
            `nn.TransformerEncoder`, `headway` the package's `Transformer`.
        layers: of attention.
        heads: in each layer.
        width: of the residual stream.
        mlp: whether an MLP follows attention in each layer.
        positions: a vector for every place, a turn of queries and keys by place, or
            none.
    """

    kind: Literal["plain", "encoder", "headway"] = "plain"
    layers: int = 1
    heads: int = 1
    width: int = 32
    mlp: bool = True
    positions: Literal["learned", "rotary", "none"] = "learned"


def turned(x: Tensor) -> Tensor:
    """Queries or keys [batch, head, position, number], turned by their place."""
    length, size = x.shape[-2:]
    half = size // 2
    speeds = 100.0 ** (-torch.arange(half, device=x.device) / half)
    angles = torch.arange(length, device=x.device)[:, None] * speeds
    first, other = x.split(half, dim=-1)
    cosine = angles.cos()
    sine = angles.sin()
    return torch.cat(
        [first * cosine - other * sine, first * sine + other * cosine], dim=-1
    )


class Attention(nn.Module):
    """Multi-head attention by `scaled_dot_product_attention`."""

    def __init__(self, shape: Shape, causal: bool):
        super().__init__()
        self.heads = shape.heads
        self.causal = causal
        self.rotary = shape.positions == "rotary"
        self.inward = nn.Linear(shape.width, 3 * shape.width)
        self.outward = nn.Linear(shape.width, shape.width)

    def forward(self, x: Tensor) -> Tensor:
        """The sum of what the heads write [batch, position, number]."""
        parts = self.inward(x).unflatten(-1, (3, self.heads, -1))
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        if self.rotary:
            query = turned(query)
            key = turned(key)
        read = F.scaled_dot_product_attention(query, key, value, is_causal=self.causal)
        return self.outward(read.transpose(1, 2).flatten(2))


def mlp_of(width: int) -> nn.Module:
    """An MLP, four times as wide inside."""
    inward = nn.Linear(width, 4 * width)
    outward = nn.Linear(4 * width, width)
    return nn.Sequential(nn.LayerNorm(width), inward, nn.GELU(), outward)


class Plain(nn.Module):
    """A pre-LN transformer that answers at every position."""

    def __init__(self, shape: Shape, task: Task):
        super().__init__()
        width = shape.width
        layers = range(shape.layers)
        self.token = nn.Embedding(task.vocabulary or 0, width)
        learns_places = shape.positions == "learned"
        self.place = nn.Embedding(task.length, width) if learns_places else None
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in layers)
        causal = not task.looks_ahead
        self.attentions = nn.ModuleList(Attention(shape, causal) for _ in layers)
        has_mlps = layers if shape.mlp else ()
        self.mlps = nn.ModuleList(mlp_of(width) for _ in has_mlps)
        self.last = nn.LayerNorm(width)
        self.answer = nn.Linear(width, task.d_target)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits [batch, position, number] of tokens [batch, position]."""
        x = self.token(tokens)
        if self.place is not None:
            x = x + self.place.weight[: tokens.shape[1]]
        for layer, attention in enumerate(self.attentions):
            x = x + attention(self.norms[layer](x))
            if self.mlps:
                x = x + self.mlps[layer](x)
        return self.answer(self.last(x))


class Encoder(nn.Module):
    """`nn.TransformerEncoder` with a causal mask unless the task looks ahead."""

    def __init__(self, shape: Shape, task: Task):
        super().__init__()
        width = shape.width
        self.causal = not task.looks_ahead
        self.token = nn.Embedding(task.vocabulary or 0, width)
        self.place = nn.Embedding(task.length, width)
        layer = nn.TransformerEncoderLayer(
            width, shape.heads, 4 * width, dropout=0.0, batch_first=True
        )
        self.encoder = nn.TransformerEncoder(
            layer, shape.layers, enable_nested_tensor=False
        )
        self.answer = nn.Linear(width, task.d_target)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits [batch, position, number] of tokens [batch, position]."""
        length = tokens.shape[1]
        mask = None
        if self.causal:
            mask = nn.Transformer.generate_square_subsequent_mask(length)
        x = self.token(tokens) + self.place.weight[:length]
        return self.answer(self.encoder(x, mask, is_causal=self.causal))


def headway_transformer(shape: Shape, task: Task, seed: int) -> Transformer:
    """The package's own transformer."""
    config = TransformerConfig(
        n_layers=shape.layers,
        n_heads=shape.heads,
        d_model=shape.width,
        d_mlp=4 * shape.width if shape.mlp else 0,
        causal=not task.looks_ahead,
        positions="none" if shape.positions == "none" else "learned",
    )
    sizes = task.d_input, task.d_target, task.length, task.n_read
    return Transformer(config, *sizes, seed, task.vocabulary)


def module_of(shape: Shape, task: Task, seed: int) -> nn.Module:
    """A module with fresh weights, drawn from a seed."""
    torch.manual_seed(seed)
    match shape.kind:
        case "plain":
            return Plain(shape, task)
        case "encoder":
            return Encoder(shape, task)
    return headway_transformer(shape, task, seed)
