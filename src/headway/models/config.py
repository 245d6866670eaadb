"""The shape of a transformer, as data."""

import math
from dataclasses import dataclass
from typing import Literal

from headway.errors import require, require_types


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
        norm: LayerNorms before all that reads the residual stream (`pre`), or `none`.
        attention: with a `softmax`, or `linear`: the scores themselves are the pattern.
        positions: of tokens by number: a vector for every place, `learned`, or `none`. (Where
            tokens are vectors, the task's position code stands beside them.)
        init: `gpt2` (Radford et al. 2019: N(0, 0.02²), what is added to the residual stream scaled
            by 1/sqrt(2 · n_layers)), `fan_in` (N(0, 1/fan-in), nothing scaled, and of embeddings by
            number N(0, 1/d_model)), `orthogonal` (every map an orthogonal matrix, as large as with
            `fan_in`) or `associative`, for weights that are to learn as memories from nothing
            (Bietti et al. 2023, section 4): embeddings and read-out N(0, 1/d_model), W_Q the
            identity, W_V and W_O orthogonal; W_K, W_out and the last layer's W_O zero; or
            `orthonormal`, the same with the orthonormal vectors that random ones become with
            width: the embeddings of tokens and places, and what W_OV makes of them below the last
            layer (so d_model must be at least twice their number).
        init_scale: a factor on all weights within the blocks.
    """

    n_layers: int = 4
    d_model: int = 64
    n_heads: int = 1
    d_head: int | None = None
    d_mlp: int | None = None
    act_fn: Literal["gelu", "relu"] = "gelu"
    causal: bool = True
    norm: Literal["pre", "none"] = "pre"
    attention: Literal["softmax", "linear"] = "softmax"
    positions: Literal["learned", "none"] = "learned"
    init: Literal["gpt2", "fan_in", "orthogonal", "associative", "orthonormal"] = "gpt2"
    init_scale: float = 1.0

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
        fits = 0 < self.init_scale < math.inf
        require(fits, "model.init_scale", self.init_scale, "a positive number")

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
