"""The attention patterns of mechanisms, on some sequences."""

import contextlib
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from headway.errors import HeadwayError, require
from headway.models import Tap, Tappable, Transformer, attention_patterns
from headway.relations.composed import Related
from headway.relations.edges import NO_KEY
from headway.relations.shares import attention_along
from headway.relations.tables import Tables
from headway.replace.heads import Head
from headway.replace.mechanism import Mechanism, refuse, require_fill
from headway.tasks import Batch, Edges, Task
from headway.userfile import described

MOST_CELLS = 2**23
"""Cells of patterns that are kept for later candidates at most."""

Attention = dict[str, list[list[float]]]
"""Mean attention along relations, [layer, head], by relation."""


class Patterns:
    """The patterns of all mechanisms on a batch.

    Attributes:
        rows: what stands in rows without a path, of mechanisms that do not say it.
        visible: which key every query may see, [layer, query, key].
        padding: positions that no query reads, [sequence, position].
    """

    def __init__(
        self,
        model: Tappable,
        batch: Batch,
        relations: dict[str, Edges],
        rows: str = "zero",
    ):
        require_fill(rows, "ablation")
        self.model, self.batch, self.rows = model, batch, rows
        self.visible, self.padding, self.dtype = what_is_seen(model, batch.inputs)
        sequences, length = batch.inputs.shape[:2]
        self.visible[..., length:] = False  # keys that are no position, such as a sink
        self.shape = (sequences, length, self.visible.shape[2])
        self._given = relations
        self._names = [*relations]  # others may be composed later
        self._used: dict[str, Edges] = {}
        self._alone: dict[str, Tensor] = {}
        self._laid: dict[frozenset[str], Tensor] = {}
        self._told: dict[Tables, Tensor] = {}
        self._used_last: dict[tuple[Head, Hashable], Tensor] = {}

    def zeros(self) -> Float[Tensor, "sequence query key"]:
        """The pattern of a head that attends to nothing."""
        device = self.batch.inputs.device
        return torch.zeros(self.shape, dtype=self.dtype, device=device)

    @property
    def causal(self) -> bool:
        """True if no position sees any that comes after it."""
        return not bool(self.visible.any(0).triu(1).any())

    @cached_property
    def relations(self) -> dict[str, Edges]:
        """The relations given whose keys some layer's mask never hides, by name."""
        return {name: self._given[name] for name in self._names if self.has(name)}

    def used_as(self, use: str) -> list[str]:
        """The names of the relations given of one use (see `Edges`)."""
        return [name for name, edges in self.relations.items() if edges.use == use]

    def relation(self, name: str) -> Edges:
        """A relation by its name; a composed one is made when it is first asked for."""
        if not self.has(name):
            allowed = (
                "a relation of the task that the model's mask lets it see, such as "
            )
            require(False, "path", name, allowed + ", ".join([*self.relations][:3]))
        return self._used[name]

    def has(self, name: str) -> bool:
        """True if a relation of this name is given and visible, or can be composed.

        Keys that masks hide, and padding, are no keys of a composed one; some must be
        left. A relation given keeps its keys.
        """
        if name not in self._used:
            with contextlib.suppress(HeadwayError, KeyError):
                edges = self._seen(name, self._given[name])
                if edges is not None:
                    self._used[name] = edges
        return name in self._used

    def _seen(self, name: str, edges: Edges) -> Edges | None:
        """A relation as far as masks let the model see it; None if they do not."""
        row = torch.arange(len(edges.keys), device=edges.keys.device)[:, None, None]
        is_seen = self.visible.any(0)[edges.queries[..., None], edges.keys]
        if name in self._names:
            return edges if (is_seen | ~edges.there).all() else None
        is_key = is_seen & ~self.padding[row, edges.keys]
        left = replace(edges, keys=edges.keys.where(is_key, NO_KEY))
        return left if left.there.any() else None

    def alone(self, name: str) -> Float[Tensor, "sequence query key"]:
        """The rows of one path, each shared evenly among its keys, or by weights."""
        if name not in self._alone:
            relation = self.relation(name)
            share = relation.there.to(self.dtype)
            if relation.weights is not None:
                share = share * relation.weights.to(self.dtype)
            sequence = torch.arange(len(share), device=share.device)[:, None, None]
            query = relation.queries.clamp(min=0)[..., None]
            key = relation.keys.clamp(min=0)
            rows = share.new_zeros(self.shape)
            rows.index_put_((sequence, query, key), share, accumulate=True)
            total = rows.sum(2, keepdim=True)
            self._alone[name] = rows / total.where(total > 0, 1.0)
        return self._alone[name]

    def one_hot(self, relations: frozenset[str]) -> Float[Tensor, "sequence query key"]:
        """The rows of paths, shared evenly among those of a query; others are zero."""
        if relations not in self._laid:
            total = self.zeros()
            leaving = total[..., :1]
            for name in sorted(relations):
                rows = self.alone(name)
                total = total + rows
                leaving = leaving + rows.any(2, keepdim=True)
            self._laid[relations] = total / leaving.clamp(min=1)
        return self._laid[relations]

    def forget(self) -> None:
        """Lets go of the rows of paths; they are laid again when they are asked for."""
        for kept in (self._used, self._alone, self._laid, self._used_last):
            kept.clear()
        for name in [name for name in self._given if name not in self._names]:
            del self._given[name]

    def prepare(self, mechanism: Mechanism) -> None:
        """Calls the model for what a mechanism needs of it.

        That comes before a pass with the mechanism: within one, a model that keeps
        something of the pass must not be called.
        """
        if not isinstance(mechanism, Mechanism):
            refuse(mechanism)
        mechanism.prepare(self)

    def dense(
        self, mechanism: Mechanism, head: Head, part: slice = slice(None)
    ) -> Float[Tensor, "sequence query key"]:
        """The pattern of a mechanism, in some sequences, without the head's own."""
        key = head, mechanism.told_by
        # What was used last is forgotten last.
        pattern = self._used_last.pop(key, None)
        if pattern is None:
            pattern = mechanism.pattern(self, head)
        self._used_last[key] = pattern
        if len(self._used_last) > max(1, MOST_CELLS // math.prod(self.shape)):
            oldest = next(iter(self._used_last))
            del self._used_last[oldest]
        return pattern[part]

    def by_table(
        self, tables: Tables | None
    ) -> Float[Tensor, "sequence layer head query key"]:
        """The patterns that tables give; by default those of these sequences."""
        tables = tables or self.tables
        if tables not in self._told:
            allowed = "of relations: a task of vectors or of many tokens has no tables"
            require(tables.are_possible, "circuit", "by table", allowed)
            told = tables.patterns(self.batch.inputs).to(self.dtype)
            missing = self.shape[2] - told.shape[-1]
            self._told[tables] = F.pad(told, (0, missing))
        return self._told[tables]

    def are_known(self, candidate: Mapping[Head, Mechanism], layer: int) -> bool:
        """True if no pattern of a layer depends on the heads' own."""
        heads = [(layer, head) for head in range(self.model.n_heads)]
        mechanisms = [candidate.get(head) for head in heads]
        return not any(
            mechanism is None or mechanism.needs_own(self) for mechanism in mechanisms
        )

    @cached_property
    def attention(self) -> Attention:
        """The heads' mean attention along the relations given."""
        return along_all(self.own, self.relations)

    @cached_property
    def likeness(self) -> Attention:
        """Likeness of attention to every relation (see `attention_along`)."""
        return along_all(self.own, self.relations, shared=True)

    @cached_property
    def read(self) -> set[str]:
        """The relations given by which the last layer may change an answer.

        They end, in some sequence, at or behind the first position that is read. In a
        model that mixes positions after its attention, which is tried but of a
        `Transformer`, that is all.
        """
        first = self.shape[1] - self.batch.targets.shape[1]
        if not isinstance(self.model, Transformer) and self._mixes_behind(first):
            return set(self.relations)
        return {
            name
            for name, edges in self.relations.items()
            if (edges.queries >= first).any()
        }

    @torch.no_grad()
    def _mixes_behind(self, first: int) -> bool:
        """True if what the last layer attends to before a position changes what is read
        from it on."""
        last = self.model.n_layers - 1

        def cut(layer: int, pattern: Tensor) -> Tensor:
            if layer != last:
                return pattern
            is_read = torch.arange(pattern.shape[-2], device=pattern.device) >= first
            return pattern * is_read[:, None]

        inputs, asked = self.batch.inputs, self.batch.targets.shape[1]
        whole = self.model(inputs, as_it_is)[:, -asked:]
        without = self.model(inputs, cut)[:, -asked:]
        return not torch.allclose(whole, without, rtol=1e-4, atol=1e-5)

    @cached_property
    def means(self) -> Float[Tensor, "layer head query key"]:
        """The heads' own attention, averaged over these or other sequences."""
        return self.own.mean(0)

    @cached_property
    def own(self) -> Float[Tensor, "sequence layer head query key"]:
        """The heads' own attention in these sequences."""
        with torch.no_grad():
            return attention_patterns(self.model, self.batch.inputs)

    @cached_property
    def tables(self) -> Tables:
        """Tables fitted to the heads' own attention in these sequences."""
        return Tables(self.batch.inputs, lambda: self.own)

    @cached_property
    def corrupted(self) -> Float[Tensor, "sequence layer head query key"]:
        """The heads' own attention in the corrupted sequences."""
        inputs = self.batch.corrupted
        if inputs is None or inputs.shape != self.batch.inputs.shape:
            raise HeadwayError(
                "ablation = 'corrupted' is not allowed:"
                " the task does not lay out a corrupted sequence, as long as its own,"
                " beside each (Batch.corrupted)"
            )
        with torch.no_grad():
            return attention_patterns(self.model, inputs)

    def edit(
        self,
        head: Head,
        mechanism: Mechanism | None,
        own: Float[Tensor, "sequence query key"] | None,
        start: int = 0,
        part: slice = slice(None),
    ) -> Float[Tensor, "sequence query key"]:
        """The pattern of a head under a mechanism, given its own.

        A knock-out is cut here: attention along its relations is set to zero, and the
        rest of the row stays as it is.

        Args:
            head: layer and head.
            mechanism: what replaces it, if anything.
            own: what it does without; None if the mechanism does not depend on it
                (`are_known`).
            start: the first query of `own`.
            part: the sequences of `own`.
        """
        if mechanism is None:
            assert own is not None, "a head that is as it is has a pattern of its own"
            return own
        if mechanism.needs_own(self):
            assert own is not None, "the mechanism depends on what the head attends to"
            return mechanism.edit(self, own, start, part)
        return self.dense(mechanism, head, part)[:, start:]


@torch.no_grad()
def what_is_seen(
    model: Tappable, inputs: Tensor
) -> tuple[
    Bool[Tensor, "layer query key"], Bool[Tensor, "sequence position"], torch.dtype
]:
    """The keys visible to every query, those of padding, the type of patterns.

    The config of a `Transformer` tells; of other models, where any head attends at all.
    Padding is runs of one token at an end of sequences, which is read nowhere. (Places
    that no query reads are not enough: sharp attention leaves out places of all
    tokens.)
    """
    length = inputs.shape[1]
    if isinstance(model, Transformer):
        every = torch.ones(
            model.n_layers, length, length, dtype=torch.bool, device=inputs.device
        )
        seen = every.tril() if model.config.causal else every
        none = torch.zeros(inputs.shape[:2], dtype=torch.bool, device=inputs.device)
        return seen, none, model.unembed.weight.dtype
    seen_by_layer, read_by_layer = list[Tensor](), list[Tensor]()
    types = list[torch.dtype]()

    def look(_: int, pattern: Tensor) -> Tensor:
        attends = pattern > 0
        seen_by_layer.append(attends.any(0).any(0))
        read_by_layer.append(attends.any(1).any(1))
        types.append(pattern.dtype)
        return pattern

    model(inputs, look)
    is_read = torch.stack(read_by_layer).any(0)
    unread = ~is_read.expand(len(inputs), -1)[:, :length]
    return torch.stack(seen_by_layer), padding_among(unread, inputs), types[0]


def padding_among(unread: Tensor, inputs: Tensor) -> Bool[Tensor, "sequence position"]:
    """The positions of padding: unread runs of one token at the ends."""
    none = torch.zeros_like(unread)
    if inputs.ndim != 2 or not unread.any():
        return none
    at_start = unread.long().cumprod(1)
    at_end = unread.long().flip(1).cumprod(1).flip(1)
    is_at_ends = torch.equal(unread, at_start + at_end > 0)
    token = inputs[unread][0]
    return unread if is_at_ends and torch.equal(unread, inputs == token) else none


def edges_of(task: Task, model: Tappable, batch: Batch) -> Related:
    """The relations of a task; unnamed ones look ahead if the model does."""
    seen = what_is_seen(model, batch.inputs[:16])[0][..., : batch.inputs.shape[1]]
    return task.edges(batch, bool(seen.triu(1).any()))


def tap_of(
    patterns: Patterns,
    candidates: Sequence[Mapping[Head, Mechanism]],
    part: slice,
    start: int = 0,
) -> Callable[[int, Tensor | None], Tensor]:
    """The tap that puts mechanisms in the place of heads, candidates side by side.

    Where all mechanisms of a layer are known (`Patterns.are_known`) it needs no
    pattern.

    Args:
        patterns: of the mechanisms.
        candidates: what replaces which heads; the others attend as they do.
        part: the sequences that every candidate is applied to, one candidate's after
            the other's.
        start: the first position that attends.
    """

    def edited(
        candidate: Mapping[Head, Mechanism], layer: int, own: Tensor | None
    ) -> Float[Tensor, "sequence head query key"]:
        edits = list[Tensor]()
        for number in range(patterns.model.n_heads):
            head = layer, number
            of_head = None if own is None else own[:, number]
            edits.append(patterns.edit(head, candidate.get(head), of_head, start, part))
        return torch.stack(edits, 1)

    def tap(layer: int, pattern: Tensor | None) -> Tensor:
        if pattern is None:
            return torch.cat(
                [edited(candidate, layer, None) for candidate in candidates]
            )
        own = pattern.chunk(len(candidates))
        pairs = zip(candidates, own, strict=True)
        return torch.cat([edited(candidate, layer, rows) for candidate, rows in pairs])

    return tap


def along_all(
    patterns: Tensor, edges: Mapping[str, Edges], shared: bool = False
) -> Attention:
    """Mean attention along relations (see `attention_along`) by name."""
    return {
        name: attention_along(patterns, relation, shared).tolist()
        for name, relation in edges.items()
    }


def as_it_is(_: int, pattern: Tensor) -> Tensor:
    """The tap that changes nothing."""
    return pattern


@torch.enable_grad()
def attention_slopes(
    model: Tappable,
    inputs: Tensor,
    n_read: int,
    measured: Callable[[Tensor, Sequence[Tensor]], Tensor],
    through: Tap = as_it_is,
) -> tuple[
    Float[Tensor, "sequence layer head query key"],
    Float[Tensor, "sequence layer head query key"],
]:
    """The patterns of all heads, and the derivatives of something by them.

    Args:
        model: of any kind that has a tap.
        inputs: of the sequences.
        n_read: how many positions at the end are read.
        measured: a number, from what is read there and the patterns layer by layer.
        through: the tap that patterns pass through before.

    Raises:
        HeadwayError: if a layer moves what is measured, but has no derivative, as the
            model keeps gradients from it.
    """
    seen = list[Tensor]()

    def value(edit: Tap) -> Tensor:
        """The measure of a pass whose patterns are edited."""
        seen.clear()

        def tap(layer: int, pattern: Tensor) -> Tensor:
            seen.append(edit(layer, through(layer, pattern)))
            return seen[-1]

        return measured(model(inputs, tap)[:, -n_read:], seen)

    def leaf(_: int, pattern: Tensor) -> Tensor:
        own = pattern if pattern.requires_grad else pattern.detach()
        return own.clone().requires_grad_()

    from headway.models.recomputing import kept  # where it is needed alone

    with kept():
        slopes = _slopes(value(leaf), seen)
        patterns = torch.stack(seen, 1).detach()
        _require_uncut(value, [at for at, slope in enumerate(slopes) if slope is None])
    whole = list[Tensor]()
    for own, slope in zip(patterns.unbind(1), slopes, strict=True):
        whole.append(torch.zeros_like(own) if slope is None else slope)
    return patterns, torch.stack(whole, 1)


def _slopes(value: Tensor, seen: Sequence[Tensor]) -> Sequence[Tensor | None]:
    """The derivatives of a number by patterns; None where there is none."""
    if not value.requires_grad:
        return [None] * len(seen)
    try:
        return torch.autograd.grad(value, seen, allow_unused=True)
    except (
        RuntimeError
    ) as error:  # a backward pass of somebody's, or a pattern written over
        why = described(error)
        raise HeadwayError(
            f"the model's gradients cannot be computed: {why}"
        ) from error


def _require_uncut(value: Callable[[Tap], Tensor], layers: Sequence[int]) -> None:
    """Makes sure that gradients reach some layers' patterns.

    (What depends on them in steps, such as comparisons, has none to keep.)

    Args:
        value: what is measured of a pass whose patterns pass through a tap.
        layers: those that have no slope.

    Raises:
        HeadwayError: if it does.
    """
    if not layers:
        return

    from headway.models.gradients import Cuts  # with all that sees attention

    cuts = Cuts()

    def followed(layer: int, pattern: Tensor) -> Tensor:
        return cuts.follow(pattern) if layer in layers else pattern

    with cuts:
        value(followed)
    if cuts.by is None:
        return
    with torch.no_grad():
        own = value(as_it_is)
        for layer in layers:
            without = value(lambda at, own, cut=layer: own * (at != cut))
            if not torch.allclose(own, without, rtol=1e-4, atol=1e-6, equal_nan=True):
                raise HeadwayError(
                    f"layer {layer} has no gradient,"
                    f" though what the model gives depends on its attention: {cuts.by}"
                )
