"""Attention caught while a module runs, whatever the module looks like.

A call of `scaled_dot_product_attention` is computed step by step: scores, softmax, tap, values. The
result of a softmax over keys passes through the tap. Routers and outputs have a softmax, too. To
tell them apart, every product of activations that may be scores is followed until a softmax takes
it. `trial` notices what is missed here.
"""

import functools
import math
import re
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils.weak import WeakTensorKeyDictionary

from headway.errors import HeadwayError, require
from headway.models.tapped import Tap
from headway.settings import usual_factories

SOFTMAXES = {F.softmax, torch.softmax, torch.Tensor.softmax, torch.special.softmax}
PRODUCTS = {
    *(torch.matmul, torch.Tensor.matmul, torch.bmm, torch.Tensor.bmm, torch.einsum),
    *(torch.baddbmm, torch.Tensor.baddbmm, torch.Tensor.baddbmm_),
}
DIVISIONS = {
    *(torch.div, torch.divide, torch.true_divide),
    *(Tensor.div, Tensor.divide, Tensor.true_divide, Tensor.__truediv__),
    *(Tensor.div_, Tensor.divide_, Tensor.true_divide_, Tensor.__itruediv__),
}
Reads = Callable[["Read"], Tensor]
"""Called where a pattern meets values; what it returns is what the heads read."""

# A mode steps aside while a function runs that it was told of. This is the same function without
# the question whether there is a mode, so that the attention in it meets the mode.
_multi_head_attention = types.FunctionType(
    F.multi_head_attention_forward.__code__,
    vars(F) | {"has_torch_function": lambda _: False},
    argdefs=F.multi_head_attention_forward.__defaults__,
)


LAST = -1
"""The start of positions that end with the last query or key."""

Span = tuple[slice, slice]
"""Some positions in a row, and where they are in a pattern."""


class Place(NamedTuple):
    """Places of the positions of a module among the queries and keys of a pattern.

    Attributes:
        query: the query of position 0, or `LAST`.
        key: the key of position 0, or `LAST`.
    """

    query: int = 0
    key: int = 0

    def own(
        self, heads: Float[Tensor, "batch head query key"], length: int
    ) -> Float[Tensor, "batch head position own_key"]:
        """The pattern of the positions; keys that are no position come last.

        Positions that are no query have an empty row, and those that are no key an empty column.
        """
        n_queries, n_keys = heads.shape[-2:]
        if n_queries == length <= n_keys and self.key == 0:
            return heads
        (rows, queries), (columns, keys), beside = self._parts(heads, length)
        own = heads.new_zeros(*heads.shape[:2], length, length + len(beside))
        own[..., rows, columns] = heads[..., queries, keys]
        own[..., rows, length:] = heads[..., queries, beside]
        return own

    def put(
        self, own: Float[Tensor, "batch head position own_key"], heads: Tensor
    ) -> Float[Tensor, "batch head query key"]:
        """A copy of `heads` that has another pattern of the positions."""
        length = own.shape[-2]
        if own.shape == heads.shape and self.key == 0:
            return own
        (rows, queries), (columns, keys), beside = self._parts(heads, length)
        whole = heads.clone()
        whole[..., queries, keys] = own[..., rows, columns]
        whole[..., queries, beside] = own[..., rows, length:]
        return whole

    def _parts(self, heads: Tensor, length: int) -> tuple[Span, Span, list[int]]:
        """Positions that are queries, those that are keys, and the keys that are no position."""
        spans = list[Span]()
        for start, count in zip(self, heads.shape[-2:], strict=True):
            first = count - length if start == LAST else start
            low, high = max(0, -first), min(length, count - first)
            spans.append((slice(low, high), slice(low + first, high + first)))
        queries, keys = spans
        return queries, keys, [*range(keys[1].start), *range(keys[1].stop, heads.shape[-1])]


class Read(NamedTuple):
    """A product of a pattern and values.

    Attributes:
        layer: of the pattern.
        pattern: as the tap left it, in the module's own layout.
        values: that it meets, in the module's own layout.
        laid: lays out a pattern of the positions [batch, head, position, own_key] as `pattern` is.
        product: of any such pattern and values.
    """

    layer: int
    pattern: Tensor
    values: Tensor
    laid: Callable[[Tensor], Tensor]
    product: Callable[[Tensor, Tensor], Tensor]


@dataclass(eq=False)
class Scores:
    """A product of activations that may be scores, and what is computed from it.

    Attributes:
        layer: of the pattern that a softmax made of it; None if none did.
    """

    layer: int | None = None


class Interception(TorchFunctionMode):
    """Hands the pattern of every attention in a module's forward pass to a tap.

    Args:
        tap: called once a layer; layers are numbered in the order of their calls.
        batch: sequences in the module's input.
        length: positions of a sequence.
        places: where they stand in the pattern of every layer; by default at its beginning.
        reads: called where patterns meet values.

    Attributes:
        shapes: heads, queries and keys of every layer seen so far.
        dtypes: the types of the numbers that patterns were computed from.
    """

    def __init__(
        self,
        tap: Tap,
        batch: int,
        length: int,
        places: Sequence[Place] = (),
        reads: Reads | None = None,
    ):
        super().__init__()
        self.tap, self.batch, self.length = tap, batch, length
        self.places, self.reads = places, reads
        self.shapes: list[tuple[int, int, int]] = []
        self.failed: Exception | None = None
        """An error that the tap raised."""
        self.dtypes: set[torch.dtype] = set()
        self.is_edited = False
        """True once the tap has changed a pattern."""
        self.scores = WeakTensorKeyDictionary()
        """`Scores` that tensors belong to, up to the product with the values."""

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Heads, and keys beside the positions, of every layer seen so far."""
        return [(heads, max(keys - self.length, 0)) for heads, _, keys in self.shapes]

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Called by torch in place of each of its functions."""
        kwargs = kwargs or {}
        if func is F.scaled_dot_product_attention:
            return self._attend(*args, **kwargs)
        if func is F.multi_head_attention_forward:
            with self:
                return _multi_head_attention(*args, **kwargs)
        if func is F.dropout:
            _refuse_dropout(*args, **kwargs)
        elif _is_other_attention(func):
            raise HeadwayError(
                f"attention is no softmax that can be seen: {name_of(func)} is called"
            )
        if self.is_edited and func in DIVISIONS and len(args) > 1:
            args = args[0], _divisor(*args[:2]), *args[2:]
        out = func(*args, **kwargs)
        if isinstance(out, Tensor):
            if func in PRODUCTS:
                return self._multiplied(func, args, kwargs, out)
            if func in SOFTMAXES and self._is_over_keys(out, *args, **kwargs):
                return self._softmaxed(out, next(tensors_in(args, kwargs)))
            elif out.ndim > 2 and len(self.scores) and func is not F.linear:
                self._follow(tensors_in(args, kwargs), out)
        return out

    def _attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        """`scaled_dot_product_attention`, in single precision at least."""
        _refuse_dropout(query, dropout_p)
        dtype, device = query.dtype, query.device.type
        if torch.is_autocast_enabled(device):
            dtype = torch.get_autocast_dtype(device)
        self.dtypes.add(dtype)
        exact = torch.promote_types(dtype, torch.float32)
        with torch.autocast(device, enabled=False):
            query, key, value = (x.to(exact) for x in (query, key, value))
            if enable_gqa:
                key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
                value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
            factor = math.sqrt(1 / query.shape[-1]) if scale is None else scale
            pattern = _softmax_of((query * factor) @ key.mT, attn_mask, is_causal)
            allowed = f"[batch, head, query, key] with a batch of {self.batch};"
            allowed += " attention that is called with positions first needs batch_first=True"
            require(self._has_batch(pattern), "shape of a pattern", list(pattern.shape), allowed)
            layer, pattern = len(self.shapes), self._through_tap(pattern)
            return self._read(layer, pattern, value, torch.matmul).to(dtype)

    def _through_tap(
        self, pattern: Float[Tensor, "*rows query key"]
    ) -> Float[Tensor, "*rows query key"]:
        if is_functorch_wrapped_tensor(pattern):
            raise HeadwayError(
                "attention inside torch.vmap cannot be tapped: it has no batch there"
            )
        layer, heads = len(self.shapes), pattern.reshape(self.batch, -1, *pattern.shape[-2:])
        self.shapes.append((heads.shape[1], heads.shape[2], heads.shape[3]))
        heads = heads.nan_to_num(0.0)  # a query that no key is allowed for reads nothing
        own = self._place(layer).own(heads, self.length)
        version = None if own.is_inference() else own._version
        try:
            with usual_factories():
                used = self.tap(layer, own)
        except Exception as error:
            self.failed = error
            raise
        if used is own and version is not None and own._version == version:
            return pattern
        self.is_edited = True
        field = f"shape of the pattern that the tap returned for layer {layer}"
        allowed = f"{list(own.shape)}, that of the pattern it was given"
        require(used.shape == own.shape, field, list(used.shape), allowed)
        put = self._place(layer).put(used, heads).reshape(pattern.shape)
        # A module may view what a softmax gives, or write into it; the tap's tensor is the tap's.
        return put.to(pattern.dtype).clone(memory_format=torch.contiguous_format)

    def _place(self, layer: int) -> Place:
        return self.places[layer] if layer < len(self.places) else Place()

    def _read(
        self,
        layer: int,
        pattern: Tensor,
        values: Tensor,
        product: Callable[[Tensor, Tensor], Tensor],
    ) -> Tensor:
        """The values that are read where a pattern meets them."""
        if self.reads is None:
            return product(pattern, values)
        n_heads, n_queries, n_keys = self.shapes[layer]
        heads = pattern.new_zeros(self.batch, n_heads, n_queries, n_keys)
        kept = pattern.shape[-1]  # a sink may have been left out behind

        def laid(own: Tensor) -> Tensor:
            whole = self._place(layer).put(own.to(heads.dtype), heads)
            return whole[..., :kept].reshape(pattern.shape)

        return self.reads(Read(layer, pattern, values, laid, product))

    def _is_over_keys(
        self, out: Tensor, input: Tensor, dim: int | None = None, *_: Any, **__: Any
    ) -> bool:
        """Tell whether a softmax, given as it was called, is one of scores over keys."""
        square = out.ndim > 3 and out.shape[-2:] == (self.length, self.length)
        known = square or input in self.scores
        return dim in (-1, out.ndim - 1) and self._has_batch(out) and known

    def _softmaxed(self, out: Tensor, input: Tensor) -> Tensor:
        self.dtypes.add(input.dtype)
        scores = self.scores.get(input) or Scores()
        scores.layer = len(self.shapes)
        pattern = self._through_tap(out)
        self.scores[pattern] = scores
        return pattern

    def layer_of(self, tensor: Tensor) -> int | None:
        """The layer whose pattern a tensor is; None if it is none."""
        scores = self.scores.get(tensor)
        return None if scores is None else scores.layer

    def _multiplied(self, func: Callable[..., Any], args: Any, kwargs: Any, out: Tensor) -> Tensor:
        """Notes what may be scores; where a pattern meets values, gives what is read."""
        given = list(tensors_in(args, kwargs))
        pair = given[-2:]
        pattern = next((one for one in pair if self.layer_of(one) is not None), None)
        if pattern is not None:
            values = pair[1] if pair[0] is pattern else pair[0]
            if self.reads is None or not is_activation(values):
                return out

            def product(one: Tensor, other: Tensor) -> Tensor:
                new = {id(pattern): one, id(values): other}
                named = {name: new.get(id(arg), arg) for name, arg in kwargs.items()}
                return func(*(new.get(id(arg), arg) for arg in args), **named)

            return self._read(self.scores[pattern].layer, pattern, values, product)
        if self._has_batch(out) and self._has_keys(out):
            if sum(is_activation(tensor) for tensor in given) > 1:
                self.scores[out] = Scores()
            else:  # heads exchange scores
                self._follow(pair, out)
        return out

    def _follow(self, tensors: Iterable[Tensor], out: Tensor) -> None:
        """Notes what is computed from scores or a pattern, entry by entry or with further keys."""
        for tensor in tensors:
            same = out.numel() == tensor.numel() or out.shape[:-1] == tensor.shape[:-1]
            if same and tensor in self.scores:
                self.scores[out] = self.scores[tensor]
                return

    def _has_batch(self, x: Tensor) -> bool:
        """Tell whether x may be [batch, …, query, key] or [batch * head, query, key]."""
        return x.shape[0] == self.batch if x.ndim > 3 else x.ndim == 3 and not len(x) % self.batch

    def _has_keys(self, x: Tensor) -> bool:
        """Tell whether the last two dimensions of x may be queries and keys."""
        n_queries, n_keys = x.shape[-2:]
        few = n_keys - self.length <= 2  # beside the positions, for queries that are read out
        return n_keys >= self.length and (n_queries >= self.length or few)


def _softmax_of(
    scores: Float[Tensor, "*rows query key"], mask: Tensor | None, is_causal: bool
) -> Float[Tensor, "*rows query key"]:
    if is_causal:
        past = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        scores = scores.masked_fill(~past, -torch.inf)
    if mask is None:
        return scores.softmax(-1)
    is_bool = mask.dtype == torch.bool
    scores = scores.masked_fill(~mask, -torch.inf) if is_bool else scores + mask
    no_key = (scores == -torch.inf).all(-1, keepdim=True)  # torch lets such a query read nothing
    return scores.masked_fill(no_key, 0.0).softmax(-1).masked_fill(no_key, 0.0)


def _divisor(given: Any, divisor: Any) -> Any:
    """A divisor with ones in the place of zeros that divide zeros.

    A module may divide patterns, or what heads read, by the sums of rows. A row of zeros, which a
    tap may put, reads nothing there as elsewhere.
    """
    if not (isinstance(given, Tensor) and isinstance(divisor, Tensor)):
        return divisor
    return divisor.masked_fill((given == 0) & (divisor == 0), 1)


def is_activation(x: Tensor) -> bool:
    """Tell what was computed from the inputs, most likely, from weights."""
    return x.ndim > 2 and not isinstance(x, nn.Parameter)


def _refuse_dropout(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> None:
    if p > 0 and training:
        raise HeadwayError(f"dropout is on (p = {p:g}): call .eval() on the module that is tapped")


def tensors_in(args: Any, kwargs: Any) -> Iterator[Tensor]:
    """The tensors among arguments, and in lists and tuples among them."""
    for value in (*args, *kwargs.values()):
        for item in value if isinstance(value, list | tuple) else (value,):
            if isinstance(item, Tensor):
                yield item


@functools.lru_cache(maxsize=4096)
def _is_other_attention(func: Callable[..., Any]) -> bool:
    return bool(re.search("attn|attention", name_of(func), re.IGNORECASE))


def name_of(func: Callable[..., Any]) -> str:
    """The name of a function of torch's."""
    return resolve_name(func) or str(getattr(func, "__name__", func))
