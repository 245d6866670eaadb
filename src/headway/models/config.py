"""The shape of a transformer, as data."""

from dataclasses import dataclass
from typing import Literal

from headway.errors import require
from headway.fields import AtLeastOne, NotNegative, Positive, check


@dataclass(frozen=True)
class TransformerConfig:
    """The shape of a transformer; names as in TransformerLens.

    Attributes:
        n_layers: attention layers (each with an MLP unless `d_mlp` is 0).
        d_model: width of the residual stream.
        n_heads: attention heads in a layer.
        d_head: width of a head; by default d_model / n_heads.
        d_mlp: width of the MLPs; 0 for attention only; by default 4 · d_model.
        act_fn: the MLPs' activation.
        causal: whether a position sees only itself and what comes before it.
        norm: LayerNorms before all that reads the residual stream (`pre`), or `none`.
        attention: with a `softmax`, or `linear`: the scores themselves are the pattern.
        positions: of tokens by number: a vector for every place, `learned`, or `none`.
            (Where tokens are vectors, the task's position code stands beside them.)
        init: `gpt2` (Radford et al. 2019: N(0, 0.02²), what is added to the residual
            stream scaled by 1/sqrt(2 · n_layers)), `gpt2_blocks` (the same, but the
            linear maps into and out of the residual stream, which GPT-2 lacks where
            vectors are read and written, are drawn as PyTorch does by default: uniform
            within ±1/sqrt(fan-in), biases too), `fan_in` (N(0, 1/fan-in), nothing
            scaled, and of embeddings by number N(0, 1/d_model)), `orthogonal` (every
            map an orthogonal matrix, as large as with `fan_in`), `associative`, for
            weights that are to learn as memories from nothing (Bietti et al. 2023,
            section 4):
            embeddings and read-out N(0, 1/d_model), W_Q the identity, W_V and W_O
            orthogonal; W_K, W_out and the last layer's W_O zero; or `orthonormal`, the
            same with the orthonormal vectors that random ones become with width: the
            embeddings of tokens and places, and what W_OV makes of them below the last
            layer (d_model at least twice their number).
        silent_above: layers above the first so many write nothing at first: their W_O
            and the W_out of their MLPs start at zero. By default all write.
        init_scale: a factor on all weights within the blocks.
        embed_scale: a factor on the embeddings of tokens by number. As drawn, a block
            writes vectors about √d_model times as long as these.
    """

    n_layers: AtLeastOne = 4
    d_model: AtLeastOne = 64
    n_heads: AtLeastOne = 1
    d_head: AtLeastOne | None = None
    d_mlp: NotNegative | None = None
    act_fn: Literal["gelu", "relu"] = "gelu"
    causal: bool = True
    norm: Literal["pre", "none"] = "pre"
    attention: Literal["softmax", "linear"] = "softmax"
    positions: Literal["learned", "none"] = "learned"
    init: Literal[
        "gpt2", "gpt2_blocks", "fan_in", "orthogonal", "associative", "orthonormal"
    ] = "gpt2"
    silent_above: NotNegative | None = None
    init_scale: Positive = 1.0
    embed_scale: Positive = 1.0

    def __post_init__(self):
        check(self, "model.")
        fits = self.d_head is not None or self.d_model % self.n_heads == 0
        allowed = (
            f"a divisor of model.d_model = {self.d_model}, unless model.d_head is given"
        )
        require(fits, "model.n_heads", self.n_heads, allowed)

    @property
    def head_width(self) -> int:
        return self.d_head or self.d_model // self.n_heads

    @property
    def mlp_width(self) -> int:
        """The width of an MLP, given or derived; 0 if there is none."""
        if self.d_mlp is None:
            return 4 * self.d_model
        return self.d_mlp

    @property
    def size(self) -> str:
        return f"width {self.d_model}"

    @property
    def attn_only(self) -> bool:
        return self.mlp_width == 0
