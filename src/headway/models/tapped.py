"""A tap for any PyTorch module whose attention is a softmax over keys."""

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn
from torch.overrides import BaseTorchFunctionMode

from headway.errors import HeadwayError, require
from headway.models.passes import intercepted, output_of
from headway.models.tap import Tap

if TYPE_CHECKING:
    from headway.models.interception import Reads
    from headway.models.trial import Shape


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
        self._shape = None if inputs is None else _shape_of(module, inputs)

    @property
    def n_layers(self) -> int:
        return self._known().n_layers

    @property
    def n_heads(self) -> int:
        return self._known().n_heads

    @property
    def mixers(self) -> tuple[str, ...]:
        """Operations beside attention by which positions reach one another."""
        return self._known().mixers

    def forward(
        self, inputs: Tensor, tap: Tap | None = None, reads: "Reads | None" = None
    ) -> Tensor:
        """The module's output; every layer's attention passes through `tap`.

        Args:
            inputs: of the module.
            tap: called with every layer's pattern.
            reads: called where patterns meet values (see `interception.Read`).

        Raises:
            HeadwayError: if attention cannot be tapped, or is not called as it was at first.
        """
        if tap is None:
            with BaseTorchFunctionMode():  # any mode keeps `TransformerEncoder` from its fast path
                return output_of(self.module, inputs)
        if self._shape is None:
            self._shape = _shape_of(self.module, inputs)
        from headway.models.interception import Interception

        batch, length = inputs.shape[:2]
        seen = Interception(tap, batch, length, self._shape.places, reads)
        output = intercepted(self.module, inputs, seen)
        found = [(heads, max(keys - length, 0)) for heads, _, keys in seen.shapes]
        before = [(self.n_heads, self._shape.beside)] * self.n_layers
        field = "heads and keys beside the positions by layer"
        require(found == before, field, found, f"{before}, as at first")
        return output

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The module's own state dict."""
        return self.module.state_dict(*args, **kwargs)

    def load_state_dict(self, state_dict: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Loads the module's own state dict."""
        return self.module.load_state_dict(state_dict, *args, **kwargs)

    def _known(self) -> "Shape":
        if self._shape is None:
            raise HeadwayError(
                f"the layers and heads of {type(self.module).__name__} are not known yet: "
                "give example inputs, tapped(module, inputs), or call it with a tap first"
            )
        return self._shape


def _shape_of(module: nn.Module, inputs: Tensor) -> "Shape":
    """The shape of a module; it warns of what else mixes positions."""
    from headway.models.trial import tried

    shape = tried(module, inputs)
    if shape.mixers:
        warnings.warn(
            f"{type(module).__name__} mixes positions by {', '.join(shape.mixers)}, too: what is"
            " said of its attention is not all that positions learn of one another",
            stacklevel=3,
        )
    return shape
