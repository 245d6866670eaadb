"""Weights before training, drawn in one of six ways (see `TransformerConfig.init`)."""

import math

import torch
from torch import Tensor, nn

from headway.errors import require
from headway.models.config import TransformerConfig


@torch.no_grad()
def initialise(model: nn.Module, config: TransformerConfig, generator: torch.Generator) -> None:
    """Draws all weights of a `Transformer` afresh; biases 0, norms 1."""
    for name, weight in model.named_parameters():
        inside = name.startswith("blocks.")
        if weight.ndim < 2:
            weight.fill_(1.0 if ".ln" in f".{name}" and name.endswith("weight") else 0.0)
        elif config.init in ("associative", "orthonormal"):
            _associative(name, weight, config.n_layers, generator)
        elif config.init == "orthogonal":
            for one in weight.chunk(3 if name.endswith("attn.qkv.weight") else 1):
                _orthogonal(one, generator)
        else:
            like_gpt2 = config.init in ("gpt2", "gpt2_blocks")
            std = 0.02 if like_gpt2 else weight.shape[1] ** -0.5
            if like_gpt2 and name.endswith(("attn.out.weight", "mlp.down.weight")):
                std /= math.sqrt(2 * config.n_layers)
            weight.normal_(0.0, std, generator=generator)
        if inside and weight.ndim == 2 and config.init_scale != 1:
            weight.mul_(config.init_scale)
    if config.init == "gpt2_blocks":
        _around_blocks(model, generator)
    if config.init == "orthonormal":
        _orthonormal(model, config, generator)
    embed = model.get_submodule("embed")
    if isinstance(embed, nn.Embedding) and config.embed_scale != 1:
        embed.weight.mul_(config.embed_scale)
    if config.silent_above is not None:
        for name, weight in model.get_submodule("blocks").named_parameters():
            layer, part = name.split(".", 1)
            if int(layer) >= config.silent_above and part in ("attn.out.weight", "mlp.down.weight"):
                weight.zero_()


def _around_blocks(model: nn.Module, generator: torch.Generator) -> None:
    """Draws the linear maps into and out of the residual stream anew, as PyTorch draws them by
    default: weights and biases uniform within ±1/sqrt(fan-in)."""
    for name in ("embed", "unembed"):
        linear = model.get_submodule(name)
        if isinstance(linear, nn.Linear):
            bound = linear.in_features**-0.5
            for weight in linear.parameters():
                weight.uniform_(-bound, bound, generator=generator)


def _orthonormal(model: nn.Module, config: TransformerConfig, generator: torch.Generator) -> None:
    """Draws the embeddings of tokens and places anew, and the rows of the read-out: orthonormal.
    Every W_O that is not zero becomes such that what W_OV makes of embeddings is orthonormal to
    them all."""
    named = dict(model.named_parameters())
    tokens = not isinstance(model.get_submodule("embed"), nn.Linear)
    allowed = "one other than orthonormal, which is for tasks of tokens by number"
    require(tokens, "model.init", "orthonormal", allowed)
    inner = config.n_heads * config.head_width
    allowed = "model.d_model / model.n_heads, or none, with model.init = orthonormal"
    require(inner == config.d_model, "model.d_head", config.d_head, allowed)
    weights = [named[name] for name in ("embed.weight", "pos_embed.weight") if name in named]
    count, width = sum(map(len, weights)), config.d_model
    allowed = f"one other than orthonormal: width {width} has no room for {count} embeddings twice"
    require(2 * count <= width, "model.init", "orthonormal", allowed)
    basis = nn.init.orthogonal_(torch.empty(width, width), generator=generator)
    drawn = basis[:count].split([len(weight) for weight in weights])
    for weight, rows in zip(weights, drawn, strict=True):
        weight.copy_(rows)
    for layer in range(config.n_layers - 1):
        value = named[f"blocks.{layer}.attn.qkv.weight"].chunk(3)[2]
        out = named[f"blocks.{layer}.attn.out.weight"]
        out.copy_(basis.roll(-count, 0).T @ basis @ value.T)
    nn.init.orthogonal_(named["unembed.weight"], generator=generator)


def _orthogonal(weight: Tensor, generator: torch.Generator) -> None:
    rows, columns = weight.shape
    nn.init.orthogonal_(weight, max(1.0, rows / columns) ** 0.5, generator)


def _associative(name: str, weight: Tensor, n_layers: int, generator: torch.Generator) -> None:
    """Sets weights that are to learn to zero, and others so that they pass the stream on whole."""
    if name.endswith("attn.qkv.weight"):
        query, key, value = weight.chunk(3)
        nn.init.eye_(query)
        key.zero_()
        _orthogonal(value, generator)
    elif name.endswith("mlp.down.weight") or name == f"blocks.{n_layers - 1}.attn.out.weight":
        weight.zero_()
    elif name.endswith("attn.out.weight"):
        _orthogonal(weight, generator)
    else:
        weight.normal_(0.0, weight.shape[1] ** -0.5, generator=generator)
