"""Attention caught while a module runs, whatever the module looks like.

A call of `scaled_dot_product_attention` is computed step by step: scores, softmax, tap, values. The
result of a softmax over keys passes through the tap. Routers and outputs have a softmax, too. To
tell them apart, every product of activations that may be scores is followed until a softmax takes
it. Scores that are multiplied with values without a softmax are another kind of attention, which is
an error.
"""

import functools
import math
import re
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils.weak import WeakTensorKeyDictionary

from headway.errors import HeadwayError, require
from headway.models.tap import Tap

SOFTMAXES = {F.softmax, torch.softmax, torch.Tensor.softmax, torch.special.softmax}
PRODUCTS = {
    *(torch.matmul, torch.Tensor.matmul, torch.bmm, torch.Tensor.bmm, torch.einsum),
    *(torch.baddbmm, torch.Tensor.baddbmm, torch.Tensor.baddbmm_),
}
EXTRA_KEYS = 2
"""Keys beside the positions: `bias_k` and `add_zero_attn` of `MultiheadAttention` add one each."""

# A mode steps aside while a function runs that it was told of. This is the same function without
# the question whether there is a mode, so that the attention in it meets the mode.
_multi_head_attention = types.FunctionType(
    F.multi_head_attention_forward.__code__,
    vars(F) | {"has_torch_function": lambda _: False},
    argdefs=F.multi_head_attention_forward.__defaults__,
)


@dataclass(eq=False)
class _Scores:
    """A product of activations that may be scores.

    Attributes:
        call: the function and the shape of its result.
        parents: what may be scores, too, and went into it.
        weighed: whether a softmax has taken it.
    """

    call: str
    parents: list["_Scores"] = field(default_factory=list)
    weighed: bool = False

    def weigh(self) -> None:
        self.weighed = True
        for parent in self.parents:
            parent.weigh()


class Interception(TorchFunctionMode):
    """Hands the pattern of every attention in a module's forward pass to a tap.

    Args:
        tap: called once a layer; layers are numbered in the order of their calls.
        batch: sequences in the module's input.
        length: positions of a sequence.

    Attributes:
        heads: the number of heads of every layer seen so far.
        nearest: the first product of activations, if any: what a module without softmax attention
            may have instead.
        dtypes: the types of the numbers that patterns were computed from.
    """

    def __init__(self, tap: Tap, batch: int, length: int):
        super().__init__()
        self.tap, self.batch, self.length = tap, batch, length
        self.heads: list[int] = []
        self.nearest: str | None = None
        self.dtypes: set[torch.dtype] = set()
        self._scores = WeakTensorKeyDictionary()
        """What tensors were computed from, up to the product with the values."""
        self._unweighed: list[tuple[_Scores, str]] = []
        """Scores that went into another product as they were, and that product."""

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
            raise HeadwayError(f"attention is no softmax that can be seen: {_name(func)} is called")
        out = func(*args, **kwargs)
        if isinstance(out, Tensor):
            if func in PRODUCTS:
                self._multiplied(func, list(_tensors(args, kwargs))[-2:], out)
            elif func in SOFTMAXES and self._is_over_keys(out, *args, **kwargs):
                return self._softmaxed(out, next(_tensors(args, kwargs)))
            elif out.ndim > 2 and len(self._scores) and func is not F.linear:
                self._follow(_tensors(args, kwargs), out)
        return out

    def finish(self) -> None:
        """Called after the pass.

        Raises:
            HeadwayError: if scores met values without a softmax.
        """
        for scores, product in self._unweighed:
            if not scores.weighed:
                raise HeadwayError(
                    "attention is not a softmax over keys (the last dimension): the scores of "
                    f"{scores.call} went into {product} without one"
                )

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
            allowed = f"[batch, head, query, key] with a batch of {self.batch}"
            require(self._has_batch(pattern), "shape of a pattern", list(pattern.shape), allowed)
            return (self._through_tap(pattern) @ value).to(dtype)

    def _through_tap(
        self, pattern: Float[Tensor, "*rows query key"]
    ) -> Float[Tensor, "*rows query key"]:
        layer, heads = len(self.heads), pattern.reshape(self.batch, -1, *pattern.shape[-2:])
        self.heads.append(heads.shape[1])
        used = self.tap(layer, heads)
        if used is heads:
            return pattern
        field = f"shape of the pattern that the tap returned for layer {layer}"
        allowed = f"{list(heads.shape)}, that of the pattern it was given"
        require(used.shape == heads.shape, field, list(used.shape), allowed)
        return used.reshape(pattern.shape).to(pattern.dtype)

    def _is_over_keys(
        self, out: Tensor, input: Tensor, dim: int | None = None, *_: Any, **__: Any
    ) -> bool:
        """Whether a softmax, given as it was called, is one of scores over keys."""
        square = out.ndim > 3 and out.shape[-2:] == (self.length, self.length)
        known = square or input in self._scores
        return dim in (-1, out.ndim - 1) and self._has_batch(out) and known

    def _softmaxed(self, out: Tensor, input: Tensor) -> Tensor:
        scores = self._scores.get(input) or _Scores("another function")
        scores.weigh()
        self.dtypes.add(input.dtype)
        pattern = self._through_tap(out)
        self._scores[pattern] = scores
        return pattern

    def _multiplied(self, func: Callable[..., Any], pair: list[Tensor], out: Tensor) -> None:
        """Notes what may be scores, and where scores went."""
        taken = [self._scores[tensor] for tensor in pair if tensor in self._scores]
        if any(scores.weighed for scores in taken):
            return  # a pattern meets values
        of_activations = all(t.ndim > 2 and not isinstance(t, nn.Parameter) for t in pair)
        call = f"{_name(func)} to {list(out.shape)}"
        if of_activations and self.nearest is None:
            self.nearest = call
        may_be_scores = self._has_batch(out) and self._has_keys(out)
        if may_be_scores and not of_activations:  # heads exchange scores
            self._follow(pair, out)
            return
        self._unweighed += [(scores, call) for scores in taken]
        if may_be_scores:
            self._scores[out] = _Scores(call, taken)

    def _follow(self, tensors: Iterable[Tensor], out: Tensor) -> None:
        """Notes what is computed from scores or a pattern, entry by entry or with further keys."""
        for tensor in tensors:
            same = out.numel() == tensor.numel() or out.shape[:-1] == tensor.shape[:-1]
            if same and tensor in self._scores:
                self._scores[out] = self._scores[tensor]
                return

    def _has_batch(self, x: Tensor) -> bool:
        """Whether x may be [batch, …, query, key] or [batch * head, query, key]."""
        return x.shape[0] == self.batch if x.ndim > 3 else x.ndim == 3 and not len(x) % self.batch

    def _has_keys(self, x: Tensor) -> bool:
        """Whether the last two dimensions of x may be queries and keys."""
        n_queries, n_keys = x.shape[-2:]
        return n_queries == n_keys >= self.length or 0 <= n_keys - self.length <= EXTRA_KEYS


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


def _refuse_dropout(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> None:
    if p > 0 and training:
        raise HeadwayError(f"dropout is on (p = {p:g}): call .eval() on the module that is tapped")


def _tensors(args: Any, kwargs: Any) -> Iterator[Tensor]:
    for value in (*args, *kwargs.values()):
        for item in value if isinstance(value, list | tuple) else (value,):
            if isinstance(item, Tensor):
                yield item


@functools.lru_cache(maxsize=4096)
def _is_other_attention(func: Callable[..., Any]) -> bool:
    return bool(re.search("attn|attention", _name(func), re.IGNORECASE))


def _name(func: Callable[..., Any]) -> str:
    return resolve_name(func) or str(getattr(func, "__name__", func))
