"""The transformer: pre-LN, with one tap through which every attention pattern can be seen and cut.

inputs [batch, position, d_input]
  → Linear → residual stream [batch, position, d_model]
  → n_layers × ( + Attention(LN(x)), + MLP(LN(x)) )
  → LN → Linear at the last `n_read` positions → [batch, n_read, d_target]
"""

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from headway.errors import require, require_types

Pattern = Float[Tensor, "batch head query key"]
Tap = Callable[[int, Tensor], Tensor]
"""Called with a layer and its attention pattern; the layer uses the pattern that is returned."""


@dataclass(frozen=True)
class TransformerConfig:
    """The shape of a transformer; names as in TransformerLens.

    Attributes:
        n_layers: attention layers (each with an MLP unless `d_mlp` is 0).
        d_model: width of the residual stream.
        n_heads: attention heads in a layer.
        d_head: width of a head; none means d_model / n_heads.
        d_mlp: width of the MLPs; 0 means attention only, none means 4 · d_model.
        act_fn: the MLPs' activation.
        causal: whether a position sees only itself and what comes before it.
        init: `gpt2` (Radford et al. 2019: N(0, 0.02²), what is added to the residual stream scaled
            by 1/sqrt(2 · n_layers)), `fan_in` (N(0, 1/fan-in), nothing scaled) or `orthogonal`
            (every map an orthogonal matrix, as large as with `fan_in`).
    """

    n_layers: int = 4
    d_model: int = 64
    n_heads: int = 1
    d_head: int | None = None
    d_mlp: int | None = None
    act_fn: Literal["gelu", "relu"] = "gelu"
    causal: bool = True
    init: Literal["gpt2", "fan_in", "orthogonal"] = "gpt2"

    def __post_init__(self):
        require_types(self, "model.")
        for field in ("n_layers", "d_model", "n_heads"):
            value = getattr(self, field)
            require(value >= 1, f"model.{field}", value, "a whole number of at least 1")
        if self.d_head is None:
            require(
                self.d_model % self.n_heads == 0,
                "model.n_heads",
                self.n_heads,
                f"a divisor of model.d_model = {self.d_model}, unless model.d_head is given",
            )
        else:
            require(self.d_head >= 1, "model.d_head", self.d_head, "a whole number of at least 1")
        if self.d_mlp is not None:
            require(self.d_mlp >= 0, "model.d_mlp", self.d_mlp, "0 (attention only) or more")

    @property
    def head_width(self) -> int:
        """The width of a head, given or derived."""
        return self.d_head or self.d_model // self.n_heads

    @property
    def mlp_width(self) -> int:
        """The width of an MLP, given or derived; 0 if there is none."""
        return 4 * self.d_model if self.d_mlp is None else self.d_mlp

    @property
    def attn_only(self) -> bool:
        """Whether the model has no MLPs."""
        return self.mlp_width == 0


class Attention(nn.Module):
    """Multi-head attention, in the two halves between which the tap sits."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.n_heads, self.d_head = config.n_heads, config.head_width
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
        if mask is not None:
            scores = scores + mask
        exact = torch.promote_types(scores.dtype, torch.float32)
        return scores.softmax(-1, dtype=exact), v.transpose(1, 2)

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
        self.ln1 = nn.LayerNorm(config.d_model)
        self.attn = Attention(config)
        self.ln2 = None if config.attn_only else nn.LayerNorm(config.d_model)
        self.mlp = None if config.attn_only else MLP(config)

    def finish(
        self, x: Float[Tensor, "batch query d_model"]
    ) -> Float[Tensor, "batch query d_model"]:
        """The rest of the layer, after attention has been added."""
        if self.ln2 is None or self.mlp is None:
            return x
        return x + self.mlp(self.ln2(x))


class Transformer(nn.Module):
    """A transformer that reads vectors and writes vectors at its last `n_read` positions.

    Args:
        config: its shape.
        d_input: numbers read at a position.
        d_target: numbers written at a read-out position.
        n_positions: the length of a sequence.
        n_read: how many positions, from the end, are read out.
        seed: of the initial weights.
    """

    mask: Tensor | None

    def __init__(
        self,
        config: TransformerConfig,
        d_input: int,
        d_target: int,
        n_positions: int,
        n_read: int,
        seed: int = 0,
    ):
        super().__init__()
        self.config, self.n_read = config, n_read
        self.embed = nn.Linear(d_input, config.d_model)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.ln_final = nn.LayerNorm(config.d_model)
        self.unembed = nn.Linear(config.d_model, d_target)
        future = torch.full((n_positions, n_positions), -math.inf).triu(1)
        self.register_buffer("mask", future if config.causal else None, persistent=False)
        initialise(self, torch.Generator().manual_seed(seed))

    def forward(
        self, inputs: Float[Tensor, "batch position d_input"], tap: Tap | None = None
    ) -> Float[Tensor, "batch read d_target"]:
        """Predicts at the read-out positions; every layer's attention passes through `tap`.

        Sequences may be shorter than `n_positions`.
        """
        (last,) = deque(self.streams(inputs, tap), maxlen=1)
        return self.read(last)

    def streams(
        self, inputs: Float[Tensor, "batch position d_input"], tap: Tap | None = None
    ) -> Iterator[Float[Tensor, "batch position d_model"]]:
        """The residual stream after every layer.

        Without a tap, the last layer is computed at the read-out positions only: nothing else of
        it can reach the output.
        """
        length = inputs.shape[1]
        mask = None if self.mask is None else self.mask[:length, :length]
        x = self.embed(inputs).to(inputs.dtype)  # the stream, whatever precision maps are in
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
    model: Transformer, inputs: Float[Tensor, "batch position d_input"]
) -> Float[Tensor, "batch layer head query key"]:
    """The attention pattern of every head of every layer."""
    seen: list[Tensor] = []

    def record(_: int, pattern: Tensor) -> Tensor:
        seen.append(pattern)
        return pattern

    model(inputs, record)
    return torch.stack(seen, dim=1)


@torch.no_grad()
def initialise(model: Transformer, generator: torch.Generator) -> None:
    """Draws all weights afresh (see `TransformerConfig.init`); biases 0, norms 1."""
    config = model.config
    for name, weight in model.named_parameters():
        if weight.ndim < 2:
            weight.fill_(1.0 if ".ln" in f".{name}" and name.endswith("weight") else 0.0)
            continue
        if config.init == "orthogonal":
            for one in weight.chunk(3 if name.endswith("attn.qkv.weight") else 1):
                rows, columns = one.shape
                gain = max(1.0, rows / columns) ** 0.5
                nn.init.orthogonal_(one, gain, generator)
            continue
        std = 0.02 if config.init == "gpt2" else weight.shape[1] ** -0.5
        if config.init == "gpt2" and name.endswith(("attn.out.weight", "mlp.down.weight")):
            std /= math.sqrt(2 * config.n_layers)
        weight.normal_(0.0, std, generator=generator)
