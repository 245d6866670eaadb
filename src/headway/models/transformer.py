"""The transformer: pre-LN, with one tap through which every attention pattern can be seen and cut.

inputs [batch, position, d_input], of vectors
  → Linear → residual stream [batch, position, d_model]
or inputs [batch, position, 2], tokens and places by number
  → W_E[token] + W_pos[place] → the same
  → n_layers × ( + Attention(LN(x)), + MLP(LN(x)) )
  → LN → Linear at the last `n_read` positions → [batch, n_read, d_target]
"""

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from headway.models.config import TransformerConfig
from headway.models.initial import initialise

Inputs = Float[Tensor, "batch position d_input"] | Int[Tensor, "batch position 2"]
Pattern = Float[Tensor, "batch head query key"]
Tap = Callable[[int, Tensor], Tensor]
"""Called with a layer and its attention pattern; the layer uses the pattern that is returned."""


class Attention(nn.Module):
    """Multi-head attention, in the two halves between which the tap sits."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.n_heads, self.d_head = config.n_heads, config.head_width
        self.is_linear = config.attention == "linear"
        self.qkv = nn.Linear(config.d_model, 3 * self.n_heads * self.d_head)
        self.out = nn.Linear(self.n_heads * self.d_head, config.d_model)

    def pattern(
        self,
        x: Float[Tensor, "batch key d_model"],
        mask: Float[Tensor, "position key"] | None,
        n_read: int | None = None,
    ) -> tuple[Pattern, Float[Tensor, "batch head key d_head"]]:
        """Where every head attends, and the values it would carry.

        With `n_read`, only the last so many positions ask; all positions still answer.
        """
        batch, length, _ = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.n_heads, self.d_head).unbind(2)
        if n_read is not None:
            q, mask = q[:, -n_read:], None if mask is None else mask[-n_read:]
        scores = (q * self.d_head**-0.5).transpose(1, 2) @ k.permute(0, 2, 3, 1)
        return self.weigh(scores, mask), v.transpose(1, 2)

    def weigh(
        self,
        scores: Float[Tensor, "*batch query key"],
        mask: Float[Tensor, "query key"] | None,
    ) -> Float[Tensor, "*batch query key"]:
        """The pattern that scores give, in single precision at least."""
        exact = torch.promote_types(scores.dtype, torch.float32)
        if self.is_linear:
            return scores.to(exact) if mask is None else scores.to(exact) * mask.exp()
        return (scores if mask is None else scores + mask).softmax(-1, dtype=exact)

    def queries(
        self, x: Float[Tensor, "*batch query d_model"]
    ) -> Float[Tensor, "*batch query head d_head"]:
        """What every head asks, scaled so that its dot product with a key is the score."""
        asked, *_ = self._maps(0, 1, x)
        return asked * self.d_head**-0.5

    def keys_values(
        self, x: Float[Tensor, "*batch key d_model"]
    ) -> tuple[Float[Tensor, "*batch key head d_head"], Float[Tensor, "*batch key head d_head"]]:
        """What every head answers to, and what it would carry."""
        keys, values = self._maps(1, 3, x)
        return keys, values

    def moves(
        self,
    ) -> tuple[Float[Tensor, "head d_model d_model"], Float[Tensor, "head d_model"]]:
        """What every head writes of what it reads where it looks: W_O W_V, and W_O b_V.

        The bias of the output map is not in it, as it is there whatever heads do.
        """
        shape = (3, self.n_heads, self.d_head)
        values, bias = self.qkv.weight.view(*shape, -1)[2], self.qkv.bias.view(shape)[2]
        out = self.out.weight.view(-1, self.n_heads, self.d_head).transpose(0, 1)
        return out @ values, (out @ bias[..., None])[..., 0]

    def written(
        self, carried: Float[Tensor, "*batch query head d_head"], heads: Sequence[int]
    ) -> Float[Tensor, "*batch query d_model"]:
        """What some heads write of the values that they carry, without the output map's bias."""
        out = self.out.weight.view(-1, self.n_heads, self.d_head)[:, list(heads)]
        return F.linear(carried.flatten(-2), out.flatten(1))

    def _maps(self, first: int, after: int, x: Tensor) -> tuple[Tensor, ...]:
        """Some of queries (0), keys (1) and values (2), each [..., position, head, d_head]."""
        size = self.n_heads * self.d_head
        rows = slice(first * size, after * size)
        mapped = F.linear(x, self.qkv.weight[rows], self.qkv.bias[rows])
        return mapped.unflatten(-1, (after - first, self.n_heads, self.d_head)).unbind(-3)

    def mix(
        self, pattern: Pattern, values: Float[Tensor, "batch head key d_head"]
    ) -> Float[Tensor, "batch query d_model"]:
        """What the heads write to the residual stream, attending as `pattern` says."""
        return self.out((pattern @ values).transpose(1, 2).flatten(2))


class MLP(nn.Module):
    """Two linear maps with an activation between them."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.up = nn.Linear(config.d_model, config.mlp_width)
        self.act = F.gelu if config.act_fn == "gelu" else F.relu_
        self.down = nn.Linear(config.mlp_width, config.d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Applies the MLP at every position alone."""
        return self.down(self.act(self.up(x)))


class Block(nn.Module):
    """One layer: attention, then an MLP if there is one, each added to the residual stream."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.ln1 = norm_of(config)
        self.attn = Attention(config)
        self.ln2 = None if config.attn_only else norm_of(config)
        self.mlp = None if config.attn_only else MLP(config)

    def finish(
        self, x: Float[Tensor, "batch query d_model"]
    ) -> Float[Tensor, "batch query d_model"]:
        """The rest of the layer, after attention has been added."""
        if self.ln2 is None or self.mlp is None:
            return x
        return x + self.mlp(self.ln2(x))


def norm_of(config: TransformerConfig) -> nn.Module:
    """What stands before all that reads the residual stream."""
    return nn.LayerNorm(config.d_model) if config.norm == "pre" else nn.Identity()


class TokenEmbedding(nn.Embedding):
    """W_E [token, d_model], and W_pos [place, d_model] if places have vectors."""

    def __init__(self, config: TransformerConfig, vocabulary: int, n_positions: int):
        super().__init__(vocabulary, config.d_model)
        learned = config.positions == "learned"
        self.places = nn.Parameter(torch.empty(n_positions, config.d_model)) if learned else None

    def forward(self, input: Int[Tensor, "*batch 2"]) -> Float[Tensor, "*batch d_model"]:
        """Embeds tokens and places by number."""
        token = super().forward(input[..., 0])
        return token if self.places is None else token + self.places[input[..., 1]]


class Transformer(nn.Module):
    """A transformer that reads and writes vectors, or tokens, at its last `n_read` positions.

    Args:
        config: its shape.
        d_input: numbers read at a position.
        d_target: numbers written at a read-out position: vectors, or logits.
        n_positions: the length of a sequence.
        n_read: how many positions, from the end, are read out.
        seed: of the initial weights.
        vocabulary: how many tokens there are, if they are read by number.
    """

    mask: Tensor | None
    embed: nn.Linear | TokenEmbedding
    d_input: int

    def __init__(
        self,
        config: TransformerConfig,
        d_input: int,
        d_target: int,
        n_positions: int,
        n_read: int,
        seed: int = 0,
        vocabulary: int | None = None,
    ):
        super().__init__()
        self.config, self.n_read, self.d_input = config, n_read, d_input
        if vocabulary is None:
            self.embed = nn.Linear(d_input, config.d_model)
        else:
            self.embed = TokenEmbedding(config, vocabulary, n_positions)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.ln_final = norm_of(config)
        self.unembed = nn.Linear(config.d_model, d_target)
        future = torch.full((n_positions, n_positions), -math.inf).triu(1)
        self.register_buffer("mask", future if config.causal else None, persistent=False)
        initialise(self, config, torch.Generator().manual_seed(seed))

    def forward(
        self, inputs: Inputs, tap: Tap | None = None
    ) -> Float[Tensor, "batch read d_target"]:
        """Predicts at the read-out positions; every layer's attention passes through `tap`.

        Sequences may be shorter than `n_positions`.
        """
        (last,) = deque(self.streams(inputs, tap), maxlen=1)
        return self.read(last)

    def streams(
        self, inputs: Inputs, tap: Tap | None = None
    ) -> Iterator[Float[Tensor, "batch position d_model"]]:
        """The residual stream after every layer.

        Without a tap, the last layer is computed at the read-out positions only: nothing else of
        it can reach the output.
        """
        length = inputs.shape[1]
        mask = None if self.mask is None else self.mask[:length, :length]
        x = self.embed(inputs)
        if inputs.is_floating_point():
            x = x.to(inputs.dtype)  # the stream, whatever precision maps are in
        for layer, block in enumerate(self.layers):
            last = tap is None and layer == len(self.blocks) - 1
            pattern, values = block.attn.pattern(block.ln1(x), mask, self.n_read if last else None)
            if tap is not None:
                pattern = tap(layer, pattern)
            elif last:
                x = x[:, -self.n_read :]
            x = block.finish(x + block.attn.mix(pattern, values))
            yield x

    def read(
        self, stream: Float[Tensor, "batch position d_model"]
    ) -> Float[Tensor, "batch read d_target"]:
        """What is read out of a residual stream; it is meant for that after the last layer."""
        return self.unembed(self.ln_final(stream[:, -self.n_read :]))

    @property
    def layers(self) -> list[Block]:
        """The blocks, typed."""
        return list(self.blocks)  # pyright: ignore[reportReturnType]


def attention_patterns(
    model: Transformer, inputs: Inputs
) -> Float[Tensor, "batch layer head query key"]:
    """The attention pattern of every head of every layer."""
    seen: list[Tensor] = []

    def record(_: int, pattern: Tensor) -> Tensor:
        seen.append(pattern)
        return pattern

    model(inputs, record)
    return torch.stack(seen, dim=1)
