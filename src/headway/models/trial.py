"""Trial of a tap: does it see all attention of a module, and as [batch, head, query, key]?

Two sequences exchange what stands at some positions. When every position attends to itself alone,
each row of the output must be that of the one sequence or of the other; else positions reach one
another in another way. When some positions attend to all and the others only to each other, those
others must not see an exchange of the first; else queries or keys stand elsewhere in the pattern.
"""

import itertools
import math
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
"""Bits of a position's number that make sets of positions; sets that are drawn if it has more."""
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
        return sum(part.n_heads for part in {*self.sites.parts} if part.layer == 0)


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
    sites = sites_of(module, pair)
    output, seen, patterns = _recorded(module, pair, sites.late)
    precision = max(torch.finfo(dtype).eps for dtype in {output.dtype, *seen.dtypes})

    def repeats(count: int) -> bool:
        try:
            again, _, others = _recorded(module, pair[:count], sites.late)
        except HeadwayError:
            return False
        expected = [x[:count] for x in (output, *patterns)]
        return _agree([x[:count] for x in (again, *others)], expected, precision)

    try:
        return _shape_seen(module, pair, output, seen, sites, precision)
    except HeadwayError as error:
        if repeats(1):
            raise
        why = _why_not_the_same(module, pair, repeats(2))
        raise HeadwayError(f"{why}{_in_training(module)}") from error.__cause__


def _why_not_the_same(module: nn.Module, pair: Tensor, repeats: bool) -> str:
    """The reason why a module does not give for a sequence what it gives for two."""
    name = type(module).__name__
    if not repeats:
        return (
            f"{name} keeps state between calls or draws at random: two calls with the same inputs"
            " differ"
        )
    try:
        output_of(module, pair[:1])
    except HeadwayError as error:
        return f"{name} cannot be called with another number of sequences: {error}"
    return (
        f"heads of {name} cannot be told from sequences: the pattern of a sequence changes with the"
        " rest of its batch, or the first dimension of patterns is not the batch"
    )


def _in_training(module: nn.Module) -> str:
    return "; it is in training mode: call .eval() on it first" if module.training else ""


def _recorded(
    module: nn.Module, inputs: Tensor, late: frozenset[int]
) -> tuple[Tensor, Interception, list[Tensor]]:
    patterns: list[Tensor] = []

    def record(_: int, pattern: Tensor) -> Tensor:
        patterns.append(pattern)
        return pattern

    seen = Interception(record, len(inputs), inputs.shape[1], late=late)
    return intercepted(module, inputs, seen), seen, patterns


def _shape_seen(
    module: nn.Module,
    pair: Tensor,
    output: Tensor,
    seen: Interception,
    sites: Sites,
    precision: float,
) -> Shape:
    """The shape of a module that gave an output while the attention of its sites was seen."""
    name = type(module).__name__
    fits = len(output) == len(pair) and output.ndim > 1
    require(fits, f"shape of the output of {name}", list(output.shape), "[batch, position, output]")
    with BaseTorchFunctionMode(), kept():  # a mode keeps `TransformerEncoder` from its fast path
        plain = output_of(module, pair[:1])
    if not _agree([output[:1]], [plain], precision):
        raise HeadwayError(
            f"the output of {name} changes when its attention is computed openly"
            + _in_training(module)
        )
    trial = _Trial(module, pair[:1], precision, seen.shapes, sites.late)
    if not seen.shapes:
        with drawn(trial.zero):
            mixers = trial.others(())
        instead = f"; its positions reach one another by {', '.join(mixers)}" if mixers else ""
        raise HeadwayError(
            f"no attention was seen: {name} calls neither scaled_dot_product_attention nor a "
            f"softmax over keys{instead}"
        )
    field = f"heads and keys beside the positions by layer of {name}"
    sizes = _by_layer(sites.parts, seen.sizes)
    require(len({*sizes}) == 1, field, sizes, "the same in every layer")
    with drawn(trial.zero):
        places, mixers = trial.placed()
    return Shape(sites, sizes[0][1], places, mixers)


def _by_layer(parts: Sequence[Part], sizes: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Heads, and keys beside the positions, of every layer."""
    of_sites = zip(parts, sizes, strict=True)
    beside = {part: n_keys for part, (_, n_keys) in of_sites}
    layers = sorted({part.layer for part in parts})
    heads = [sum(part.n_heads for part in beside if part.layer == layer) for layer in layers]
    keys = [next(n for part, n in beside.items() if part.layer == layer) for layer in layers]
    return list(zip(heads, keys, strict=True))


class _Trial:
    """Two sequences, and cases that have some positions of the one and some of the other.

    Args:
        module: that is tried.
        one: a sequence.
        precision: of its numbers.
        shapes: heads, queries and keys of every site.
        late: softmaxes of which the tap gets what meets values.
    """

    def __init__(
        self,
        module: nn.Module,
        one: Tensor,
        precision: float,
        shapes: list[tuple[int, int, int]],
        late: frozenset[int],
    ):
        self.module = module
        self.name = type(module).__name__
        self.length = one.shape[1]
        self.shapes = shapes
        self.late = late
        self.same = partial(_same, tolerance=precision ** (2 / 3))
        self.is_partial = any(min(shape[1:]) < self.length for shape in shapes)
        self.is_blind = True
        """True until an output was seen that depends on the inputs."""
        weights = list(module.parameters())
        sets = _exchanges(self.length).to(one.device)
        none = torch.zeros_like(sets[:1])
        alone = torch.eye(len(sets[0])).bool().to(one.device)
        sizes = {*one.shape, *itertools.chain(*shapes)}
        sizes = sizes.union(*(weight.shape for weight in [*weights, *module.buffers()]))
        self.cases = _count(len(sets) + 4, sizes)
        self.sets = slice(2, 2 + len(sets))
        self.exchanged = none.repeat(self.cases, 1)
        """The positions of the other sequence in every case: none, all, those of the sets, and the
        first set in the last case."""
        self.exchanged[1], self.exchanged[self.sets], self.exchanged[-1] = True, sets, sets[0]
        wide = self.exchanged.reshape(*self.exchanged.shape, *[1] * (one.ndim - 2))
        self.inputs = torch.where(wide, _other(one), one)
        self.alone = alone.repeat(self.cases, 1, 1)
        """Keys of every position: itself. In the last two cases, those of the first set attend to
        all, and the others to all but these."""
        self.alone[-2:] = ~(~sets[0][:, None] & sets[0])
        # Weights that are zero before training would hide what they are going to let through.
        self.weights = [w for w in weights if w.is_floating_point() and w.numel()]
        self.zero = [weight for weight in self.weights if weight.abs().max() < SMALL]

    def placed(self) -> tuple[tuple[Place, ...], tuple[str, ...]]:
        """The places of positions in the patterns, and the operations that mix them otherwise."""
        every = list(_arrangements(self.shapes, self.length))
        true = self._true_of(every)
        if len(true) > 1:  # values that are zero would stand anywhere
            with drawn(self.weights, around=True):
                true = self._true_of(true)
        if len(true) == 1:
            return true[0], ()
        if self.is_blind:
            raise HeadwayError(
                f"nothing that {self.name} gives depends on the example inputs: give others"
            )
        found: dict[tuple[Place, ...], tuple[str, ...]] = {}
        shapes = " and ".join(str(list(shape)) for shape in dict.fromkeys(self.shapes))
        refused = HeadwayError(
            f"the patterns of {self.name}, {shapes}, are not [head, query, key] of"
            f" its {self.length} positions"
        )
        for places in every:
            try:
                found[places] = self.others(places)
            except HeadwayError as error:
                refused = error
        if not any(found.values()):
            raise refused
        fewest = min((places for places in found if found[places]), key=lambda p: len(found[p]))
        return fewest, found[fewest]

    def _true_of(self, every: list[tuple[Place, ...]]) -> list[tuple[Place, ...]]:
        """The places that outputs agree with; one, if no layer lacks queries or keys."""
        if self.is_partial:
            return [places for places in every if self._is_true(places)]
        first = next((places for places in every if self._is_true(places)), None)
        return [] if first is None else [first]

    def others(self, places: tuple[Place, ...]) -> tuple[str, ...]:
        """Operations that mix positions although no head reads anything.

        Each is switched off in turn, so that none hides behind another.

        Raises:
            HeadwayError: if one may be attention that the tap does not see, or the outputs without
                these operations are not those of their positions.
        """
        cut: list[str] = []
        while True:
            trace = _Trace(self, torch.zeros_like(self.alone), places, cut)
            output = intercepted(self.module, self.inputs, trace)
            trace.note([], [output], "an operation that torch does not show", True)
            found = next((one for one in trace.mixing if one.is_unseen), None)
            if found is None:
                break
            if found.is_joint:
                raise HeadwayError(
                    f"in {self.name} one position reaches another by {found.name}, which is no "
                    "attention that the tap sees"
                )
            cut.append(found.name)
        if cut and not self._is_alone(self._rows(_Trace(self, self.alone, places, cut))):
            raise HeadwayError(f"positions of {self.name} stand elsewhere in its patterns")
        return tuple(cut)

    def _rows(self, seen: Interception) -> Tensor:
        """The output of all cases as [case, row, number]."""
        output = intercepted(self.module, self.inputs, seen)
        if output.ndim == 2:
            return output[:, None]
        return output.flatten(2)

    def _is_true(self, places: tuple[Place, ...]) -> bool:
        """Tell whether outputs depend on what the patterns let them see, and on nothing else."""
        tap = _fixed(self.alone)
        seen = Interception(tap, self.cases, self.length, places, late=self.late)
        rows = self._rows(seen)
        one, other, first, *_, before, after = rows
        differs = ~self.same(one, other)
        self.is_blind &= not differs.any()
        sees = differs & ~self.same(first, other) & ~self.same(before, after)
        return bool(differs.any()) and self._is_alone(rows) and not bool(sees.any())

    def _is_alone(self, rows: Tensor) -> bool:
        """Tell whether every row of an output depends on one position: its own, if there are as
        many rows, and fewer queries or keys."""
        one = rows[:1]
        other = rows[1:2]
        alone = rows[self.sets]
        if self.mixed(alone, one, other).any():
            return False
        differs = ~self.same(one, other)
        has_all = rows.shape[1] == self.length
        exchanged = self.same(alone, other) & differs
        if has_all and self.is_partial:
            return torch.equal(exchanged, self.exchanged[self.sets, :, None] & differs)
        both = exchanged.any(-1) & (differs & ~exchanged).any(-1)
        return not ((has_all or self.is_partial) and bool(both.any()))

    def mixed(self, found: Tensor, one: Tensor, other: Tensor) -> Tensor:
        """Tell which numbers belong to neither of two sequences."""
        return ~(self.same(found, one) | self.same(found, other))


class _Mixing(NamedTuple):
    """An operation of a pass that gives a number which belongs to neither of two sequences.

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
        cut: names of operations that give at every position what they give for its sequence.
    """

    def __init__(
        self, trial: _Trial, allowed: Tensor, places: tuple[Place, ...], cut: Sequence[str]
    ):
        super().__init__(_fixed(allowed), trial.cases, trial.length, places, late=trial.late)
        self.trial = trial
        self.cut = cut
        self.mixing: list[_Mixing] = []
        self.varying = WeakTensorKeyDictionary()
        """Tensors that differ from case to case: None, or, where cases cannot be told apart, as
        among the tokens of an expert, whether something joint made them."""
        self.varying[trial.inputs] = None

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Called by torch in place of each of its functions."""
        given = list(tensors_in(args, kwargs or {}))
        attends = func is F.scaled_dot_product_attention or any(
            tensor in self.softmaxes for tensor in given
        )
        out = super().__torch_function__(func, types, args, kwargs)
        made = args[0] if out is None and args else out  # an assignment changes its first argument
        tensors = list(tensors_in((made,), {}))
        if tensors and "empty" not in name_of(func):
            varying = [tensor for tensor in given if tensor in self.varying]
            alike = any(tensor.shape == tensors[0].shape for tensor in varying)
            several = len(varying) > 1 and (func in PRODUCTS or not alike)
            shape = next((rows.shape[1:] for rows in self._readings(tensors[0])), tensors[0].shape)
            name = f"{name_of(func)} to {list(shape)}"
            taken = func in TAKES and len(varying) > 1
            self.note(given, tensors, name, func in SOFTMAXES or attends or several, taken)
        return out

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
            is_joint: whether they come from several positions, and not by fixed weights.
            is_taken: whether they may be rows of what it was given, in another order.
        """
        varying = [tensor for tensor in given if tensor in self.varying]
        is_joint |= any(self.varying[tensor] for tensor in varying)
        nothing = frozenset[Scores]()
        scores = nothing.union(*(self.scores.get(tensor, nothing) for tensor in tensors))
        loose = [tensor for tensor in given if self.varying.get(tensor) is not None]
        apart = [t.shape for t in given if t.is_floating_point() and self.varying.get(t) is None]
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
            if not self.trial.same(readings[0], readings[0][:1]).all():
                self.varying[tensor] = None
            mixed = (self.trial.mixed(rows, rows[:1], rows[1:2]).any() for rows in readings)
            if is_number and all(mixed):
                self.mixing.append(_Mixing(name, scores, is_joint))

    def _before(self, pattern: Tensor) -> Tensor:
        """Even rows: what becomes of them before they meet values must not mix positions."""
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
        """At every position, what its sequence has there; what the one sequence has, if it is not
        clear which dimension the positions are."""
        shapes = [next(self._readings(tensor), tensor[None]).shape[1:] for tensor in given]
        if any(list(shape).count(self.length) != 1 for shape in [*shapes, rows.shape[1:]]):
            return rows[:1].clone()
        sizes = [size if size == self.length else 1 for size in rows.shape[1:]]
        return torch.where(self.trial.exchanged.reshape(-1, *sizes), rows[1:2], rows[:1])


def _fixed(allowed: Bool[Tensor, "case position position"]) -> Tap:
    """A tap that lets every query attend evenly to the keys that are allowed, and to all keys that
    are no position."""
    even = (allowed / allowed.sum(-1, keepdim=True).clamp(min=1))[:, None]

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


def _count(least: int, sizes: set[int]) -> int:
    """A number of cases that tells their dimension from others: it has no factor in common."""
    return next(
        number
        for number in itertools.count(least)
        if all(math.gcd(number, size) == 1 for size in sizes if size)
    )


def _starts(count: int, length: int) -> list[int]:
    """Possible starts of positions among so many queries or keys, the likeliest first."""
    if count < length:
        return [LAST, 0]
    between = range(1, count - length) if count - length <= 4 else ()
    if count == length:
        return [0]
    return [0, LAST, *between]


def _agree(found: list[Tensor], expected: list[Tensor], precision: float) -> bool:
    """Tell whether results are the same to half of the digits that a precision has."""
    return len(found) == len(expected) and all(
        one.shape == other.shape
        and _same(one.reshape(-1, 1), other.reshape(-1, 1), precision**0.5).all()
        for one, other in zip(found, expected, strict=True)
    )


def _same(found: Tensor, expected: Tensor, tolerance: float) -> Tensor:
    """Tell which numbers are equal, compared with the largest of their column."""
    sizes = expected.abs().nan_to_num(0.0, 0.0, 0.0)
    close = tolerance * (sizes.flatten(0, -2).amax(0) if sizes.ndim > 1 else sizes)
    apart = (found - expected).abs().nan_to_num(torch.inf, torch.inf) > close
    return ~apart | (found == expected) | (found.isnan() & expected.isnan())
