"""Attention caught while a module runs, whatever the module looks like.

A call of `scaled_dot_product_attention` is computed step by step: scores, softmax, tap,
values. The result of a softmax over keys passes through the tap; if a module changes it
before it meets values, what meets them passes through the tap instead (`sites` tells
which). Routers and outputs have a softmax, too. To tell them apart, every product of
activations that may be scores is followed until a softmax takes it. `trial` notices
what is missed here.
"""

import functools
import math
import re
import types
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

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
TIMES = {torch.mul, torch.multiply, torch.Tensor.mul, torch.Tensor.multiply}
Origin = TypeVar("Origin")
Reads = Callable[["Read"], Tensor]
"""Called where a pattern meets values; what it returns is what the heads read."""

# A mode steps aside while a function runs that it was told of. This is the same
# function without the question whether there is a mode, so that the attention in it
# meets the mode.
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

        Positions that are no query have an empty row, and those that are no key an
        empty column.
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
        """Positions that are queries, or keys, and keys that are no position."""
        spans = list[Span]()
        for start, count in zip(self, heads.shape[-2:], strict=True):
            first = count - length if start == LAST else start
            own = slice(max(0, -first), min(length, count - first))
            spans.append((own, slice(own.start + first, own.stop + first)))
        queries, keys = spans
        within = keys[1]
        beside = [*range(within.start), *range(within.stop, heads.shape[-1])]
        return queries, keys, beside


class Read(NamedTuple):
    """A product of a pattern and values.

    Attributes:
        layer: of the pattern; in an `Interception`, its site.
        pattern: as the tap left it, in the module's own layout.
        values: that it meets, in the module's own layout.
        laid: lays out a pattern of the positions [batch, head, position, own_key] as
            `pattern` is.
        product: of any such pattern and values.
    """

    layer: int
    pattern: Tensor
    values: Tensor
    laid: Callable[[Tensor], Tensor]
    product: Callable[[Tensor, Tensor], Tensor]


@dataclass(eq=False)
class Scores:
    """A product of activations that may be scores.

    Attributes:
        is_taken: whether a softmax took them.
    """

    is_taken: bool = False


class Turned(NamedTuple):
    """The layout of a pattern in a call.

    Attributes:
        forth: turns what is given to the call into [..., query, key].
        back: the other way.
    """

    forth: Callable[[Tensor], Tensor]
    back: Callable[[Tensor], Tensor]


AS_IT_IS = Turned(lambda pattern: pattern, lambda pattern: pattern)
KEY_QUERY = Turned(lambda pattern: pattern.mT, lambda pattern: pattern.mT)
ONE_MORE = Turned(
    lambda pattern: pattern.squeeze(-1), lambda pattern: pattern.unsqueeze(-1)
)


class Meeting(NamedTuple):
    """A call in which a pattern meets values.

    Attributes:
        pattern: as it is given to the call.
        values: that it meets.
        turned: how the pattern is laid out.
        product: of any such pattern and values.
    """

    pattern: Tensor
    values: Tensor
    turned: Turned
    product: Callable[[Tensor, Tensor], Tensor]


class Interception(TorchFunctionMode):
    """Hands the pattern of every attention in a module's forward pass to a tap.

    A *site* is where the tap takes hold of a pattern: a call of
    `scaled_dot_product_attention`, a softmax, or what is made of softmaxes, where it
    first meets values. Sites are numbered in order.

    Args:
        tap: called once a site, with its number.
        batch: sequences in the module's input.
        length: positions of a sequence.
        places: where they stand in the pattern of every site; by default at its
            beginning.
        reads: called where patterns meet values.
        late: softmaxes, by number, of which the tap gets what meets values.

    Attributes:
        shapes: heads, queries and keys of every site seen so far.
        dtypes: the types of the numbers that patterns were computed from.
    """

    def __init__(
        self,
        tap: Tap,
        batch: int,
        length: int,
        places: Sequence[Place] = (),
        reads: Reads | None = None,
        late: frozenset[int] = frozenset(),
    ):
        super().__init__()
        self.tap = tap
        self.batch = batch
        self.length = length
        self.places = places
        self.reads = reads
        self.late = late
        self.shapes: list[tuple[int, int, int]] = []
        self.failed: Exception | None = None
        """An error that the tap raised."""
        self.dtypes: set[torch.dtype] = set()
        self.is_edited = False
        """True once the tap has changed a pattern."""
        self.scores: MutableMapping[Tensor, frozenset[Scores]] = (
            WeakTensorKeyDictionary()
        )
        """Sets of `Scores` that tensors derive from, up to the product with values."""
        self.softmaxes: MutableMapping[Tensor, frozenset[int]] = (
            WeakTensorKeyDictionary()
        )
        """Sets of softmaxes over keys, by number, that tensors are made of, up to that
        product.
        """
        self.site_of: list[int | None] = []
        """Sets of softmaxes, by number, that tensors derive from, up to there."""
        self.keys_of: list[int] = []
        """The number of keys that every softmax is over."""
        self.caught: MutableMapping[Tensor, tuple[int, Tensor]] = (
            WeakTensorKeyDictionary()
        )
        """The site of what met values late, and what the tap put in its place."""

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Heads, and keys beside the positions, of every site seen so far."""
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
        if _is_dropout(func):
            _refuse_dropout(*args, **kwargs)
        elif _is_other_attention(func):
            what = f"{name_of(func)} is called"
            raise HeadwayError(f"attention is no softmax that can be seen: {what}")
        if self.is_edited and func in DIVISIONS and len(args) > 1:
            args = args[0], _divisor(*args[:2]), *args[2:]
        out = func(*args, **kwargs)
        written_to = kwargs.pop("out", None)
        given = list(tensors_in(args, kwargs))
        if not isinstance(out, Tensor):
            parts = out if isinstance(out, tuple | list) else ()
            for part in tensors_in(parts, {}):
                self._follow(given, part)
            return out
        seen = out
        if func in SOFTMAXES and self._is_over_keys(out, *args, **kwargs):
            seen = self._softmaxed(out, given[0])
        elif meeting := self._meeting(func, args, kwargs, out):
            seen = self._met(meeting, out)
        elif func in PRODUCTS:
            self._note_product(given, out)
        elif func is not F.linear:
            self._follow(given, out)
        if written_to is None or seen is out:
            return seen
        self._follow([seen], written_to)
        return written_to.copy_(seen)

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
        dtype = query.dtype
        device = query.device.type
        if torch.is_autocast_enabled(device):
            dtype = torch.get_autocast_dtype(device)
        self.dtypes.add(dtype)
        exact = torch.promote_types(dtype, torch.float32)
        with torch.autocast(device, enabled=False):
            query = query.to(exact)
            key = key.to(exact)
            value = value.to(exact)
            if enable_gqa:
                key = _for_every_query(key, query)
                value = _for_every_query(value, query)
            if scale is None:
                scale = math.sqrt(1 / query.shape[-1])
            pattern = _softmax_of((query * scale) @ key.mT, attn_mask, is_causal)
            allowed = f"[batch, head, query, key] with a batch of {self.batch};"
            allowed += (
                " attention that is called with positions first needs batch_first=True"
            )
            require(
                self._has_batch(pattern),
                "shape of a pattern",
                list(pattern.shape),
                allowed,
            )
            site = len(self.shapes)
            pattern = self._through_tap(pattern)
            return self._read(site, pattern, value, torch.matmul).to(dtype)

    def _through_tap(
        self, pattern: Float[Tensor, "*rows query key"]
    ) -> Float[Tensor, "*rows query key"]:
        if is_functorch_wrapped_tensor(pattern):
            raise HeadwayError(
                "attention inside torch.vmap cannot be tapped: it has no batch there"
            )
        site = len(self.shapes)
        place = self._place(site)
        heads = pattern.reshape(self.batch, -1, *pattern.shape[-2:])
        n_heads, n_queries, n_keys = heads.shape[1:]
        self.shapes.append((n_heads, n_queries, n_keys))
        # A query that no key is allowed for reads nothing.
        heads = heads.nan_to_num(0.0)
        own = place.own(heads, self.length)
        version = None if own.is_inference() else own._version
        try:
            with usual_factories():
                used = self.tap(site, own)
        except Exception as error:
            self.failed = error
            raise
        if used is own and version is not None and own._version == version:
            return pattern
        self.is_edited = True
        put = place.put(used, heads).reshape(pattern.shape)
        put = put.to(pattern.dtype)
        # A module may view what a softmax gives, or write into it; the tap's tensor is
        # the tap's.
        return put.clone(memory_format=torch.contiguous_format)

    def _place(self, site: int) -> Place:
        if site < len(self.places):
            return self.places[site]
        return Place()

    def _read(
        self,
        site: int,
        pattern: Tensor,
        values: Tensor,
        product: Callable[[Tensor, Tensor], Tensor],
        turned: Turned = AS_IT_IS,
    ) -> Tensor:
        """The values that are read where a pattern meets them."""
        if self.reads is None:
            return product(pattern, values)
        n_heads, n_queries, n_keys = self.shapes[site]
        heads = pattern.new_zeros(self.batch, n_heads, n_queries, n_keys)
        shape = turned.forth(pattern).shape
        kept = shape[-1]  # a sink may have been left out behind

        def laid(own: Tensor) -> Tensor:
            whole = self._place(site).put(own.to(heads.dtype), heads)
            met = whole[..., :kept].reshape(shape)
            return turned.back(met)

        return self.reads(Read(site, pattern, values, laid, product))

    def _is_over_keys(
        self, result: Tensor, input: Tensor, dim: int | None = None, *_: Any, **__: Any
    ) -> bool:
        """Tell whether a softmax, as it was called, is one of scores over keys."""
        square = result.ndim > 3 and result.shape[-2:] == (self.length, self.length)
        known = square or input in self.scores
        return dim in (-1, result.ndim - 1) and self._has_batch(result) and known

    def _softmaxed(self, result: Tensor, input: Tensor) -> Tensor:
        """The pattern that the module gets from a softmax."""
        self.dtypes.add(input.dtype)
        scores = self.scores.get(input) or frozenset({Scores()})
        for product in scores:
            product.is_taken = True
        number = len(self.site_of)
        self.keys_of.append(result.shape[-1])
        if number in self.late:
            self.site_of.append(None)
            pattern = self._before(result)
        else:
            self.site_of.append(len(self.shapes))
            pattern = self._through_tap(result)
        self.scores[pattern] = scores
        self.softmaxes[pattern] = frozenset({number})
        return pattern

    def _before(self, pattern: Tensor) -> Tensor:
        """The pattern that a late softmax gives to the module."""
        return pattern

    def _meeting(
        self, func: Callable[..., Any], args: Any, kwargs: Any, out: Tensor
    ) -> Meeting | None:
        """The pattern and the values of a product; None if it is no such product."""
        if not (func in PRODUCTS or func in TIMES):
            return None
        given = list(tensors_in(args, kwargs))
        if func is not torch.einsum:
            given = given[-2:]
        of_softmaxes = [tensor for tensor in given if tensor in self.softmaxes]
        if len(of_softmaxes) != 1:
            return None
        (pattern,) = of_softmaxes
        others = [tensor for tensor in given if tensor is not pattern]
        values = next(filter(is_activation, others), None)
        if values is None:
            return None
        if summed_over(func, args, given, pattern, out) < self._least_summed(pattern):
            return None
        product = functools.partial(_called, func, args, kwargs, (pattern, values))
        if func in TIMES:
            turned = ONE_MORE
        elif func is torch.einsum:
            turned = _turned_in(args[0], given, pattern, values)
        else:
            turned = AS_IT_IS if pattern is given[0] else KEY_QUERY
        return Meeting(pattern, values, turned, product)

    def _least_summed(self, pattern: Tensor) -> int:
        """The size that a product must sum over to be one of a pattern and values."""
        counts = [self.keys_of[number] for number in self.softmaxes[pattern]]
        return min(self.length, *counts)

    def _met(self, meeting: Meeting, out: Tensor) -> Tensor:
        """The product of a pattern with values.

        Args:
            meeting: of the two.
            out: their product, before the tap took hold of the pattern.
        """
        pattern, values, turned, product = meeting
        site = self.site_of[min(self.softmaxes[pattern])]
        if site is not None:
            if self.reads is None:
                return out
            return self._read(site, pattern, values, product, turned)
        if pattern not in self.caught:
            for scores in self.scores.get(pattern, frozenset()):
                scores.is_taken = True
            site = len(self.shapes)
            own = turned.forth(pattern)
            allowed = f"[batch, …] with a batch of {self.batch}, where it meets values"
            require(
                self._has_batch(own), "shape of a pattern", list(own.shape), allowed
            )
            put = self._through_tap(own)
            self.caught[pattern] = site, turned.back(put)
        site, put = self.caught[pattern]
        return self._read(site, put, values, product, turned)

    def _note_product(self, given: list[Tensor], out: Tensor) -> None:
        """Notes what may be scores, or a pattern of which heads take shares."""
        are_scores = sum(is_activation(tensor) for tensor in given) > 1
        if any(tensor in self.softmaxes for tensor in given) or not are_scores:
            self._follow(given, out)
        elif self._has_batch(out) and self._has_keys(out):
            self.scores[out] = frozenset({Scores()})

    def _follow(self, tensors: Iterable[Tensor], out: Tensor) -> None:
        """Notes what is computed from scores or a pattern: entry by entry, with further
        keys, or by heads that take shares of others."""
        nothing_yet = not (len(self.scores) or len(self.softmaxes))
        if nothing_yet or out.ndim < 3:
            return
        for tensor in tensors:
            if _is_made_of(out, tensor):
                _add_origins(self.scores, tensor, out)
                _add_origins(self.softmaxes, tensor, out)

    def _has_batch(self, tensor: Tensor) -> bool:
        """Tell whether x may be [batch, …, query, key] or [batch * head, query,
        key].
        """
        if tensor.ndim > 3:
            return tensor.shape[0] == self.batch
        return tensor.ndim == 3 and not len(tensor) % self.batch

    def _has_keys(self, tensor: Tensor) -> bool:
        """Tell whether the last two dimensions of x may be queries and keys."""
        n_queries, n_keys = tensor.shape[-2:]
        # Beside the positions, for queries that are read out.
        few = n_keys - self.length <= 2
        return n_keys >= self.length and (n_queries >= self.length or few)


def _for_every_query(
    shared: Float[Tensor, "*batch group key _"],
    query: Float[Tensor, "*batch head query _"],
) -> Float[Tensor, "*batch head key _"]:
    """Tensors that groups of heads share, once for each head that has a query."""
    in_group = query.shape[-3] // shared.shape[-3]
    return shared.repeat_interleave(in_group, -3)


def _softmax_of(
    scores: Float[Tensor, "*rows query key"], mask: Tensor | None, is_causal: bool
) -> Float[Tensor, "*rows query key"]:
    if is_causal:
        every = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device)
        scores = scores.masked_fill(~every.tril(), -torch.inf)
    if mask is None:
        return scores.softmax(-1)
    mask = _materialised(mask, scores.device)
    is_bool = mask.dtype == torch.bool
    scores = scores.masked_fill(~mask, -torch.inf) if is_bool else scores + mask
    # Torch lets such a query read nothing.
    no_key = (scores == -torch.inf).all(-1, keepdim=True)
    pattern = scores.masked_fill(no_key, 0.0).softmax(-1)
    return pattern.masked_fill(no_key, 0.0)


def _divisor(given: Any, divisor: Any) -> Any:
    """A divisor with ones in the place of zeros that divide zeros.

    A module may divide patterns, or what heads read, by the sums of rows. A row of
    zeros, which a tap may put, reads nothing there as elsewhere.
    """
    if not (isinstance(given, Tensor) and isinstance(divisor, Tensor)):
        return divisor
    both_zero = (given == 0) & (divisor == 0)
    return divisor.masked_fill(both_zero, 1)


def _materialised(mask: Any, device: torch.device) -> Tensor:
    """A mask in full: of a `CausalBias`, torch keeps the sizes alone."""
    variant = getattr(mask, "variant", None)  # to import its class takes seconds
    if variant is None:
        return mask
    n_queries = mask.seq_len_q
    n_keys = mask.seq_len_kv
    last_key = n_keys - n_queries if variant.name == "LOWER_RIGHT" else 0
    every = torch.ones(n_queries, n_keys, dtype=torch.bool, device=device)
    return every.tril(last_key)


def is_activation(tensor: Tensor) -> bool:
    """Tell what was computed from the inputs, most likely, from weights."""
    return tensor.ndim > 2 and not isinstance(tensor, nn.Parameter)


def _is_made_of(out: Tensor, tensor: Tensor) -> bool:
    """Tell by shapes whether something may be a tensor's entries or shares."""
    if out.numel() == tensor.numel() or out.shape[:-1] == tensor.shape[:-1]:
        return True
    return tensor.ndim > 3 and out.shape[-2:] == tensor.shape[-2:]


def _add_origins(
    origins: MutableMapping[Tensor, frozenset[Origin]], tensor: Tensor, out: Tensor
) -> None:
    """Notes that what a tensor is made of is in another, too."""
    if tensor in origins:
        nothing = frozenset[Origin]()
        origins[out] = origins[tensor] | origins.get(out, nothing)


def summed_over(
    func: Callable[..., Any],
    args: Any,
    given: list[Tensor],
    pattern: Tensor,
    out: Tensor,
) -> int:
    """The size of the largest dimension of a pattern that a product sums over, or will
    be summed over after it."""
    if func in TIMES:
        if pattern.shape[-1] == 1 and out.numel() > pattern.numel():
            return pattern.shape[-2]
        return 0
    if func is not torch.einsum:
        return pattern.shape[-1 if pattern is given[0] else -2]
    terms, kept = _terms(args[0], given)
    letters = reversed(terms[id(pattern)])  # "..." comes first
    sizes = zip(letters, reversed(pattern.shape), strict=False)
    summed = (size for letter, size in sizes if letter not in kept)
    return max(summed, default=0)


def _turned_in(
    equation: object, given: list[Tensor], pattern: Tensor, values: Tensor
) -> Turned:
    """The layout of a pattern that meets values in an `einsum`."""
    terms, kept = _terms(equation, given)
    letters = terms[id(pattern)].removeprefix("...")
    keys = set(letters) - set(kept)
    queries = set(letters) - keys - set(terms[id(values)])
    if len(queries) != 1 or len(keys) != 1 or "." in letters:
        return AS_IT_IS
    now = [letters.index(letter) - len(letters) for letter in (*queries, *keys)]
    last = [-2, -1]
    return Turned(
        lambda pattern: pattern.movedim(now, last),
        lambda pattern: pattern.movedim(last, now),
    )


def _terms(equation: object, given: list[Tensor]) -> tuple[dict[int, str], str]:
    """The letters of an `einsum`: of its operands, by identity, and of its sum."""
    written = str(equation).replace(" ", "")
    terms, _, kept = written.partition("->")
    each = zip(given, terms.split(","), strict=False)
    by_id = {id(operand): letters for operand, letters in each}
    return by_id, kept


def _called(
    func: Callable[..., Any],
    args: Any,
    kwargs: Any,
    pair: tuple[Tensor, Tensor],
    *new: Tensor,
) -> Tensor:
    """The outcome of a function with two of its tensors exchanged."""
    by_id = {id(old): other for old, other in zip(pair, new, strict=True)}
    named = {name: by_id.get(id(arg), arg) for name, arg in kwargs.items()}
    given = _exchanged(args, by_id)
    return func(*given, **named)


def _exchanged(args: Any, new: dict[int, Tensor]) -> Iterator[Any]:
    """Arguments, with some tensors exchanged, in lists and tuples, too."""
    for arg in args:
        if isinstance(arg, list | tuple):
            yield type(arg)(_exchanged(arg, new))
        else:
            yield new.get(id(arg), arg)


def _refuse_dropout(
    input: Tensor,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    *,
    train: bool = True,
) -> None:
    if p > 0 and training and train:
        raise HeadwayError(
            f"dropout is on (p = {p:g}): call .eval() on the module that is tapped"
        )


def tensors_in(args: Any, kwargs: Any) -> Iterator[Tensor]:
    """The tensors among arguments, and in lists and tuples among them."""
    for value in (*args, *kwargs.values()):
        for item in value if isinstance(value, list | tuple) else (value,):
            if isinstance(item, Tensor):
                yield item


@functools.lru_cache(maxsize=4096)
def _is_dropout(func: Callable[..., Any]) -> bool:
    return bool(re.fullmatch(r"torch\..*dropout\w*", name_of(func)))


@functools.lru_cache(maxsize=4096)
def _is_other_attention(func: Callable[..., Any]) -> bool:
    return bool(re.search("attn|attention", name_of(func), re.IGNORECASE))


@functools.lru_cache(maxsize=4096)
def name_of(func: Callable[..., Any]) -> str:
    """The name of a function of torch's."""
    return resolve_name(func) or str(getattr(func, "__name__", func))
