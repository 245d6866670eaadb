"""Trial of a tap: does it see all attention of a module, and as [batch, head, query, key]?

Two sequences exchange what stands at some positions. When every position attends to itself alone,
each row of the output must be that of the one sequence or of the other; else positions reach one
another in another way. When some positions attend to all and the others only to each other, those
others must not see an exchange of the first; else queries or keys stand elsewhere in the pattern.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool
from torch import Tensor, nn
from torch.overrides import BaseTorchFunctionMode
from torch.utils.weak import WeakTensorKeyDictionary

from headway.errors import HeadwayError, require
from headway.models.interception import (
    LAST,
    PRODUCTS,
    SOFTMAXES,
    Interception,
    Place,
    Scores,
    name_of,
    tensors_in,
)
from headway.models.passes import intercepted, output_of
from headway.models.tap import Tap

BITS, DRAWN = 5, 3
"""Bits of a position's number that make sets of positions; sets that are drawn if it has more."""


@dataclass(frozen=True)
class Shape:
    """The attention of a module as a tap sees it.

    Attributes:
        n_layers: attention calls in a pass.
        n_heads: heads in each.
        beside: keys that are no position.
        places: where the positions stand in the pattern of every layer.
        mixers: operations that mix positions beside attention.
    """

    n_layers: int
    n_heads: int
    beside: int
    places: tuple[Place, ...]
    mixers: tuple[str, ...] = ()


@torch.no_grad()
def tried(module: nn.Module, inputs: Tensor) -> Shape:
    """The shape of a module, after a trial of the tap.

    Args:
        module: in evaluation mode.
        inputs: example sequences, [batch, position] or [batch, position, feature].

    Raises:
        HeadwayError: if there is no attention, or the tap is not true to the module.
    """
    fits = inputs.ndim in (2, 3) and inputs.numel() > 0
    require(fits, "shape of inputs", list(inputs.shape), "[batch, position] or one dimension more")
    pair = inputs[:2] if len(inputs) > 1 else torch.cat([inputs, inputs.roll(1, 1)])
    name = type(module).__name__
    output, seen, patterns = _recorded(module, pair)
    precision = max(torch.finfo(dtype).eps for dtype in {output.dtype, *seen.dtypes})
    _require_same(module, pair, output, patterns, precision)
    trial = _Trial(module, pair[:1], precision)
    if not seen.shapes:
        mixers = trial.others((), False)
        instead = f"; its positions reach one another by {', '.join(mixers)}" if mixers else ""
        raise HeadwayError(
            f"no attention was seen: {name} calls neither scaled_dot_product_attention nor a "
            f"softmax over keys{instead}"
        )
    n_heads, length = seen.shapes[0][0], pair.shape[1]
    beside = max(seen.shapes[0][2] - length, 0)
    for layer, (heads, _, n_keys) in enumerate(seen.shapes):
        if heads != n_heads:
            raise HeadwayError(
                f"heads differ from layer to layer of {name}: {n_heads} in layer 0, {heads} in "
                f"layer {layer}"
            )
        extra = max(n_keys - length, 0)
        require(extra == beside, f"keys beside the positions in layer {layer}", extra, f"{beside}")
    places, mixers = trial.placed(seen.shapes)
    return Shape(len(seen.shapes), n_heads, beside, places, mixers)


def _recorded(module: nn.Module, inputs: Tensor) -> tuple[Tensor, Interception, list[Tensor]]:
    patterns: list[Tensor] = []

    def record(_: int, pattern: Tensor) -> Tensor:
        patterns.append(pattern)
        return pattern

    seen = Interception(record, inputs.shape[0], inputs.shape[1])
    return intercepted(module, inputs, seen), seen, patterns


def _require_same(
    module: nn.Module, pair: Tensor, output: Tensor, patterns: list[Tensor], precision: float
) -> None:
    """Makes sure that a module computes the same at every call, tapped or not."""
    name, found = type(module).__name__, [output, *patterns]
    fits = len(output) == len(pair) and output.ndim > 1
    require(fits, f"shape of the output of {name}", list(output.shape), "[batch, position, output]")
    if not _repeats(module, pair[:1], [x[:1] for x in found], precision):
        if not _repeats(module, pair, found, precision):
            raise HeadwayError(
                f"{name} keeps state between calls or draws at random: two calls with the same "
                "inputs differ"
            )
        raise HeadwayError(
            f"heads of {name} cannot be told from sequences: the pattern of a sequence changes "
            "with the rest of its batch"
        )
    with BaseTorchFunctionMode():  # any mode keeps `TransformerEncoder` from its fast path
        plain = output_of(module, pair[:1])
    if not _agree([output[:1]], [plain], precision):
        raise HeadwayError(f"the output of {name} changes when its attention is computed openly")


def _repeats(module: nn.Module, inputs: Tensor, expected: list[Tensor], precision: float) -> bool:
    """Tell whether a module gives an output and patterns again."""
    try:
        output, _, patterns = _recorded(module, inputs)
    except HeadwayError:
        return False
    return _agree([output, *patterns], expected, precision)


class _Trial:
    """Two sequences, and the sets of positions that they exchange.

    Args:
        module: that is tried.
        one: a sequence.
        precision: of its numbers.
    """

    def __init__(self, module: nn.Module, one: Tensor, precision: float):
        self.module, self.name = module, type(module).__name__
        self.one, self.other = one, _other(one)
        self.length = one.shape[1]
        self.tolerance = precision ** (2 / 3)
        self.exchanges = _exchanges(self.length).to(one.device)
        self.alone = torch.eye(self.length, dtype=torch.bool, device=one.device)
        self.is_blind = True
        """True until an output was seen that depends on the inputs."""
        # Weights that are zero before training would hide what they are going to let through.
        generator = torch.Generator().manual_seed(0)
        self.weights = {
            name: (0.1 * torch.randn(weight.shape, generator=generator)).to(weight)
            for name, weight in module.named_parameters()
            if weight.is_floating_point() and _is_zero(weight)
        }

    def placed(
        self, shapes: list[tuple[int, int, int]]
    ) -> tuple[tuple[Place, ...], tuple[str, ...]]:
        """The places of positions in the patterns, and the operations that mix them otherwise."""
        every = list(_arrangements(shapes, self.length))
        is_partial = any(min(shape[1:]) < self.length for shape in shapes)
        true: list[tuple[Place, ...]] = []
        for places in every:
            if self._is_true(places, is_partial):
                true.append(places)
                if not is_partial:
                    break
        if len(true) == 1:
            return true[0], ()
        if self.is_blind:
            raise HeadwayError(
                f"nothing that {self.name} gives depends on the example inputs: give others"
            )
        found: dict[tuple[Place, ...], tuple[str, ...]] = {}
        refused = HeadwayError(
            f"the patterns of {self.name}, {_listed(shapes)}, are not [head, query, key] of its"
            f" {self.length} positions"
        )
        for places in every:
            try:
                found[places] = self.others(places, is_partial)
            except HeadwayError as error:
                refused = error
        if not any(found.values()):
            raise refused
        fewest = min((places for places in found if found[places]), key=lambda p: len(found[p]))
        return fewest, found[fewest]

    def _is_true(self, places: tuple[Place, ...], is_partial: bool) -> bool:
        """Tell whether outputs depend on what the patterns let them see, and on nothing else.

        Args:
            places: of the positions in the patterns.
            is_partial: whether a layer has fewer queries or keys than positions.
        """
        first, none = self.exchanges[0], torch.zeros_like(self.exchanges[:1])
        blind = ~(~first[:, None] & first)  # the others do not see the first
        exchanged = torch.cat([none, ~none, self.exchanges, none, first[None]])
        allowed = torch.stack([self.alone] * (len(exchanged) - 2) + [blind] * 2)
        seen = Interception(_fixed(allowed[:, None]), len(exchanged), self.length, places)
        output = _rows(intercepted(self.module, self.inputs(exchanged), seen, self.weights))
        one, other, alone, before, after = output.split([1, 1, len(self.exchanges), 1, 1])
        differs = ~self.same(one, other)
        self.is_blind &= not differs.any()
        sees = differs & ~self.same(alone[:1], other) & ~self.same(before, after)
        return (
            bool(differs.any())
            and self._is_alone(one, other, alone, is_partial)
            and not bool(sees.any())
        )

    def _is_alone(self, one: Tensor, other: Tensor, alone: Tensor, is_partial: bool) -> bool:
        """Tell whether every row of an output depends on one position: its own, if there are as
        many rows, and fewer queries or keys."""
        if self.mixed(alone, one, other).any():
            return False
        differs, has_all = ~self.same(one, other), alone.shape[1] == self.length
        exchanged = self.same(alone, other) & differs
        if has_all and is_partial:
            return torch.equal(exchanged, self.exchanges[..., None] & differs)
        both = exchanged.any(-1) & (differs & ~exchanged).any(-1)
        return not ((has_all or is_partial) and bool(both.any()))

    def inputs(self, exchanged: Bool[Tensor, "case position"]) -> Tensor:
        """The one sequence with some positions from the other."""
        wide = exchanged.reshape(*exchanged.shape, *[1] * (self.one.ndim - 2))
        return torch.where(wide, self.other, self.one)

    def same(self, found: Tensor, expected: Tensor) -> Tensor:
        """Tell which numbers are equal, compared with the largest of their column."""
        sizes = expected.abs().nan_to_num(0.0, 0.0, 0.0)
        close = self.tolerance * (sizes.flatten(0, -2).amax(0) if sizes.ndim > 1 else sizes)
        apart = (found - expected).abs().nan_to_num(torch.inf, torch.inf) > close
        return ~apart | (found == expected) | (found.isnan() & expected.isnan())

    def mixed(self, found: Tensor, one: Tensor, other: Tensor) -> Tensor:
        """Tell which numbers belong to neither of two sequences."""
        return ~(self.same(found, one) | self.same(found, other))

    def others(self, places: tuple[Place, ...], is_partial: bool) -> tuple[str, ...]:
        """Operations that mix positions although no head reads anything.

        Each is switched off in turn, so that none hides behind another.

        Raises:
            HeadwayError: if one may be attention that the tap does not see, or the outputs without
                these operations are not those of their positions.
        """
        cut: list[str] = []
        while True:
            calls = self._passes(torch.zeros_like(self.alone), places, cut)[0].calls
            found = next((call for call in calls if call.mixes), None)
            if found is None:
                break
            if found.is_joint:
                raise HeadwayError(
                    f"in {self.name} one position reaches another by {found.name}, which is no "
                    "attention that the tap sees"
                )
            cut.append(found.name)
        passes = self._passes(self.alone, places, cut)
        one, other, *alone = [_rows(trace.calls[-1].out[0]) for trace in passes]
        if cut and not self._is_alone(one, other, torch.cat(alone), is_partial):
            raise HeadwayError(f"positions of {self.name} stand elsewhere in its patterns")
        return tuple(cut)

    def _passes(self, allowed: Tensor, places: tuple[Place, ...], cut: list[str]) -> list["_Trace"]:
        """The passes of the one sequence, of the other, and of all exchanges."""
        none = torch.zeros_like(self.exchanges[:1])
        traces: list[_Trace] = []
        for exchanged in torch.cat([none, ~none, self.exchanges]):
            inputs = self.inputs(exchanged[None])
            trace = _Trace(self, exchanged, _fixed(allowed), places, cut, *traces[:2])
            trace.varying[inputs] = True
            output = intercepted(self.module, inputs, trace, self.weights)
            trace.note([output], "an operation that torch does not show", True)
            traces.append(trace)
        return traces


@dataclass(eq=False)
class _Call:
    """An operation of a pass, and the tensors that came out.

    Attributes:
        name: of what was called, and the shape of what came out.
        out: copies of the tensors.
        scores: if these are some.
        is_mixed: whether a number of them belongs to neither of two sequences.
        is_joint: whether they come from several positions, and not by fixed weights.
    """

    name: str
    out: list[Tensor]
    scores: Scores | None
    is_mixed: bool = False
    is_joint: bool = False

    @property
    def mixes(self) -> bool:
        """True if positions meet in it that do not meet in a pattern that the tap sees."""
        return self.is_mixed and (self.scores is None or self.scores.layer is None)


class _Trace(Interception):
    """A pass of which every operation is noted, and compared with those of others.

    Args:
        trial: that it belongs to.
        exchanged: positions of the other sequence.
        tap: what stands in place of attention.
        places: of the positions.
        cut: names of operations that give at every position what they gave for its sequence.
        one: the pass of the one sequence.
        other: the pass of the other.
    """

    def __init__(
        self,
        trial: _Trial,
        exchanged: Tensor,
        tap: Tap,
        places: tuple[Place, ...],
        cut: list[str],
        one: "_Trace | None" = None,
        other: "_Trace | None" = None,
    ):
        super().__init__(tap, 1, trial.length, places)
        self.trial, self.exchanged, self.cut = trial, exchanged, cut
        self.one, self.other = one, other
        self.calls: list[_Call] = []
        self.varying = WeakTensorKeyDictionary()

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Called by torch in place of each of its functions."""
        given = list(tensors_in(args, kwargs or {}))
        varying = [t for t in given if t in self.varying]
        attends = func is F.scaled_dot_product_attention or any(
            self.layer_of(tensor) is not None for tensor in given
        )
        out = super().__torch_function__(func, types, args, kwargs)
        made = args[0] if out is None and args else out  # an assignment changes its first argument
        tensors = [t for t in tensors_in((made,), {}) if t.is_floating_point() or t.is_complex()]
        if not tensors:
            return out
        alike = any(t.shape == tensors[0].shape for t in varying)
        product = func in PRODUCTS or not alike
        joint = func in SOFTMAXES or attends or (len(varying) > 1 and product)
        name = f"{name_of(func)} to {list(tensors[0].shape)}"
        number = len(self.calls)
        if name in self.cut and self.one is not None and number < len(self.one.calls):
            ones = self.one.calls[number].out
            others = self.other.calls[number].out if self.other else tensors
            for tensor, one, other in zip(tensors, ones, others, strict=True):
                tensor.copy_(self._by_position(varying, one, other))
        return self.note(tensors, name, joint, out)

    def note(self, tensors: list[Tensor], name: str, joint: bool, out: Any = None) -> Any:
        """Notes what an operation gives, and compares it; returns what goes on."""
        number = len(self.calls)
        scores = next((self.scores[t] for t in tensors if t in self.scores), None)
        call = _Call(name, [t.clone() for t in tensors], scores)
        self.calls.append(call)
        if self.one is None:
            return out
        one = self._same_call(self.one, number, call)
        other = self._same_call(self.other, number, call) if self.other else call
        for tensor, *known in zip(tensors, one.out, other.out, strict=True):
            if not self.trial.same(tensor, known[0]).all():
                self.varying[tensor] = True
            one.is_mixed |= bool(self.trial.mixed(tensor, *known).any())
        one.is_joint |= joint
        return out

    def _by_position(self, given: list[Tensor], one: Tensor, other: Tensor) -> Tensor:
        """At every position, what its sequence has there; what the one sequence has, if it is not
        clear which dimension the positions are."""
        length = len(self.exchanged)
        places = [n for n, size in enumerate(one.shape) if size == length]
        if any(list(tensor.shape).count(length) != 1 for tensor in [*given, one]):
            return one
        shape = [1] * one.ndim
        shape[places[0]] = -1
        return torch.where(self.exchanged.reshape(shape), other, one)

    def _same_call(self, trace: "_Trace", number: int, call: _Call) -> _Call:
        """The call of another pass that this one repeats."""
        known = trace.calls[number] if number < len(trace.calls) else None
        if known is None or known.name != call.name:
            raise HeadwayError(
                f"one position reaches another in {self.trial.name}, whose operations depend on "
                f"what stands there ({call.name})"
            )
        return known


def _fixed(allowed: Bool[Tensor, "*case position position"]) -> Tap:
    """A tap that lets every query attend evenly to the keys that are allowed, and to all keys that
    are no position."""
    even = allowed / allowed.sum(-1, keepdim=True).clamp(min=1)

    def tap(_: int, own: Tensor) -> Tensor:
        count = own.shape[-1] - even.shape[-1]
        beside = even.amax(-1, keepdim=True).expand(*even.shape[:-1], count)
        return torch.cat([even, beside], -1).to(own.dtype).expand_as(own)

    return tap


def _other(inputs: Tensor) -> Tensor:
    """Inputs with something else at every position: values that occur, if they are tokens."""
    if inputs.dtype == torch.bool:
        return ~inputs
    if inputs.is_floating_point():
        generator = torch.Generator(inputs.device).manual_seed(0)
        noise = torch.empty_like(inputs).normal_(generator=generator)
        size = inputs.std(correction=0)
        return inputs.roll(1, -1) + noise * torch.where(size > 0, size, 1.0)
    values, ranks = inputs.unique(return_inverse=True)
    if len(values) == 1:
        return torch.where(inputs > 0, inputs - 1, inputs + 1)
    return values[(ranks + 1) % len(values)]


def _exchanges(length: int) -> Bool[Tensor, "set position"]:
    """Sets of positions. Any two positions are told apart by one set at least, if there are no more
    than 32; else most are.

    The first set is the Rudin-Shapiro sequence, which differs from itself moved on, turned around
    or with the bits of positions in another order. It does not hold the last position, which is
    often the only one that is read out.
    """
    places = torch.arange(length)
    bits = torch.stack([places >> n & 1 for n in range(max(1, (length - 1).bit_length()))])
    first = (bits[:-1] * bits[1:]).sum(0, keepdim=True) % 2
    first[:, -1] = 0
    if not first.any():
        first[:, length // 2 - 1] = 1
    if len(bits) > BITS:
        generator = torch.Generator().manual_seed(0)
        drawn = torch.randint(2, (DRAWN, length), generator=generator)
        bits = torch.cat([bits[:1], drawn])
    return torch.cat([first, bits]).bool()


def _arrangements(shapes: list[tuple[int, int, int]], length: int) -> Iterator[tuple[Place, ...]]:
    """Possible places of positions in all layers; alike in layers of one shape."""
    kinds = sorted({shape[1:] for shape in shapes})
    options = [
        [
            Place(query, key)
            for query, key in itertools.product(_starts(queries, length), _starts(keys, length))
            if query == key or queries != keys
        ]
        for queries, keys in kinds
    ]
    for chosen in itertools.islice(itertools.product(*options), 64):
        of = dict(zip(kinds, chosen, strict=True))
        yield tuple(of[shape[1:]] for shape in shapes)


def _starts(count: int, length: int) -> list[int]:
    """Possible starts of positions among so many queries or keys, the likeliest first."""
    if count < length:
        return [LAST, 0]
    between = range(1, count - length) if count - length <= 4 else ()
    return [0] if count == length else [0, LAST, *between]


def _listed(shapes: list[tuple[int, int, int]]) -> str:
    return " and ".join(str(list(shape)) for shape in dict.fromkeys(shapes))


def _is_zero(weight: Tensor) -> bool:
    """Tell whether all of a weight is so small that what it multiplies is lost in rounding."""
    small = 1e-3
    return bool(weight.reshape(-1)[:64].abs().max() < small and weight.abs().max() < small)


def _rows(output: Tensor) -> Tensor:
    """An output as [batch, row, number]."""
    return output[:, None] if output.ndim == 2 else output.flatten(2)


def _agree(found: list[Tensor], expected: list[Tensor], precision: float) -> bool:
    """Tell whether results are the same to half of the digits that a precision has."""
    return len(found) == len(expected) and all(
        one.shape == other.shape
        and torch.allclose(one, other, rtol=0.0, atol=_size(other) * precision**0.5, equal_nan=True)
        for one, other in zip(found, expected, strict=True)
    )


def _size(x: Tensor) -> float:
    """The largest of all finite numbers."""
    return x.abs().nan_to_num(0.0, 0.0, 0.0).max().item() if x.numel() else 0.0
