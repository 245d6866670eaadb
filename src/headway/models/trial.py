"""Trial of a tap: does it see all attention, as [batch, head, query, key]?

Two sequences exchange what stands at some positions. When every position attends to
itself alone, each row of the output must be that of the one sequence or of the other;
else positions reach one another in another way. When some positions attend to all and
the others only to each other, those others must not see an exchange of the first; else
queries or keys stand elsewhere in the pattern.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

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
from headway.models.recomputing import kept
from headway.models.sites import Part, Sites, drawn, sites_of
from headway.models.tapped import Tap, intercepted, output_of

BITS, DRAWN = 5, 3
"""Bits of position numbers that make sets of positions; more are drawn."""
SMALL = 1e-3
"""The size below which what a weight multiplies is lost in rounding."""
TAKES = {torch.Tensor.__getitem__, torch.index_select, torch.Tensor.index_select}
"""Operations that may take rows in another order."""


@dataclass(frozen=True)
class Shape:
    """The attention of a module as a tap sees it.

    Attributes:
        sites: where the tap takes hold.
        beside: keys that are no position.
        places: where the positions stand in the pattern of every site.
        mixers: operations that mix positions beside attention.
    """

    sites: Sites
    beside: int
    places: tuple[Place, ...]
    mixers: tuple[str, ...] = ()

    @property
    def n_layers(self) -> int:
        return len({part.layer for part in self.sites.parts})

    @property
    def n_heads(self) -> int:
        """Heads in every layer."""
        parts = set(self.sites.parts)
        return sum(part.n_heads for part in parts if part.layer == 0)


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
    require(
        fits,
        "shape of inputs",
        list(inputs.shape),
        "[batch, position] or one dimension more",
    )
    sequences = inputs if len(inputs) > 1 else torch.cat([inputs, inputs.roll(1, 1)])
    pair = sequences[:2]
    sites = sites_of(module, pair)
    output, seen, patterns = _recorded(module, pair, sites.late)
    precision = _coarsest({output.dtype, *seen.dtypes})
    try:
        return _shape_seen(module, pair, output, seen, sites, precision)
    except HeadwayError as error:
        before = [output, *patterns]
        repeats = partial(
            _repeats, module, late=sites.late, before=before, precision=precision
        )
        if repeats(pair[:1]):
            raise
        why = _why_not_the_same(module, pair, repeats(pair))
        raise HeadwayError(f"{why}{_in_training(module)}") from error.__cause__


def _coarsest(dtypes: set[torch.dtype]) -> float:
    """The relative precision of the coarsest of some types of numbers."""
    return max(torch.finfo(dtype).eps for dtype in dtypes)


def _repeats(
    module: nn.Module,
    inputs: Tensor,
    late: frozenset[int],
    before: list[Tensor],
    precision: float,
) -> bool:
    """Tell whether a module gives and attends as it did for more sequences."""
    count = len(inputs)
    try:
        output, _, patterns = _recorded(module, inputs, late)
    except HeadwayError:
        return False
    again = [tensor[:count] for tensor in (output, *patterns)]
    expected = [tensor[:count] for tensor in before]
    return _agree(again, expected, precision)


def _why_not_the_same(module: nn.Module, pair: Tensor, repeats: bool) -> str:
    """The reason why a module does not give for a sequence what it gives for two."""
    name = type(module).__name__
    if not repeats:
        state = f"{name} keeps state between calls or draws at random"
        return f"{state}: two calls with the same inputs differ"
    try:
        output_of(module, pair[:1])
    except HeadwayError as error:
        return f"{name} cannot be called with another number of sequences: {error}"
    return (
        f"heads of {name} cannot be told from sequences:"
        " the pattern of a sequence changes with the rest of its batch,"
        " or the first dimension of patterns is not the batch"
    )


def _in_training(module: nn.Module) -> str:
    if module.training:
        return "; it is in training mode: call .eval() on it first"
    return ""


def _recorded(
    module: nn.Module, inputs: Tensor, late: frozenset[int]
) -> tuple[Tensor, Interception, list[Tensor]]:
    patterns: list[Tensor] = []

    def record(_: int, pattern: Tensor) -> Tensor:
        patterns.append(pattern)
        return pattern

    seen = Interception(record, len(inputs), inputs.shape[1], late=late)
    output = intercepted(module, inputs, seen)
    return output, seen, patterns


def _shape_seen(
    module: nn.Module,
    pair: Tensor,
    output: Tensor,
    seen: Interception,
    sites: Sites,
    precision: float,
) -> Shape:
    """The shape of a module that ran while its sites' attention was seen."""
    name = type(module).__name__
    fits = len(output) == len(pair) and output.ndim > 1
    require(
        fits,
        f"shape of the output of {name}",
        list(output.shape),
        "[batch, position, output]",
    )
    with (
        BaseTorchFunctionMode(),
        kept(),
    ):  # a mode keeps `TransformerEncoder` from its fast path
        plain = output_of(module, pair[:1])
    if not _agree([output[:1]], [plain], precision):
        what = f"the output of {name} changes when its attention is computed openly"
        raise HeadwayError(f"{what}{_in_training(module)}")
    trial = _Trial(module, pair[:1], precision, seen.shapes, sites.late)
    if not seen.shapes:
        with drawn(trial.zero):
            mixers = trial.others(())
        what = (
            "no attention was seen:"
            f" {name} calls neither scaled_dot_product_attention"
            " nor a softmax over keys"
        )
        if mixers:
            what += f"; its positions reach one another by {', '.join(mixers)}"
        raise HeadwayError(what)
    field = f"heads and keys beside the positions by layer of {name}"
    sizes = _by_layer(sites.parts, seen.sizes)
    require(len({*sizes}) == 1, field, sizes, "the same in every layer")
    with drawn(trial.zero):
        places, mixers = trial.placed()
    return Shape(sites, sizes[0][1], places, mixers)


def _by_layer(
    parts: Sequence[Part], sizes: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Heads, and keys beside the positions, of every layer."""
    heads = Counter[int]()
    beside = dict[int, int]()
    for part, (_, n_keys) in dict(zip(parts, sizes, strict=True)).items():
        heads[part.layer] += part.n_heads
        beside.setdefault(part.layer, n_keys)
    return [(heads[layer], beside[layer]) for layer in sorted(beside)]


class _Trial:
    """Two sequences, and cases that mix positions of both.

    Args:
        module: that is tried.
        sequence: the one.
        precision: of its numbers.
        shapes: heads, queries and keys of every site.
        late: softmaxes of which the tap gets what meets values.
    """

    def __init__(
        self,
        module: nn.Module,
        sequence: Tensor,
        precision: float,
        shapes: list[tuple[int, int, int]],
        late: frozenset[int],
    ):
        self.module = module
        self.name = type(module).__name__
        self.length = sequence.shape[1]
        self.shapes = shapes
        self.late = late
        self.same = partial(_same, tolerance=precision ** (2 / 3))
        self.is_partial = any(min(shape[1:]) < self.length for shape in shapes)
        self.is_blind = True
        """True until an output was seen that depends on the inputs."""
        weights = module.parameters()
        self.weights = [w for w in weights if w.is_floating_point() and w.numel()]
        # Weights that are zero before training would hide what they are going to let
        # through.
        self.zero = [weight for weight in self.weights if weight.abs().max() < SMALL]
        self._lay_out(sequence)

    def _lay_out(self, sequence: Tensor) -> None:
        """Makes the inputs of all cases, and patterns that keep positions apart."""
        sets = _exchanges(self.length).to(sequence.device)
        first = sets[0]
        sizes = {*sequence.shape, *itertools.chain(*self.shapes)}
        for weight in (*self.module.parameters(), *self.module.buffers()):
            sizes.update(weight.shape)
        self.cases = _count(len(sets) + 4, sizes)
        self.sets = slice(2, 2 + len(sets))
        self.exchanged = sets.new_zeros(self.cases, self.length)
        """The positions of the other sequence in every case: none, all, those of the
        sets, and the first set in the last case."""
        self.exchanged[1] = True
        self.exchanged[self.sets] = sets
        self.exchanged[-1] = first
        further = [1] * (sequence.ndim - 2)
        is_other = self.exchanged.reshape(*self.exchanged.shape, *further)
        self.inputs = torch.where(is_other, _other(sequence), sequence)
        itself = torch.eye(self.length).bool().to(sequence.device)
        self.alone = itself.repeat(self.cases, 1, 1)
        """Keys of every position: itself. In the last two cases, those of the first set
        attend to all, and the others to all but these."""
        self.alone[-2:] = ~(~first[:, None] & first)

    def placed(self) -> tuple[tuple[Place, ...], tuple[str, ...]]:
        """The places of positions in the patterns, and operations that mix them."""
        every = list(_arrangements(self.shapes, self.length))
        true = self._true_of(every)
        if len(true) > 1:  # values that are zero would stand anywhere
            with drawn(self.weights, around=True):
                true = self._true_of(true)
        if len(true) == 1:
            return true[0], ()
        if self.is_blind:
            what = f"nothing that {self.name} gives depends on the example inputs"
            raise HeadwayError(f"{what}: give others")
        shapes = " and ".join(str(list(shape)) for shape in dict.fromkeys(self.shapes))
        refused = HeadwayError(
            f"the patterns of {self.name}, {shapes}, are not [head, query, key] of"
            f" its {self.length} positions"
        )
        mixers: dict[tuple[Place, ...], tuple[str, ...]] = {}
        for places in every:
            try:
                mixers[places] = self.others(places)
            except HeadwayError as error:
                refused = error
        mixed = [places for places in mixers if mixers[places]]
        if not mixed:
            raise refused
        fewest = min(mixed, key=lambda places: len(mixers[places]))
        return fewest, mixers[fewest]

    def _true_of(self, every: list[tuple[Place, ...]]) -> list[tuple[Place, ...]]:
        """The places that outputs agree with; one, if no layer lacks positions."""
        true = filter(self._is_true, every)
        return list(true if self.is_partial else itertools.islice(true, 1))

    def others(self, places: tuple[Place, ...]) -> tuple[str, ...]:
        """Operations that mix positions although no head reads anything.

        Each is switched off in turn, so that none hides behind another.

        Raises:
            HeadwayError: if one may be attention that the tap does not see, or the
                outputs without these operations are not those of their positions.
        """
        cut: list[str] = []
        while True:
            trace = _Trace(self, torch.zeros_like(self.alone), places, cut)
            output = intercepted(self.module, self.inputs, trace)
            trace.note([], [output], "an operation that torch does not show", True)
            unseen = [mixing for mixing in trace.mixing if mixing.is_unseen]
            if not unseen:
                break
            first = unseen[0]
            if first.is_joint:
                what = f"in {self.name} one position reaches another by {first.name}"
                raise HeadwayError(f"{what}, which is no attention that the tap sees")
            cut.append(first.name)
        if cut:
            rows = self._rows(_Trace(self, self.alone, places, cut))
            if not self._is_alone(rows):
                raise HeadwayError(
                    f"positions of {self.name} stand elsewhere in its patterns"
                )
        return tuple(cut)

    def _rows(self, seen: Interception) -> Tensor:
        """The output of all cases as [case, row, number]."""
        output = intercepted(self.module, self.inputs, seen)
        if output.ndim == 2:
            return output[:, None]
        return output.flatten(2)

    def _is_true(self, places: tuple[Place, ...]) -> bool:
        """Tell whether outputs depend on what the patterns show, and nothing else."""
        tap = _fixed(self.alone)
        seen = Interception(tap, self.cases, self.length, places, late=self.late)
        rows = self._rows(seen)
        original, other, first = rows[:3]
        before, after = rows[-2:]
        differs = ~self.same(original, other)
        self.is_blind &= not differs.any()
        sees = differs & ~self.same(first, other) & ~self.same(before, after)
        if sees.any():
            return False
        return bool(differs.any()) and self._is_alone(rows)

    def _is_alone(self, rows: Tensor) -> bool:
        """Tell whether every row of an output depends on one position: its own, if
        there are as many rows, and fewer queries or keys."""
        original = rows[:1]
        other = rows[1:2]
        alone = rows[self.sets]
        if self.mixed(alone, original, other).any():
            return False
        differs = ~self.same(original, other)
        has_all = rows.shape[1] == self.length
        exchanged = self.same(alone, other) & differs
        if has_all and self.is_partial:
            expected = self.exchanged[self.sets, :, None] & differs
            return torch.equal(exchanged, expected)
        if not (has_all or self.is_partial):
            return True
        kept = differs & ~exchanged
        both = exchanged.any(-1) & kept.any(-1)
        return not bool(both.any())

    def mixed(self, rows: Tensor, original: Tensor, other: Tensor) -> Tensor:
        """Tell which numbers belong to neither of two sequences."""
        return ~(self.same(rows, original) | self.same(rows, other))


class _Mixing(NamedTuple):
    """An operation with a result that belongs to neither of two sequences.

    Attributes:
        name: of what was called, and the shape of what came out for one case.
        scores: of which it is made, if it is made of scores.
        is_joint: whether they come from several positions, and not by fixed weights.
    """

    name: str
    scores: frozenset[Scores]
    is_joint: bool

    @property
    def is_unseen(self) -> bool:
        """True if what meets in it does not meet in a pattern that the tap sees."""
        return not self.scores or not all(scores.is_taken for scores in self.scores)


class _Trace(Interception):
    """A pass of all cases, in which every operation is looked at.

    Args:
        trial: that it belongs to.
        allowed: what positions attend to.
        places: of the positions.
        cut: names of operations that give at every position what they give for its
            sequence.
    """

    def __init__(
        self,
        trial: _Trial,
        allowed: Tensor,
        places: tuple[Place, ...],
        cut: Sequence[str],
    ):
        super().__init__(
            _fixed(allowed), trial.cases, trial.length, places, late=trial.late
        )
        self.trial = trial
        self.cut = cut
        self.mixing: list[_Mixing] = []
        self.varying = WeakTensorKeyDictionary()
        """Tensors that differ from case to case: None, or, where cases cannot be told
        apart, as among the tokens of an expert, whether something joint made them."""
        self.varying[trial.inputs] = None

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Called by torch in place of each of its functions."""
        given = list(tensors_in(args, kwargs or {}))
        is_attention = func in SOFTMAXES or func is F.scaled_dot_product_attention
        attends = is_attention or any(tensor in self.softmaxes for tensor in given)
        out = super().__torch_function__(func, types, args, kwargs)
        # An assignment changes its first argument.
        made = args[0] if out is None and args else out
        tensors = list(tensors_in((made,), {}))
        if tensors and "empty" not in name_of(func):
            self._note_call(func, given, tensors, attends)
        return out

    def _note_call(
        self,
        func: Callable[..., Any],
        given: list[Tensor],
        tensors: list[Tensor],
        attends: bool,
    ) -> None:
        """Notes a function of torch's that made tensors of others."""
        first = tensors[0]
        varying = [tensor for tensor in given if tensor in self.varying]
        are_several = len(varying) > 1
        alike = any(tensor.shape == first.shape for tensor in varying)
        joins = are_several and (func in PRODUCTS or not alike)
        shape = self._shape_of_one(first, first.shape)
        name = f"{name_of(func)} to {list(shape)}"
        taken = func in TAKES and are_several
        self.note(given, tensors, name, attends or joins, taken)

    def note(
        self,
        given: list[Tensor],
        tensors: list[Tensor],
        name: str,
        is_joint: bool,
        is_taken: bool = False,
    ) -> None:
        """Notes an operation, and whether positions are mixed in what it made.

        Args:
            given: what it was given.
            tensors: what it made.
            name: of it.
            is_joint: whether they come from several positions, and not by fixed
                weights.
            is_taken: whether they may be rows of what it was given, in another order.
        """
        varying = [tensor for tensor in given if tensor in self.varying]
        is_joint |= any(self.varying[tensor] for tensor in varying)
        nothing = frozenset[Scores]()
        scores = nothing.union(
            *(self.scores.get(tensor, nothing) for tensor in tensors)
        )
        # Those whose cases cannot be told apart, and the shapes of all others.
        loose = [tensor for tensor in varying if self.varying[tensor] is not None]
        apart = [
            tensor.shape
            for tensor in given
            if tensor.is_floating_point() and self.varying.get(tensor) is None
        ]
        for tensor in tensors:
            readings = list(self._readings(tensor))
            if not readings or is_taken or (loose and tensor.shape not in apart):
                if varying:
                    self.varying[tensor] = is_joint
                continue
            is_number = tensor.is_floating_point() or tensor.is_complex()
            if not is_number:
                readings = [rows.double() for rows in readings]
            elif name in self.cut:
                readings[0].copy_(self._by_position(varying, readings[0]))
            rows = readings[0]
            if not self.trial.same(rows, rows[:1]).all():
                self.varying[tensor] = None
            if is_number and all(map(self._is_mixed, readings)):
                self.mixing.append(_Mixing(name, scores, is_joint))

    def _is_mixed(self, rows: Tensor) -> bool:
        """Tell whether a number of some case belongs to neither sequence."""
        mixed = self.trial.mixed(rows, rows[:1], rows[1:2])
        return bool(mixed.any())

    def _shape_of_one(self, tensor: Tensor, otherwise: torch.Size) -> torch.Size:
        """The shape of what a tensor holds of one case, if it has a dimension for
        them.
        """
        for rows in self._readings(tensor):
            return rows.shape[1:]
        return otherwise

    def _before(self, pattern: Tensor) -> Tensor:
        """Even rows; what becomes of them before values must not mix positions."""
        return torch.full_like(pattern, 1 / pattern.shape[-1])

    def _readings(self, tensor: Tensor) -> Iterator[Tensor]:
        """Views of a tensor as [case, …], by every dimension that cases may be in."""
        count = self.trial.cases
        for dim, size in enumerate(tensor.shape):
            if size and not size % count:
                yield tensor.unflatten(dim, (count, -1)).movedim(dim, 0)
                if size > count:
                    yield tensor.unflatten(dim, (-1, count)).movedim(dim + 1, 0)

    def _by_position(self, given: list[Tensor], rows: Tensor) -> Tensor:
        """At every position, what its sequence has there; what the one sequence has, if
        it is not clear which dimension the positions are."""
        own = rows.shape[1:]
        shapes = [self._shape_of_one(tensor, tensor.shape) for tensor in given]
        if any(list(shape).count(self.length) != 1 for shape in [*shapes, own]):
            return rows[:1].clone()
        sizes = [size if size == self.length else 1 for size in own]
        is_other = self.trial.exchanged.reshape(-1, *sizes)
        return torch.where(is_other, rows[1:2], rows[:1])


def _fixed(allowed: Bool[Tensor, "case position position"]) -> Tap:
    """A tap that lets every query attend evenly to the keys that are allowed, and to
    all keys that are no position."""
    counts = allowed.sum(-1, keepdim=True)
    even = (allowed / counts.clamp(min=1))[:, None]

    def tap(_: int, own: Tensor) -> Tensor:
        count = own.shape[-1] - even.shape[-1]
        beside = even.amax(-1, keepdim=True).expand(*even.shape[:-1], count)
        whole = torch.cat([even, beside], -1)
        return whole.to(own.dtype).expand_as(own)

    return tap


def _other(inputs: Tensor) -> Tensor:
    """Inputs with another value at every position: one that occurs, if tokens."""
    if inputs.dtype == torch.bool:
        return ~inputs
    if inputs.is_floating_point():
        generator = torch.Generator(inputs.device).manual_seed(0)
        noise = torch.empty_like(inputs).normal_(generator=generator)
        size = inputs.std(correction=0)
        scale = torch.where(size > 0, size, 1.0)
        return inputs.roll(1, -1) + noise * scale
    values, ranks = inputs.unique(return_inverse=True)
    if len(values) == 1:
        return torch.where(inputs > 0, inputs - 1, inputs + 1)
    return values[(ranks + 1) % len(values)]


def _exchanges(length: int) -> Bool[Tensor, "set position"]:
    """Sets of positions. Any two positions are told apart by one set at least, if there
    are no more than 32; else most are.

    The first set is the Rudin-Shapiro sequence, which differs from itself moved on,
    turned around or with the bits of positions in another order. It does not hold the
    last position, which is often the only one that is read out.
    """
    places = torch.arange(length)
    n_bits = max(1, (length - 1).bit_length())
    bits = torch.stack([places >> n & 1 for n in range(n_bits)])
    neighbours = bits[:-1] * bits[1:]
    first = neighbours.sum(0, keepdim=True) % 2
    first[:, -1] = 0
    if not first.any():
        first[:, length // 2 - 1] = 1
    if len(bits) > BITS:
        generator = torch.Generator().manual_seed(0)
        drawn = torch.randint(2, (DRAWN, length), generator=generator)
        bits = torch.cat([bits[:1], drawn])
    return torch.cat([first, bits]).bool()


def _arrangements(
    shapes: list[tuple[int, int, int]], length: int
) -> Iterator[tuple[Place, ...]]:
    """Possible places of positions in all layers; alike in layers of one shape."""
    kinds = sorted({shape[1:] for shape in shapes})
    options = [_places(n_queries, n_keys, length) for n_queries, n_keys in kinds]
    for chosen in itertools.islice(itertools.product(*options), 64):
        place_of = dict(zip(kinds, chosen, strict=True))
        yield tuple(place_of[shape[1:]] for shape in shapes)


def _places(n_queries: int, n_keys: int, length: int) -> list[Place]:
    """Possible places of positions in a pattern, the likeliest first."""
    starts = itertools.product(_starts(n_queries, length), _starts(n_keys, length))
    places = itertools.starmap(Place, starts)
    if n_queries != n_keys:
        return list(places)
    return [place for place in places if place.query == place.key]


def _count(least: int, sizes: set[int]) -> int:
    """A number of cases without a factor in common with other dimensions."""
    occurring = [size for size in sizes if size]

    def is_apart(number: int) -> bool:
        return all(math.gcd(number, size) == 1 for size in occurring)

    return next(filter(is_apart, itertools.count(least)))


def _starts(count: int, length: int) -> list[int]:
    """Possible starts of positions among queries or keys, the likeliest first."""
    if count < length:
        return [LAST, 0]
    between = range(1, count - length) if count - length <= 4 else ()
    if count == length:
        return [0]
    return [0, LAST, *between]


def _agree(results: list[Tensor], expected: list[Tensor], precision: float) -> bool:
    """Tell whether results are the same to half of the digits that a precision has."""
    if len(results) != len(expected):
        return False
    for result, other in zip(results, expected, strict=True):
        if result.shape != other.shape:
            return False
        numbers = result.reshape(-1, 1)
        same = _same(numbers, other.reshape(-1, 1), precision**0.5)
        if not same.all():
            return False
    return True


def _same(result: Tensor, expected: Tensor, tolerance: float) -> Tensor:
    """Tell which numbers are equal, compared with the largest of their column."""
    sizes = expected.abs().nan_to_num(0.0, 0.0, 0.0)
    if sizes.ndim > 1:
        sizes = sizes.flatten(0, -2).amax(0)
    apart = (result - expected).abs().nan_to_num(torch.inf, torch.inf)
    both_nan = result.isnan() & expected.isnan()
    return (apart <= tolerance * sizes) | (result == expected) | both_nan
