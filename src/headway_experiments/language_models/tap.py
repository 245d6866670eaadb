"""The tap in a language model: every layer's attention pattern is handed out and may be replaced.

It is an attention function of Hugging Face Transformers like any other, so it serves every family
whose layers ask for theirs: Llama, GPT-2, Gemma, Qwen and many more.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from torch import Tensor

from headway.errors import HeadwayError

Tap = Callable[[int, Tensor], Tensor]
"""Takes a layer and its pattern [batch, head, query, key], and gives the pattern to use."""

NAME = "headway"
"""The name of the attention function."""

_tap: ContextVar[Tap] = ContextVar("tap")


@contextmanager
def tapped(model: Any, tap: Tap) -> Iterator[None]:
    """Hands every pattern of a model of Transformers to `tap` for the time being.

    A pattern that comes back as the same object leaves the model's own result as it is, to the bit.

    Args:
        model: a causal language model.
        tap: called once per layer and pass.

    Raises:
        HeadwayError: if its layers do not ask for their attention function.
    """
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask

    AttentionInterface.register(NAME, _attend)
    AttentionMaskInterface.register(NAME, eager_mask)
    before, token = model.config._attn_implementation, _tap.set(tap)
    try:
        model.set_attn_implementation(NAME)
        if model.config._attn_implementation != NAME:
            raise without_tap(model)
        yield
    finally:
        model.set_attn_implementation(before)
        _tap.reset(token)


def without_tap(model: Any) -> HeadwayError:
    """The error of a model whose patterns do not come through the tap."""
    kind = type(model).__name__
    return HeadwayError(
        f"the attention of {kind} cannot be seen: its layers do not all hand it out"
    )


def shape(model: Any) -> tuple[int, int]:
    """Layers, and heads a layer, of a model of Transformers.

    Raises:
        HeadwayError: if it has no heads.
    """
    config = model.config.get_text_config()
    try:
        return int(config.num_hidden_layers), int(config.num_attention_heads)
    except AttributeError:
        raise without_tap(model) from None


def _attend(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Any, **options: Any
) -> tuple[Tensor, Tensor]:
    """The model's own attention, with the tap between the pattern and the values.

    Keys and values may have fewer heads than queries (grouped attention).
    """
    eager = getattr(sys.modules[type(module).__module__], "eager_attention_forward", None)
    if eager is None:
        raise without_tap(module)
    out, pattern = eager(module, query, key, value, attention_mask, **options)
    if pattern is None:
        raise without_tap(module)
    used = _tap.get()(module.layer_idx, pattern)
    if used is pattern:
        return out, pattern
    values = value.repeat_interleave(query.shape[1] // value.shape[1], dim=1)
    return (used.to(value.dtype) @ values).transpose(1, 2).contiguous(), used
