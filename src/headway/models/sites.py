"""Sites: where a tap takes hold of a module's attention, and their layers.

A module may change what a softmax gives before it meets values: by signs, by a mask, by
shares of other heads. One pass has a random pattern in the place of every softmax. If
what meets values is not that pattern, the tap takes hold where it meets them.

Sites are heads of one layer if they follow one another and depend on the same earlier
sites: then none of them can read what another gives. A site whose pattern is always
that of another in the layer has the same heads, as when a pattern meets the halves of
the values one by one.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch._C._functorch import is_functorch_wrapped_tensor

from headway.errors import require
from headway.models.interception import Interception, Meeting, Read, Reads, tensors_in
from headway.models.tapped import Tap, intercepted

SUMS = {torch.sum, torch.Tensor.sum}
"""Functions that may add up the rows of a pattern."""


class Part(NamedTuple):
    """The heads that a site has in its layer.

    Attributes:
        layer: that they are of.
        first: the number of the first.
        n_heads: how many there are.
    """

    layer: int
    first: int
    n_heads: int

    def of(self, pattern: Tensor) -> Tensor:
        """The heads among those of the layer."""
        return pattern[:, self.first : self.first + self.n_heads]


class Sites(NamedTuple):
    """The sites of a module.

    Attributes:
        late: softmaxes of which the tap gets what meets values.
        unseen: sites whose pattern was not seen to meet values, or whose rows are added
            up beside that, maybe to divide by the sums what heads read.
        parts: the heads of every site.
        apart: the numbers of heads that layers would have if calls which cannot read
            one another were one; none unless they differ, so that every call is a
            layer.
    """

    late: frozenset[int]
    unseen: tuple[int, ...]
    parts: tuple[Part, ...]
    apart: tuple[int, ...] = ()


def sites_of(module: nn.Module, inputs: Tensor) -> Sites:
    """The sites of a module, and its layers.

    Args:
        module: that is called.
        inputs: a few sequences.

    Raises:
        HeadwayError: if the module fails.
    """
    watch = _watched(module, inputs, frozenset())
    late = watch.changed()
    if late:
        watch = _watched(module, inputs, late)
    parts = _parts(module, inputs, watch)
    counts = _heads_by_layer(parts)
    if len({*counts}) == 1:
        return Sites(late, watch.unseen, tuple(parts))
    calls = [Part(site, 0, shape[0]) for site, shape in enumerate(watch.shapes)]
    return Sites(late, watch.unseen, tuple(calls), apart=counts)


def _heads_by_layer(parts: Iterable[Part]) -> tuple[int, ...]:
    """The number of heads of every layer."""
    counts = Counter[int]()
    for part in {*parts}:
        counts[part.layer] += part.n_heads
    return tuple(counts[layer] for layer in sorted(counts))


def _watched(module: nn.Module, inputs: Tensor, late: frozenset[int]) -> "_Watch":
    watch = _Watch(inputs, late)
    intercepted(module, inputs, watch)
    return watch


def _with_equal_patterns(
    module: nn.Module, inputs: Tensor, watch: "_Watch", groups: list[list[int]]
) -> dict[int, int]:
    """Sites by others of their layer with the same pattern, the earlier first."""
    pairs = list[tuple[int, int]]()
    for first, *others in groups:
        pairs += [(first, site) for site in others if watch.has_equal(first, site)]
    if not pairs:
        return {}
    # Heads that begin as copies of one another have equal patterns now; not with other
    # weights.
    weights = [weight for weight in module.parameters() if weight.is_floating_point()]
    with drawn(weights, around=True):
        moved = _watched(module, inputs, watch.late)
    return {site: first for first, site in pairs if moved.has_equal(first, site)}


def _parts(module: nn.Module, inputs: Tensor, watch: "_Watch") -> list[Part]:
    """The heads of every site, if sites that cannot read one another are one layer."""
    groups = watch.parallel()
    same = _with_equal_patterns(module, inputs, watch, groups)
    parts: dict[int, Part] = {}
    for layer, group in enumerate(groups):
        n_before = 0
        for site in group:
            if site in same:
                parts[site] = parts[same[site]]
                continue
            heads = watch.shapes[site][0]
            parts[site] = Part(layer, n_before, heads)
            n_before += heads
    return [parts[site] for site in sorted(parts)]


class _Watch(Interception):
    """A pass with random patterns: what meets values, and which sites depend on which.

    Args:
        inputs: of the module.
        late: as of `Interception`.
    """

    def __init__(self, inputs: Tensor, late: frozenset[int]):
        super().__init__(self._draw, len(inputs), inputs.shape[1], late=late)
        self.generator = torch.Generator().manual_seed(0)
        self.patterns: list[Tensor] = []
        """By site, as the module computed it."""
        self.put: list[Tensor] = []
        """By site, what the module got in its place."""
        self.operands = defaultdict[int, dict[int, Tensor]](dict)
        """By softmax, what is made of it and meets values."""
        self.added_up = set[int]()
        """Softmaxes of which some rows are added up."""
        self.needs = defaultdict[int, set[int]](set)
        """By site, the sites that its queries, keys and values depend on."""
        self.origins: dict[int, frozenset[int]] = {}
        """By storage, the sites that what is in it depends on."""

    @property
    def unseen(self) -> tuple[int, ...]:
        """Sites of which it is not seen that what the tap puts is what meets values."""
        operands = self.operands.items()
        lost = [n for n, made in operands if not made or n in self.added_up]
        sites = [self.site_of[n] for n in lost]
        return tuple(site for site in sites if site is not None)

    def _draw(self, _: int, own: Tensor) -> Tensor:
        """Signed numbers that bfloat16 and half precision can hold."""
        size = 0.25 + 0.75 * torch.rand(own.shape, generator=self.generator)
        bits = torch.randint(2, own.shape, generator=self.generator)
        self.patterns.append(own.clone())
        signed = size * (2 * bits - 1)
        return signed.bfloat16().to(own)

    def _through_tap(self, pattern: Tensor) -> Tensor:
        put = super()._through_tap(pattern)
        self.put.append(put.clone())
        return put

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Called by torch in place of each of its functions."""
        given = list(tensors_in(args, kwargs or {}))
        origins = self._origins_of(given)
        n_before = len(self.shapes)
        out = super().__torch_function__(func, types, args, kwargs)
        if func in SUMS and _is_over_last(*args, **(kwargs or {})):
            self.added_up |= self.softmaxes.get(given[0], frozenset())
        new = range(n_before, len(self.shapes))
        for site in new:
            self.needs[site] |= origins
        # An assignment changes its first argument.
        made = args[0] if out is None and args else out
        kept = {_storage(tensor) for tensor in given}
        for tensor in tensors_in((made,), {}):
            storage = _storage(tensor)
            now = origins.union(new)
            if storage in kept:
                now |= self._origins_of([tensor])
            self.origins[storage] = now
        return out

    def _origins_of(self, tensors: Iterable[Tensor]) -> frozenset[int]:
        nothing = frozenset[int]()
        return nothing.union(
            *(self.origins.get(_storage(tensor), nothing) for tensor in tensors)
        )

    def _softmaxed(self, result: Tensor, input: Tensor) -> Tensor:
        self.operands[len(self.site_of)] = {}
        return super()._softmaxed(result, input)

    def _met(self, meeting: Meeting, out: Tensor) -> Tensor:
        pattern = meeting.pattern
        softmaxes = self.softmaxes[meeting.pattern]
        for softmax in softmaxes:
            self.operands[softmax][id(pattern)] = pattern
        read = super()._met(meeting, out)
        site = self.site_of[min(softmaxes)]
        if site is None:
            site, _ = self.caught[pattern]
        self.needs[site] |= self._origins_of([meeting.values])
        return read

    def changed(self) -> frozenset[int]:
        """Softmaxes whose pattern is not what meets values."""
        late = set[int]()
        for softmax, operands in self.operands.items():
            met = list(operands.values())
            if met and not _is_put(met, self._put_for(softmax), self.length):
                late.add(softmax)
        return frozenset(late)

    def _put_for(self, softmax: int) -> Tensor:
        site = self.site_of[softmax]
        assert site is not None
        return self.put[site]

    def parallel(self) -> list[list[int]]:
        """Sites in a row that depend on the same earlier sites."""
        groups: list[list[int]] = []
        for site, shape in enumerate(self.shapes):
            first = groups[-1][0] if groups else site
            is_alike = shape[1:] == self.shapes[first][1:]
            if groups and is_alike and self.needs[site] == self.needs[first]:
                groups[-1].append(site)
            else:
                groups.append([site])
        return groups

    def has_equal(self, site: int, other: int) -> bool:
        """Tell whether two sites have equal patterns."""
        pattern = self.patterns[site]
        with_it = self.patterns[other]
        return pattern.shape == with_it.shape and torch.equal(pattern, with_it)


def _is_put(operands: Sequence[Tensor], put: Tensor, length: int) -> bool:
    """Tell whether operands hold what was put, and nothing else; keys beside the
    positions, before or behind them, may be left out."""
    flat = [operand.flatten() for operand in operands]
    met = torch.cat(flat).float().sort().values
    n_keys = put.shape[-1]
    put = put.to(operands[0].dtype).float()
    for start in range(max(1, n_keys - length + 1)):
        for stop in range(min(n_keys, start + length), n_keys + 1):
            entries = put[..., start:stop].flatten()
            times, rest = divmod(met.numel(), entries.numel())
            if rest:
                continue
            entries = entries.sort().values
            if torch.equal(met, entries.repeat_interleave(times)):
                return True
    return False


def _is_over_last(input: Tensor, dim: Any = None, *_: Any, **__: Any) -> bool:
    """Tell whether a sum, given as it was called, is one over the last dimension."""
    dims = dim if isinstance(dim, list | tuple) else (dim,)
    return -1 in dims or input.ndim - 1 in dims


def _storage(tensor: Tensor) -> int:
    """A number that a tensor shares with its views."""
    if is_functorch_wrapped_tensor(tensor) or tensor.layout != torch.strided:
        return id(tensor)
    return tensor.untyped_storage()._cdata  # of wrappers there is no address of data


@contextmanager
def drawn(weights: Sequence[Tensor], around: bool = False) -> Iterator[None]:
    """Within it, weights are small random values, or have them added."""
    own = [weight.data for weight in weights]
    generator = torch.Generator().manual_seed(0)
    try:
        for weight in weights:
            noise = torch.randn(weight.shape, generator=generator)
            noise = 0.1 * noise.to(weight)
            weight.data = weight.data + noise if around else noise
        yield
    finally:
        for weight, data in zip(weights, own, strict=True):
            weight.data = data


class Assembled:
    """A tap of sites that asks a tap of layers.

    A layer's tap is asked once all of its heads are known. Where they are several
    sites, the first ones have been computed by then, so that the module is called once
    more. What taps put, and what heads read, is kept for that: nobody is asked twice.

    Args:
        tap: called once a layer.
        reads: called once for every product of a pattern and values.
        parts: the heads of every site.

    Attributes:
        is_true: whether all of the pass so far is as the taps put it.
    """

    def __init__(self, tap: Tap, reads: Reads | None, parts: Sequence[Part]):
        self.tap = tap
        self.reads_of_layers = reads
        self.parts = parts
        self.put: dict[Part, Tensor] = {}
        self.seen: dict[Part, Tensor] = {}
        self.products: dict[int, Tensor] = {}
        self.n_products = 0
        self.is_true = True

    @property
    def reads(self) -> Reads | None:
        """Called for every product in every pass."""
        if self.reads_of_layers is None:
            return None
        return self._read

    def begin(self) -> None:
        """Called before every pass."""
        self.seen.clear()
        self.n_products = 0
        self.is_true = True

    def __call__(self, site: int, own: Tensor) -> Tensor:
        """The substitute that the module gets for a site's pattern."""
        if site >= len(self.parts):  # the caller counts them afterwards
            return own
        part = self.parts[site]
        if part not in self.put and self.is_true:
            self.seen[part] = own
            alike = [other for other in self.parts if other.layer == part.layer]
            layer = list(dict.fromkeys(alike))  # sites of equal patterns are one part
            if len(self.seen) == len(layer):
                self._ask(layer)
        return self.put.get(part, own)

    def _ask(self, layer: list[Part]) -> None:
        """Asks the tap for the pattern of a layer that is known whole."""
        own = [self.seen[part] for part in layer]
        self.seen.clear()
        pattern = own[0] if len(own) == 1 else torch.cat(own, 1)
        number = layer[0].layer
        used = self.tap(number, pattern)
        field = f"shape of the pattern that the tap returned for layer {number}"
        allowed = f"{list(pattern.shape)}, that of the pattern it was given"
        require(used.shape == pattern.shape, field, list(used.shape), allowed)
        if len(layer) == 1:
            self.put[layer[0]] = used
            return
        self.is_true = False
        for part in layer:
            self.put[part] = part.of(used)

    def _read(self, read: Read) -> Tensor:
        """The values that heads read, asked for once they are final."""
        number = self.n_products
        self.n_products += 1
        if number in self.products:
            return self.products[number]
        part = self.parts[read.layer]
        if self.reads_of_layers is None or part not in self.put:
            return read.product(read.pattern, read.values)

        def laid(own: Tensor) -> Tensor:
            return read.laid(part.of(own))

        of_layer = read._replace(layer=part.layer, laid=laid)
        self.products[number] = self.reads_of_layers(of_layer)
        return self.products[number]
