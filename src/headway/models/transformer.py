"""The transformer: pre-LN, with one tap for every attention pattern.

inputs [batch, position, d_input], of vectors
  → Linear → residual stream [batch, position, d_model]
or inputs [batch, position], tokens by number
  → W_E[token] + W_pos[position] → the same
  → n_layers × ( + Attention(LN(x)), + MLP(LN(x)) )
  → LN → Linear at the last `n_read` positions → [batch, n_read, d_target]
"""

import math
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from headway.errors import require
from headway.models.config import TransformerConfig
from headway.models.hooks import Hooked, HookPoint, is_watched
from headway.models.tapped import Tap
from headway.settings import makes_as_usual

Inputs = Float[Tensor, "batch position d_input"] | Int[Tensor, "batch position"]
Pattern = Float[Tensor, "batch head query key"]
Product = Callable[[Pattern, Float[Tensor, "batch head key d_head"]], Tensor]


class Attention(nn.Module):
    """Multi-head attention; every pattern passes through the tap, if there is one."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.n_heads = config.n_heads
        self.d_head = config.head_width
        self.is_linear = config.attention == "linear"
        inner = self.n_heads * self.d_head
        self.qkv = nn.Linear(config.d_model, 3 * inner)
        self.hook_q = HookPoint()
        self.hook_k = HookPoint()
        self.hook_v = HookPoint()
        self.hook_attn_scores = HookPoint()
        self.hook_pattern = HookPoint()
        self.hook_z = HookPoint()
        self.out = nn.Linear(inner, config.d_model)

    def forward(
        self,
        stream: Float[Tensor, "batch key d_model"],
        mask: Float[Tensor, "position key"] | None = None,
        tap: Callable[[Pattern], Tensor] | Pattern | None = None,
        n_read: int | None = None,
        product: Product = torch.matmul,
    ) -> Float[Tensor, "batch query d_model"]:
        """The sum that the heads write to the residual stream.

        With `n_read`, only the last so many positions attend; all positions can be
        attended to. Where a pattern is given in the place of a tap, queries and keys
        are not computed. What heads read is the `product` of pattern and values.
        """
        if isinstance(tap, Tensor):
            v = self.hook_v(self._values(stream))
            pattern = tap
        else:
            qkv = self.qkv(stream).unflatten(2, (3, self.n_heads, self.d_head))
            q, k, v = qkv.unbind(2)
            at = slice(None if n_read is None else -n_read, None)
            q = self.hook_q(q[:, at])
            k = self.hook_k(k)
            v = self.hook_v(v)
            q = q * self.d_head**-0.5
            scores = q.transpose(1, 2) @ k.permute(0, 2, 3, 1)
            pattern = self.weigh(scores, None if mask is None else mask[at])
            if tap is not None:
                pattern = tap(pattern)
        pattern = self.hook_pattern(pattern)
        values = v.transpose(1, 2)
        # Autocast casts the two itself.
        if not torch.is_autocast_enabled(stream.device.type):
            exact = torch.promote_types(pattern.dtype, v.dtype)
            pattern = pattern.to(exact)
            values = values.to(exact)
        z = product(pattern, values).transpose(1, 2)
        z = self.hook_z(z.to(v.dtype))
        return self.out(z.flatten(2))

    def _values(
        self, stream: Float[Tensor, "batch key d_model"]
    ) -> Float[Tensor, "batch key head d_head"]:
        """The values alone."""
        size = self.n_heads * self.d_head
        weight = self.qkv.weight[-size:]
        v = F.linear(stream, weight, self.qkv.bias[-size:])
        return v.unflatten(2, (self.n_heads, self.d_head))

    def weigh(
        self,
        scores: Float[Tensor, "*batch query key"],
        mask: Float[Tensor, "query key"] | None,
    ) -> Float[Tensor, "*batch query key"]:
        """The pattern that scores give, in single precision at least."""
        exact = torch.promote_types(scores.dtype, torch.float32)
        if self.is_linear:
            scores = scores.to(exact)
            if mask is not None:
                scores = scores * mask.exp()
            return self.hook_attn_scores(scores)
        if mask is not None:
            scores = scores + mask
        scores = self.hook_attn_scores(scores)
        return scores.softmax(-1, dtype=exact)


class MLP(nn.Module):
    """Two linear maps with an activation between them."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.up = nn.Linear(config.d_model, config.mlp_width)
        self.act = F.gelu if config.act_fn == "gelu" else F.relu
        self.down = nn.Linear(config.mlp_width, config.d_model)
        self.hook_pre = HookPoint()
        self.hook_post = HookPoint()

    def forward(self, stream: Tensor) -> Tensor:
        """Applies the MLP at every position alone."""
        hidden = self.hook_pre(self.up(stream))
        hidden = self.hook_post(self.act(hidden))
        return self.down(hidden)


class Norm(nn.LayerNorm):
    """LayerNorm, with a hook on what it has normalised and not yet scaled."""

    def __init__(self, size: int):
        super().__init__(size)
        self.hook_normalized = HookPoint()

    def forward(
        self, input: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch d_model"]:
        """The normalised input, made in one operation unless a hook looks."""
        if not is_watched(self.hook_normalized):
            return super().forward(input)
        normalized = F.layer_norm(input, self.normalized_shape, eps=self.eps)
        return self.hook_normalized(normalized) * self.weight + self.bias


class Block(nn.Module):
    """One layer: attention, then perhaps an MLP, each added to the stream."""

    hook_resid_mid: HookPoint
    hook_mlp_out: HookPoint

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.hook_resid_pre = HookPoint()
        self.hook_resid_post = HookPoint()
        self.ln1 = norm_of(config)
        self.attn = Attention(config)
        self.hook_attn_out = HookPoint()
        self.ln2 = None if config.attn_only else norm_of(config)
        self.mlp = None if config.attn_only else MLP(config)
        if not config.attn_only:
            self.hook_resid_mid = HookPoint()
            self.hook_mlp_out = HookPoint()

    def forward(
        self,
        stream: Float[Tensor, "batch key d_model"],
        mask: Float[Tensor, "position key"] | None = None,
        tap: Callable[[Pattern], Tensor] | Pattern | None = None,
        n_read: int | None = None,
        product: Product = torch.matmul,
    ) -> Float[Tensor, "batch query d_model"]:
        """The residual stream after the layer; with `n_read`, at the last so many
        positions.
        """
        stream = self.hook_resid_pre(stream)
        attended = self.attn(self.ln1(stream), mask, tap, n_read, product)
        attended = self.hook_attn_out(attended)
        if n_read is not None:
            stream = stream[:, -n_read:]
        return self.finish(stream + attended)

    def finish(
        self, stream: Float[Tensor, "batch query d_model"]
    ) -> Float[Tensor, "batch query d_model"]:
        """The rest of the layer, after attention has been added."""
        if self.ln2 is not None and self.mlp is not None:
            stream = self.hook_resid_mid(stream)
            added = self.mlp(self.ln2(stream))
            stream = stream + self.hook_mlp_out(added)
        return self.hook_resid_post(stream)


def norm_of(config: TransformerConfig) -> nn.Module:
    """The module that stands before all that reads the residual stream."""
    if config.norm == "pre":
        return Norm(config.d_model)
    return nn.Identity()


class Transformer(Hooked):
    """A transformer of vectors or tokens, read at its last `n_read` positions.

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
    embed: nn.Linear | nn.Embedding

    @makes_as_usual
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
        self.config = config
        self.n_read = n_read
        self.d_input = d_input
        self.vocabulary = vocabulary
        if vocabulary is None:
            self.embed = nn.Linear(d_input, config.d_model)
        else:
            self.embed = nn.Embedding(vocabulary, config.d_model)
        placed = vocabulary is not None and config.positions == "learned"
        self.pos_embed = nn.Embedding(n_positions, config.d_model) if placed else None
        self.hook_embed = HookPoint()
        if placed:
            self.hook_pos_embed = HookPoint()
        blocks = [Block(config) for _ in range(config.n_layers)]
        self.blocks = nn.ModuleList(blocks)
        self.ln_final = norm_of(config)
        self.unembed = nn.Linear(config.d_model, d_target)
        hidden = torch.full((n_positions, n_positions), -math.inf)
        future = hidden.triu(1)
        self.register_buffer(
            "mask", future if config.causal else None, persistent=False
        )
        initialise(self, torch.Generator().manual_seed(seed))

    def forward(
        self, inputs: Inputs, tap: Tap | None = None, layers: int | None = None
    ) -> Float[Tensor, "batch read d_target"]:
        """Predicts at the read-out positions; attention passes through `tap`.

        Sequences may be shorter than `n_positions`. With `layers`, the first so many
        are all that there is.

        Raises:
            HeadwayError: if they are longer than `longest`.
        """
        streams = islice(self.streams(inputs, tap), layers)
        (last,) = deque(streams, maxlen=1)
        return self.read(last)

    def streams(
        self, inputs: Inputs, tap: Tap | None = None
    ) -> Iterator[Float[Tensor, "batch position d_model"]]:
        """The residual stream after every layer.

        Unless there is a tap, or a hook in it, the last layer is computed at the
        read-out positions only: nothing else of it can reach the output.
        """
        size = inputs.shape[1]
        most = self.longest
        fits = most is None or size <= most
        require(fits, "positions in a sequence", size, f"at most {most}")
        return self._streams(self.embedded(inputs), 0, tap)

    def onward(
        self, stream: Float[Tensor, "batch position d_model"], layer: int, tap: Tap
    ) -> Float[Tensor, "batch read d_target"]:
        """The prediction from the residual stream before a layer on."""
        (last,) = deque(self._streams(stream, layer, tap), maxlen=1)
        return self.read(last)

    def _streams(
        self,
        stream: Float[Tensor, "batch position d_model"],
        start: int,
        tap: Tap | None,
    ) -> Iterator[Float[Tensor, "batch position d_model"]]:
        """The streams after every layer from one on, given that before it."""
        size = stream.shape[1]
        mask = None if self.mask is None else self.mask[:size, :size]
        last = self.layers[-1]
        whole = tap is not None or is_watched(last) or is_watched(self.ln_final)
        for layer, block in enumerate(self.layers[start:], start):
            own = None if tap is None else partial(tap, layer)
            n_read = self.n_read if block is last and not whole else None
            stream = block(stream, mask, own, n_read)
            yield stream

    def embedded(self, inputs: Inputs) -> Float[Tensor, "batch position d_model"]:
        """The residual stream before the first layer."""
        stream = self.embed(inputs)
        if inputs.is_floating_point():
            # Whatever precision maps are in, the stream has that of the inputs.
            stream = stream.to(inputs.dtype)
        stream = self.hook_embed(stream)
        if self.pos_embed is None:
            return stream
        numbers = torch.arange(inputs.shape[1], device=inputs.device)
        places = self.pos_embed(numbers).expand_as(stream)
        return stream + self.hook_pos_embed(places)

    def read(
        self, stream: Float[Tensor, "batch position d_model"]
    ) -> Float[Tensor, "batch read d_target"]:
        """The read-out of a residual stream, as it is after the last layer."""
        if not is_watched(self.ln_final):
            stream = stream[:, -self.n_read :]
        stream = self.ln_final(stream)
        return self.unembed(stream[:, -self.n_read :])

    @property
    def longest(self) -> int | None:
        """Positions in the longest sequence that it reads; None if it reads any."""
        if self.pos_embed is not None:
            return self.pos_embed.num_embeddings
        if self.mask is None:
            return None
        return len(self.mask)

    @property
    def n_layers(self) -> int:
        return self.config.n_layers

    @property
    def n_heads(self) -> int:
        return self.config.n_heads

    @property
    def layers(self) -> list[Block]:
        return list(self.blocks)  # pyright: ignore[reportReturnType]


@torch.no_grad()
def initialise(model: Transformer, generator: torch.Generator) -> None:
    """Draws all weights afresh; biases 0, norms 1."""
    config = model.config
    for name, weight in model.named_parameters():
        if weight.ndim < 2:
            is_scale = ".ln" in f".{name}" and name.endswith("weight")
            weight.fill_(1.0 if is_scale else 0.0)
        elif config.init in ("associative", "orthonormal"):
            _associative(name, weight, config.n_layers, generator)
        elif config.init == "orthogonal":
            maps = 3 if name.endswith("attn.qkv.weight") else 1
            for linear in weight.chunk(maps):
                _orthogonal(linear, generator)
        else:
            like_gpt2 = config.init in ("gpt2", "gpt2_blocks")
            std = 0.02 if like_gpt2 else weight.shape[1] ** -0.5
            if like_gpt2 and name.endswith(("attn.out.weight", "mlp.down.weight")):
                std /= math.sqrt(2 * config.n_layers)
            weight.normal_(0.0, std, generator=generator)
        if name.startswith("blocks.") and weight.ndim == 2 and config.init_scale != 1:
            weight.mul_(config.init_scale)
    if config.init == "gpt2_blocks":
        _around_blocks(model, generator)
    if config.init == "orthonormal":
        _orthonormal(model, generator)
    if isinstance(model.embed, nn.Embedding) and config.embed_scale != 1:
        model.embed.weight.mul_(config.embed_scale)
    if config.silent_above is not None:
        for block in model.layers[config.silent_above :]:
            block.attn.out.weight.zero_()
            if block.mlp is not None:
                block.mlp.down.weight.zero_()


def _around_blocks(model: Transformer, generator: torch.Generator) -> None:
    """Draws the linear maps into and out of the residual stream anew, as PyTorch does.

    Weights and biases are uniform within ±1/sqrt(fan-in).
    """
    for linear in (model.embed, model.unembed):
        if isinstance(linear, nn.Linear):
            bound = linear.in_features**-0.5
            for weight in linear.parameters():
                weight.uniform_(-bound, bound, generator=generator)


def _orthonormal(model: Transformer, generator: torch.Generator) -> None:
    """Draws the embeddings of tokens and places anew, and the rows of the read-out:
    orthonormal. Every W_O that is not zero becomes such that what W_OV makes of
    embeddings is orthonormal to them all."""
    weights = [model.embed.weight]
    if model.pos_embed is not None:
        weights.append(model.pos_embed.weight)
    sizes = [len(weight) for weight in weights]
    count = sum(sizes)
    _require_room(model, count)
    width = model.config.d_model
    basis = nn.init.orthogonal_(torch.empty(width, width), generator=generator)
    for weight, rows in zip(weights, basis[:count].split(sizes), strict=True):
        weight.copy_(rows)
    moved_on = basis.roll(-count, 0)
    for block in model.layers[:-1]:
        value = block.attn.qkv.weight.chunk(3)[2]
        block.attn.out.weight.copy_(moved_on.T @ basis @ value.T)
    nn.init.orthogonal_(model.unembed.weight, generator=generator)


def _require_room(model: Transformer, count: int) -> None:
    """Makes sure that embeddings, and what heads make of them, can be orthonormal."""
    config = model.config
    inner = config.n_heads * config.head_width
    is_of_tokens = isinstance(model.embed, nn.Embedding)
    fits = is_of_tokens and inner == config.d_model >= 2 * count
    allowed = (
        "one other than orthonormal, which is for tokens by number,"
        " heads together as wide as the model,"
        f" and a width of at least twice the {count} embeddings"
    )
    require(fits, "model.init", "orthonormal", allowed)


def _orthogonal(weight: Tensor, generator: torch.Generator) -> None:
    rows, columns = weight.shape
    gain = max(1.0, rows / columns) ** 0.5
    nn.init.orthogonal_(weight, gain, generator)


def _associative(
    name: str, weight: Tensor, n_layers: int, generator: torch.Generator
) -> None:
    """Zeroes the weights that are to learn; others pass the stream on whole."""
    if name.endswith("attn.qkv.weight"):
        query, key, value = weight.chunk(3)
        nn.init.eye_(query)
        key.zero_()
        _orthogonal(value, generator)
    elif (
        name.endswith("mlp.down.weight")
        or name == f"blocks.{n_layers - 1}.attn.out.weight"
    ):
        weight.zero_()
    elif name.endswith("attn.out.weight"):
        _orthogonal(weight, generator)
    else:
        weight.normal_(0.0, weight.shape[1] ** -0.5, generator=generator)
