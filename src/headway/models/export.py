"""Export to TransformerLens 4.

A model becomes a `TransformerBridge` made of TransformerLens' own components, with the
names its users know: `run_with_cache`, `run_with_hooks`, `blocks.3.attn.hook_pattern`,
`W_Q`, `cfg`. What is not as in a language model: the outputs are those of the last
`n_read` positions (the cache holds all positions); and where sequences are vectors
[batch, position, d_input], `W_E` is [d_input, d_model] and has a bias, and positions
have no embedding of their own.
"""

import importlib
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from headway.errors import HeadwayError, require
from headway.models.transformer import Transformer

LensModel = Any
"""A `transformer_lens.TransformerBridge`, imported when it is asked for."""

LONGEST_UNMASKED = 1024
"""The `n_ctx` of a model without a mask, whose sequences have any length."""

RENAMED = {"attn.out.": "attn.o.", "mlp.up.": "mlp.in.", "mlp.down.": "mlp.out."}


def to_transformer_lens(model: Transformer) -> LensModel:
    """The model as a `TransformerBridge`, with a copy of its weights.

    TransformerLens takes the softmax of attention in single precision, also of a
    double-precision model. Its processing of weights, which keeps log-probabilities but
    neither vectors nor weights as they are, is refused;
    `enable_compatibility_mode(no_processing=True)` is not.

    Raises:
        HeadwayError: if TransformerLens 4 is not installed, or its outputs are not the
            model's, or the model has no norms or linear attention.
    """
    shape = model.config
    plain = {"norm": "pre", "attention": "softmax"}
    for field, wanted in plain.items():
        value = getattr(shape, field)
        require(value == wanted, f"model.{field}", value, f"{wanted}, to be exported")
    builder = _transformer_lens("model_bridge.sources._bridge_builder")
    native = _transformer_lens("model_bridge.sources.native.model")
    components = _transformer_lens("model_bridge.generalized_components")
    config = _lens_config(model)
    blocks = [native.NativeBlock(config) for _ in range(shape.n_layers)]
    for block in blocks:
        block.attn.head_dim = shape.head_width
        block.attn.scaling = 1.0

    def adapt(adapter: Any) -> None:
        # TransformerLens' attention for its own models takes the patterns for
        # `hook_attn_scores` and knows neither `hook_result` nor `hook_q_input`; this
        # one of its classes has them all.
        mapping = adapter.component_mapping
        if model.pos_embed is None:
            mapping.pop("pos_embed")
        parts = mapping["blocks"].submodules
        maps = {name: components.LinearBridge(name) for name in "qkvo"}
        parts["attn"] = components.PositionEmbeddingsAttentionBridge(
            "attn", adapter.cfg, maps, is_causal=shape.causal
        )
        # Trained scores are so large that another rounding of a norm shows in the
        # outputs.
        for norm in (parts["ln1"], parts.get("ln2"), mapping["ln_final"]):
            if norm is not None:
                norm.use_native_layernorm_autograd = True
        adapter.preprocess_weights = _refuse_processing

    body = Body(model, blocks).to(model.embed.weight)
    bridge = builder.build_bridge_from_module(
        body.train(model.training),
        "TransformerLensNative",
        tl_config=config,
        model_name="headway",
        post_adapter_hook=adapt,
    )
    bridge.load_state_dict(to_lens_weights(model.state_dict()))
    for block in bridge.blocks:
        # What TransformerLens does to queries last; it would scale the scores, and
        # round otherwise.
        block.attn.hook_rot_q = Scale(shape.head_width**-0.5)
    _require_same(bridge, model)
    return bridge


def _lens_config(model: Transformer) -> Any:
    """The model's shape as TransformerLens tells it."""
    shape = model.config
    config = _transformer_lens("config")
    return config.TransformerBridgeConfig(
        n_layers=shape.n_layers,
        d_model=shape.d_model,
        n_heads=shape.n_heads,
        d_head=shape.head_width,
        d_mlp=shape.mlp_width,
        attn_only=shape.attn_only,
        act_fn=shape.act_fn,
        attention_dir="causal" if shape.causal else "bidirectional",
        n_ctx=model.longest or LONGEST_UNMASKED,
        d_vocab=model.vocabulary or model.d_input,
        d_vocab_out=model.unembed.out_features,
        positional_embedding_type="none" if model.pos_embed is None else "standard",
        normalization_type="LN",
        eps=nn.LayerNorm(1).eps,
        default_prepend_bos=False,
    )


class Body(nn.Module):
    """The module that TransformerLens wraps: blocks, embedding and read-out.

    Submodules are named as TransformerLens names those of its own models.
    """

    def __init__(self, model: Transformer, blocks: list[nn.Module]):
        super().__init__()
        self.shape = model.config
        self.d_input = model.d_input
        self.n_read = model.n_read
        self.vocabulary = model.vocabulary
        if self.vocabulary is None:
            self.tok_embed = VectorEmbedding(self.d_input, self.shape.d_model)
        else:
            self.tok_embed = nn.Embedding(self.vocabulary, self.shape.d_model)
        if model.pos_embed is not None:
            self.pos = nn.Embedding(
                model.longest or LONGEST_UNMASKED, self.shape.d_model
            )
        self.layers = nn.ModuleList(blocks)
        self.ln_out = nn.LayerNorm(self.shape.d_model)
        self.head = nn.Linear(self.shape.d_model, model.unembed.out_features)

    def forward(
        self,
        input_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        **_: Any,
    ) -> Float[Tensor, "batch read d_target"]:
        """Predicts at the read-out positions, as `Transformer` does.

        TransformerLens passes tokens as `input_ids`, vectors as `inputs_embeds`; and,
        with `start_at_layer`, as those the residual stream [batch, position, d_model].
        """
        stream = self._embedded(inputs_embeds if input_ids is None else input_ids)
        for block in self.layers:
            (stream,) = block(stream)
        return self.head(self.ln_out(stream))[:, -self.n_read :]

    def _embedded(
        self, inputs: Tensor | None
    ) -> Float[Tensor, "batch position d_model"]:
        own = self.d_input if self.vocabulary is None else None
        allowed = (
            "tokens [batch, position]"
            if own is None
            else f"vectors [batch, position, {own}]"
        )
        if inputs is None:
            raise HeadwayError(f"inputs = None is not allowed: it must be {allowed}")
        is_vectors = inputs.is_floating_point() and inputs.ndim == 3
        is_stream = is_vectors and inputs.shape[-1] == self.shape.d_model != own
        if self.vocabulary is None:
            is_own = is_vectors and inputs.shape[-1] == own
        else:
            is_own = inputs.ndim == 2 and not inputs.is_floating_point()
        fits = is_stream or is_own
        given = f"{inputs.dtype} of shape {list(inputs.shape)}"
        require(fits, "inputs", given, allowed)
        if is_stream:
            return inputs
        embedded = self.tok_embed(inputs)
        if not hasattr(self, "pos"):
            return embedded
        places = torch.arange(inputs.shape[1], device=inputs.device)
        return embedded + self.pos(places[None])


class Scale(nn.Module):
    """Multiplies by a number."""

    def __init__(self, factor: float):
        super().__init__()
        self.factor = factor

    def forward(self, stream: Tensor) -> Tensor:
        """The product."""
        return stream * self.factor


class VectorEmbedding(nn.Module):
    """A linear map with the layout of TransformerLens' `W_E`: [d_input, d_model]."""

    def __init__(self, d_input: int, d_model: int):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(d_input, d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, inputs: Tensor) -> Tensor:
        """Embeds the vector of every position."""
        return F.linear(inputs, self.weight.T, self.bias)


def to_lens_weights(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """A state dict of `Transformer` under the names of TransformerLens."""
    renamed: dict[str, Tensor] = {}
    for name, weight in weights.items():
        if name == "embed.weight" and "embed.bias" in weights:  # of vectors
            renamed[name] = weight.T
        elif ".attn.qkv." in name:
            for part, own in zip("qkv", weight.chunk(3), strict=True):
                renamed[name.replace(".qkv.", f".{part}.")] = own
        else:
            for ours, theirs in RENAMED.items():
                name = name.replace(ours, theirs)
            renamed[name] = weight
    return renamed


@torch.no_grad()
def _require_same(bridge: LensModel, model: Transformer) -> None:
    """Makes sure that this version of TransformerLens gives the model's outputs."""
    length = model.n_read if model.mask is None else len(model.mask)
    generator = torch.Generator().manual_seed(0)
    weight = model.embed.weight
    if model.vocabulary is None:
        inputs = torch.randn(1, length, model.d_input, generator=generator).to(weight)
    else:
        inputs = torch.randint(model.vocabulary, (1, length), generator=generator)
    inputs = inputs.to(weight.device)
    if not torch.allclose(bridge(inputs), model(inputs), rtol=1e-3, atol=1e-3):
        raise HeadwayError(
            "this version of TransformerLens computes something else than the model:"
            " pip install 'transformer-lens==4.3.0'"
        )


def _refuse_processing(_: dict[str, Tensor]) -> dict[str, Tensor]:
    raise HeadwayError(
        "TransformerLens' processing of weights would change them and vectors that are"
        " read out: call enable_compatibility_mode(no_processing=True)"
    )


def _transformer_lens(name: str) -> Any:
    """A module of TransformerLens 4."""
    try:
        return importlib.import_module(f"transformer_lens.{name}")
    except ModuleNotFoundError:
        raise HeadwayError(
            "TransformerLens 4 is not installed: pip install 'headway-interp[lens]'"
        ) from None
