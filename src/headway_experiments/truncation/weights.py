"""The weight matrices of a model: of our own transformer, or of a language model by
their names.
"""

from collections.abc import Iterable
from typing import Any

from torch import Tensor, nn

from headway.errors import require
from headway.models import Transformer
from headway_experiments.truncation.cuts import Layer

WHOLE = {
    "query": ("self_attn.q_proj", "attn.q_proj"),
    "key": ("self_attn.k_proj", "attn.k_proj"),
    "value": ("self_attn.v_proj", "attn.v_proj"),
    "output": (
        "self_attn.o_proj",
        "self_attn.out_proj",
        "attn.c_proj",
        "attention.dense",
    ),
    "gate": ("mlp.gate_proj",),
    "up": ("mlp.up_proj", "mlp.c_fc", "mlp.dense_h_to_4h", "fc1"),
    "down": ("mlp.down_proj", "mlp.c_proj", "mlp.dense_4h_to_h", "fc2"),
}
"""Modules by the field's names: Llama, Qwen, Gemma, Mistral and SmolLM, GPT-2,
GPT-NeoX, OPT.
"""

PACKED = "attn.c_attn"
"""GPT-2 keeps query, key and value side by side in the columns of one weight."""


def matrices(model: Transformer) -> list[Layer]:
    """The weights of every layer: query, key, value, output, and up and down if it has
    an MLP.

    Each holds all heads of its layer.
    """
    layers: list[Layer] = []
    for block in model.layers:
        query, key, value = _weight(block.attn.qkv).chunk(3)
        layer = {
            "query": query,
            "key": key,
            "value": value,
            "output": _weight(block.attn.out),
        }
        if block.mlp is not None:
            layer |= {"up": _weight(block.mlp.up), "down": _weight(block.mlp.down)}
        layers.append(layer)
    return layers


def layers_of(model: Any) -> list[nn.Module]:
    """The layers of a model of Hugging Face Transformers, in order.

    Raises:
        HeadwayError: if they cannot be told from its other parts.
    """
    count = model.config.get_text_config().num_hidden_layers
    stacks = []
    for part in model.modules():
        if isinstance(part, nn.ModuleList) and len(part) == count:
            names = named_matrices(part[:1])[0]
            if names:
                stacks.append(part)
    allowed = f"one with {count} layers of attention and MLP in one list"
    require(len(stacks) == 1, "model", type(model).__name__, allowed)
    return list(stacks[0])


def named_matrices(layers: Iterable[nn.Module]) -> list[Layer]:
    """The weights of every layer of a language model, as views.

    GPT-2 keeps its weights transposed, [input, output]. They are left so: what is
    nearest at a rank is the same matrix transposed. Query, key and value that are
    packed head by head, as in GPT-NeoX, are left out.
    """
    made: list[Layer] = []
    for parts in (dict(layer.named_modules()) for layer in layers):
        known: dict[str, Tensor] = {}
        if PACKED in parts:
            packed = _weight(parts[PACKED]).chunk(3, dim=1)
            known = dict(zip(("query", "key", "value"), packed, strict=True))
        for name, theirs in WHOLE.items():
            for path in theirs:
                if path in parts and name not in known:
                    known[name] = _weight(parts[path])
        made.append(known)
    return made


def _weight(module: nn.Module) -> Tensor:
    """A module's weight; changing it changes the module's."""
    weight = module.weight
    assert isinstance(weight, Tensor)
    return weight.detach()
