"""A tap for any PyTorch module whose attention is a softmax over keys."""

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import BaseTorchFunctionMode

from headway.errors import HeadwayError, require
from headway.models.interception import Interception
from headway.models.tap import Tap


def tapped(module: nn.Module, inputs: Tensor | None = None) -> "Tapped":
    """Gives a module a tap, without a change to its code.

    The module calls `scaled_dot_product_attention`, `MultiheadAttention` or a softmax over keys
    of scores [batch, head, query, key] or [batch * head, query, key]. Layers are these calls in
    their order, so heads that are computed one by one in a loop count as a layer each. Keys that
    are no position (`add_zero_attn`, a sink) come last in the pattern. Whatever else mixes
    positions (a convolution, a recurrence) stays as it is.

        model = tapped(GPT2LMHeadModel(config).eval(), tokens[:2])
        logits = model(tokens, lambda layer, pattern: pattern)

    Args:
        module: called with the inputs alone. It returns a tensor [batch, position or read-out,
            output], a tuple that starts with one, or an object with `.logits`.
        inputs: a few example sequences, [batch, position] or [batch, position, feature], to count
            layers and heads with; without them, the first ones that are tapped.

    Raises:
        HeadwayError: if it is no module; if it has no attention, or attention that is not a
            softmax; if heads differ from layer to layer or cannot be told from sequences; if two
            calls with the same inputs differ; if dropout is on.
    """
    require(isinstance(module, nn.Module), "module", module, "a torch.nn.Module")
    return Tapped(module, inputs)


class Tapped(nn.Module):
    """A module with a tap (see `tapped`). Its state dict is that of the module."""

    def __init__(self, module: nn.Module, inputs: Tensor | None = None):
        super().__init__()
        self.module = module
        self._shape = None if inputs is None else _probe(module, inputs)

    @property
    def n_layers(self) -> int:
        return self._counted()[0]

    @property
    def n_heads(self) -> int:
        return self._counted()[1]

    def forward(self, inputs: Tensor, tap: Tap | None = None) -> Tensor:
        """The module's output; every layer's attention passes through `tap`.

        Raises:
            HeadwayError: if attention cannot be tapped, or is not called as it was at first.
        """
        if tap is None:
            return _output(self.module, inputs)
        if self._shape is None:
            self._shape = _probe(self.module, inputs)
        output, seen = _run(self.module, inputs, tap)
        n_layers, n_heads = self._shape
        as_before = [n_heads] * n_layers
        require(seen.heads == as_before, "heads by layer", seen.heads, f"{as_before}, as at first")
        return output

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The module's own state dict."""
        return self.module.state_dict(*args, **kwargs)

    def load_state_dict(self, state_dict: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Loads the module's own state dict."""
        return self.module.load_state_dict(state_dict, *args, **kwargs)

    def _counted(self) -> tuple[int, int]:
        if self._shape is None:
            raise HeadwayError(
                f"the layers and heads of {type(self.module).__name__} are not known yet: "
                "give example inputs, tapped(module, inputs), or call it with a tap first"
            )
        return self._shape


@torch.no_grad()
def _probe(module: nn.Module, inputs: Tensor) -> tuple[int, int]:
    """Layers, and heads in each, after a look at whether the tap is true to the module."""
    fits = inputs.ndim in (2, 3) and inputs.numel() > 0
    require(fits, "shape of inputs", list(inputs.shape), "[batch, position] or one dimension more")
    pair = inputs[:2] if len(inputs) > 1 else torch.cat([inputs, inputs.roll(1, 1)])
    name = type(module).__name__
    output, seen, patterns = _record(module, pair)
    if not seen.heads:
        nearest = f"; the product most like scores is {seen.nearest}" if seen.nearest else ""
        raise HeadwayError(
            f"no attention was seen: {name} calls neither scaled_dot_product_attention nor a "
            f"softmax over keys{nearest}"
        )
    n_layers, n_heads = len(seen.heads), seen.heads[0]
    for layer, heads in enumerate(seen.heads):
        if heads != n_heads:
            raise HeadwayError(
                f"heads differ from layer to layer of {name}: {n_heads} in layer 0, {heads} in "
                f"layer {layer}"
            )
    precision = max(torch.finfo(dtype).eps for dtype in {output.dtype, *seen.dtypes})

    again, _, patterns_again = _record(module, pair)
    if not _agree([again, *patterns_again], [output, *patterns], precision):
        raise HeadwayError(
            f"{name} keeps state between calls or draws at random: two calls with the same inputs "
            "differ"
        )
    with BaseTorchFunctionMode():  # any mode keeps `TransformerEncoder` from its fast path
        plain = _output(module, pair)
    if not _agree([output], [plain], precision):
        raise HeadwayError(f"the output of {name} changes when its attention is computed openly")
    _, _, alone = _record(module, pair[:1])
    if not _agree(alone, [pattern[:1] for pattern in patterns], precision):
        raise HeadwayError(
            f"heads of {name} cannot be told from sequences: the pattern of a sequence changes "
            "with the rest of its batch"
        )
    return n_layers, n_heads


def _record(module: nn.Module, inputs: Tensor) -> tuple[Tensor, Interception, list[Tensor]]:
    patterns: list[Tensor] = []

    def record(_: int, pattern: Tensor) -> Tensor:
        patterns.append(pattern)
        return pattern

    return *_run(module, inputs, record), patterns


def _run(module: nn.Module, inputs: Tensor, tap: Tap) -> tuple[Tensor, Interception]:
    with _uncompiled(), Interception(tap, *inputs.shape[:2]) as seen:
        output = _output(module, inputs)
    seen.finish()
    return output, seen


def _uncompiled() -> AbstractContextManager[Any]:
    """Lets compiled modules run as they were written, so that their calls are seen."""
    if "torch._dynamo" not in sys.modules:  # nothing is compiled, and to load it takes a second
        return nullcontext()
    return torch.compiler.set_stance("force_eager")


def _output(module: nn.Module, inputs: Tensor) -> Tensor:
    result = module(inputs)
    first = next(iter(result), None) if isinstance(result, tuple) else result
    output = getattr(result, "logits", first)
    if not (isinstance(output, Tensor) and output.is_floating_point()):
        raise HeadwayError(
            f"the output of {type(module).__name__} is a {type(result).__name__}: it must be a "
            "floating-point tensor, a tuple that starts with one, or an object with .logits"
        )
    return output


def _agree(found: list[Tensor], expected: list[Tensor], precision: float) -> bool:
    """Whether results are the same to half of the digits that a precision has."""
    return len(found) == len(expected) and all(
        one.shape == other.shape
        and torch.allclose(one, other, rtol=0.0, atol=_size(other) * precision**0.5, equal_nan=True)
        for one, other in zip(found, expected, strict=True)
    )


def _size(x: Tensor) -> float:
    """The largest of all finite numbers."""
    return x.nan_to_num(0.0, 0.0, 0.0).abs().max().item()
