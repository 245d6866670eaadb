"""The tap: what attention patterns are handed to, and one for any module."""

import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.overrides import BaseTorchFunctionMode

from headway.errors import HeadwayError, require
from headway.settings import computes_as_usual, users_factories
from headway.userfile import described

if TYPE_CHECKING:
    from headway.models.interception import Interception, Reads
    from headway.models.trial import Shape

Tap = Callable[[int, Float[Tensor, "batch head query key"]], Tensor]
"""Called with a layer and its attention pattern; returns the one to use."""


@runtime_checkable
class Tappable(Protocol):
    """A model with a tap: what discovery, emergence and the page need of one."""

    @property
    def n_layers(self) -> int:
        """The number of calls of the tap in one pass, with 0, 1, …"""
        ...

    @property
    def n_heads(self) -> int:
        """Heads in every layer."""
        ...

    def __call__(self, inputs: Tensor, tap: Tap | None = None) -> Tensor:
        """Outputs [batch, position or read-out, output]; every pattern passes through
        `tap`.
        """
        ...


def attention_patterns(
    model: Tappable, inputs: Tensor, through: Tap | None = None
) -> Float[Tensor, "batch layer head query key"]:
    """The attention pattern of every head and layer, edited by `through`."""
    seen: list[Tensor] = []

    def record(layer: int, pattern: Tensor) -> Tensor:
        seen.append(pattern if through is None else through(layer, pattern))
        return seen[-1]

    model(inputs, record)
    return torch.stack(seen, dim=1)


@computes_as_usual
def tapped(module: nn.Module, inputs: Tensor | None = None) -> "Tapped":
    """Gives a module a tap, without a change to its code.

    The module calls `scaled_dot_product_attention`, `MultiheadAttention` or a softmax
    over keys of scores [batch, head, query, key] or [batch * head, query, key]. If a
    softmax's pattern is changed before it meets values, the tap gets what meets them.
    Layers are these calls in their order. Calls in a row that depend on the same
    earlier calls, as heads computed one by one do, are one layer, if all layers have as
    many heads then; the module is called once more for each such layer. Keys that are
    no position (`add_zero_attn`, a sink) come last in the pattern. Whatever else mixes
    positions (a convolution, a recurrence) stays as it is.

        model = tapped(GPT2LMHeadModel(config).eval(), tokens[:2])
        logits = model(tokens, lambda layer, pattern: pattern)

    Args:
        module: called with the inputs alone. It returns a tensor [batch, position or
            read-out, output], a tuple that starts with one, or an object with
            `.logits`.
        inputs: a few example sequences, [batch, position] or [batch, position,
            feature], to count layers and heads with; without them, the first ones that
            are tapped.

    Raises:
        HeadwayError: if it is no module; if it has no attention, or attention that is
            not a softmax; if heads differ from layer to layer or cannot be told from
            sequences; if two calls with the same inputs differ; if dropout is on; if it
            is traced, exported or quantised.
    """
    require(isinstance(module, nn.Module), "module", module, "a torch.nn.Module")
    _refuse_sealed(module)
    return Tapped(module, inputs)


class Tapped(nn.Module):
    """A module with a tap (see `tapped`). Its state dict is that of the module."""

    def __init__(
        self,
        module: nn.Module,
        inputs: Tensor | None = None,
        shape: "Shape | None" = None,
    ):
        super().__init__()
        self.module = module
        if shape is None and inputs is not None:
            shape = _shape_of(module, inputs)
        self._shape = shape

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
            HeadwayError: if attention cannot be tapped, or is not called as it was at
                first.
        """
        if tap is None:
            from headway.models.recomputing import kept

            # Any mode keeps `TransformerEncoder` from its fast path.
            keeping = nullcontext() if torch.is_grad_enabled() else kept()
            with BaseTorchFunctionMode(), keeping:
                return output_of(self.module, inputs)
        if self._shape is None:
            self._shape = _shape_of(self.module, inputs)
        from headway.models.interception import Interception
        from headway.models.sites import Assembled

        shape = self._shape
        taps = Assembled(tap, reads, shape.sites.parts)
        before = [(part.n_heads, shape.beside) for part in shape.sites.parts]
        field = "heads and keys beside the positions by layer"
        while True:
            taps.begin()
            batch, length = inputs.shape[:2]
            seen = Interception(
                taps, batch, length, shape.places, taps.reads, shape.sites.late
            )
            output = intercepted(self.module, inputs, seen)
            require(seen.sizes == before, field, seen.sizes, f"{before}, as at first")
            if taps.is_true:
                return output

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The module's own state dict."""
        return self.module.state_dict(*args, **kwargs)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Loads the module's own state dict."""
        return self.module.load_state_dict(state_dict, *args, **kwargs)

    def _known(self) -> "Shape":
        if self._shape is None:
            raise HeadwayError(
                f"the layers and heads of {type(self.module).__name__} are not known"
                " yet: give example inputs, tapped(module, inputs),"
                " or call it with a tap first"
            )
        return self._shape


def _refuse_sealed(module: nn.Module) -> None:
    """Refuses a module whose calls cannot be seen or changed, and says why."""
    for part in module.modules():
        if isinstance(part, torch.jit.ScriptModule):
            done = "traced or scripted (TorchScript): its calls cannot be seen"
        elif isinstance(part, torch.fx.GraphModule) and _is_exported(part):
            done = "exported (torch.export): its calls, and maybe its shapes, are fixed"
        elif type(part).__module__.startswith("torch.ao.nn.quantized"):
            done = "quantised: what it rounds to depends on the whole batch"
        else:
            continue
        raise HeadwayError(
            f"{type(module).__name__} is {done}; give the module that it was made from"
        )


def _is_exported(module: torch.fx.GraphModule) -> bool:
    """Tell whether a graph calls core operators of torch instead of functions."""
    targets = (node.target for node in module.graph.nodes)
    return any(isinstance(target, torch._ops.OpOverload) for target in targets)


def _shape_of(module: nn.Module, inputs: Tensor) -> "Shape":
    """The shape of a module; it warns of what else mixes positions."""
    from headway.models.trial import tried

    shape = tried(module, inputs)
    name = type(module).__name__
    if shape.mixers:
        warnings.warn(
            f"{name} mixes positions by {', '.join(shape.mixers)}, too: what is"
            " said of its attention is not all that positions learn of one another",
            stacklevel=3,
        )
    if len(shape.sites.apart) < shape.n_layers and shape.sites.apart:
        warnings.warn(
            f"every call of attention in {name} is a layer:"
            " with calls that cannot read one another as heads of one layer,"
            f" layers would have {shape.sites.apart} heads",
            stacklevel=3,
        )
    if shape.sites.unseen:
        layers = {shape.sites.parts[site].layer for site in shape.sites.unseen}
        of = ", ".join(map(str, sorted(layers)))
        warnings.warn(
            f"how the pattern of layer {of} of {name} meets values is not seen:"
            " what a tap puts may be changed before it does",
            stacklevel=3,
        )
    return shape


def intercepted(module: nn.Module, inputs: Tensor, seen: "Interception") -> Tensor:
    """The output of a module whose attention is caught.

    Args:
        module: that is called.
        inputs: its only argument.
        seen: catches attention.

    Raises:
        HeadwayError: if the module fails, or its attention cannot be seen.
    """
    from headway.models.recomputing import kept

    try:
        with eagerly(), kept(), seen:
            return output_of(module, inputs)
    except HeadwayError:
        if seen.failed is not None:
            raise seen.failed from None
        raise


def output_of(module: nn.Module, inputs: Tensor) -> Tensor:
    """The tensor that a module gives.

    Raises:
        HeadwayError: if it gives none, or fails.
    """
    name = type(module).__name__
    try:
        with users_factories():
            result = module(_fitting(inputs, module))
    except HeadwayError:
        raise
    except Exception as error:  # whatever a module of somebody's may raise
        shape = list(inputs.shape)
        raise HeadwayError(
            f"{name} raises {described(error)}, at inputs of {shape}"
        ) from error
    first = next(iter(result), None) if isinstance(result, tuple) else result
    output = getattr(result, "logits", first)
    if not (isinstance(output, Tensor) and output.is_floating_point()):
        raise HeadwayError(
            f"the output of {name} is a {type(result).__name__}:"
            " it must be a floating-point tensor, a tuple that starts with one,"
            " or an object with .logits"
        )
    return output


def _fitting(inputs: Tensor, module: nn.Module) -> Tensor:
    """Inputs as a module reads them: vectors in the type of its first weight."""
    if not inputs.is_floating_point():
        return inputs
    weights = (weight for weight in module.parameters() if weight.is_floating_point())
    first = next(weights, inputs)
    return inputs.to(first.dtype)


def eagerly() -> AbstractContextManager[Any]:
    """Lets compiled modules run as they were written, so that their calls are seen, and
    without a compilation of their own."""
    if (
        "torch._dynamo" not in sys.modules
    ):  # nothing is compiled, and to load it takes a second
        return nullcontext()
    return torch.compiler.set_stance("force_eager")
