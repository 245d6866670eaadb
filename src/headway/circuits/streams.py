"""Residual streams of many ablated models at once, each computed once and shared.

A candidate says, for some heads, which mechanism stands in their place. Candidates that a search
compares differ in a head or two, so most of what they compute is the same:

- below the first layer in which two candidates differ, their residual streams are equal;
- under the causal mask, so are all positions before the first at which they differ.

So the residual stream is cut into units: a layer, and a segment of neighbouring positions that no
relation's queries straddle (in the retrieval problem a block of pairs, or the queries). A unit is
named by the mechanisms that can reach it, and every unit is computed once, all that are missing in
a layer in one batch. Only units that can reach the read-out are asked for. A head that is replaced
needs no scores and no softmax: paths are gathers, uniform is a running mean.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from headway.circuits.mechanism import Head, Identity, KnockOut, Mechanism, Paths, Uniform
from headway.circuits.patterns import Patterns
from headway.models import Transformer

Candidate = Mapping[Head, Mechanism]
LayerKey = tuple[Mechanism | None, ...]
"""What stands in the place of every head of a layer; none where the head is as it is."""

MOST_ROWS = 2048
"""Stream vectors computed in one go, so that they stay in the cache."""

MOST_VECTORS = 500_000
"""Stream vectors kept for later candidates; beyond that all are forgotten."""


@dataclass(frozen=True)
class Unit:
    """A segment of the residual stream before a layer, under all mechanisms that can reach it.

    Attributes:
        layer: the layer that reads it.
        segment: which positions.
        below: the units it is computed from, by segment: the same segment one layer down, and
            those that the layer's heads look at.
        key: the mechanisms of the layer that computes it, as far as they concern the segment.
    """

    layer: int
    segment: int
    below: dict[int, int]
    key: LayerKey


class Values:
    """What is known of a unit: the stream, its norm for the next layer, and keys and values."""

    def __init__(self, x: Tensor, z: Tensor | None):
        self.x, self.z = x, z
        self.keys_values: tuple[Tensor, Tensor] | None = None

    @property
    def normed(self) -> Float[Tensor, "sequence row d_model"]:
        """The stream as the next layer's attention reads it."""
        assert self.z is not None
        return self.z


class Streams:
    """The residual streams of a model on some sequences, under any number of candidates.

    Attributes:
        computed: stream vectors (one position of one sequence through one layer) computed so far.
    """

    def __init__(self, model: Transformer, inputs: Tensor, patterns: Patterns):
        self.model, self.inputs, self.patterns = model, inputs, patterns
        self.causal, self.n_layers = model.config.causal, model.config.n_layers
        self.bounds = segment_bounds(patterns, inputs.shape[1], model.n_read)
        self.segments = list(pairwise(self.bounds))
        with torch.no_grad():
            self._moves = [block.attn.moves() for block in model.layers]
        self.units: list[Unit] = []
        self._ids: dict[tuple[int, int, int, LayerKey], int] = {}
        self._parts: dict[tuple[Mechanism | None, int], Mechanism | None] = {}
        self._known: dict[tuple[int, int], dict[int, Values]] = defaultdict(dict)
        self._segment_of = {
            name: self._segment_at(int(relation.queries.min()))
            for name, relation in patterns.relations.items()
        }
        self.computed = self._held = 0

    def _segment_at(self, position: int) -> int:
        return next(g for g, (_, end) in enumerate(self.segments) if position < end)

    def outputs(
        self, candidates: Sequence[Candidate], part: slice
    ) -> Float[Tensor, "candidate sequence read d_model"]:
        """The stream at the read-out positions after the last layer, of a part of the sequences."""
        wanted = [self.final_unit(candidate) for candidate in candidates]
        known = self._known[part.start, part.stop]
        if self._held > MOST_VECTORS:
            self._known.clear()
            self._held, known = 0, self._known[part.start, part.stop]
        missing: dict[int, list[int]] = defaultdict(list)
        stack, seen = list(dict.fromkeys(wanted)), set(wanted)
        while stack:
            unit = stack.pop()
            if unit in known:
                continue
            missing[self.units[unit].layer].append(unit)
            below = set(self.units[unit].below.values()) - seen
            seen |= below
            stack += below
        for layer in sorted(missing):
            self._compute(layer, missing[layer], known, part)
        n_read = self.model.n_read
        return torch.stack([known[unit].x[:, -n_read:] for unit in wanted])

    def final_unit(self, candidate: Candidate) -> int:
        """The unit from which a candidate's answer is read."""
        count, heads = len(self.segments), range(self.model.config.n_heads)
        ids = [self._unit(0, g, -1, {}, ()) for g in range(count)]
        for layer in range(self.n_layers):
            above = []
            mechanisms = [candidate.get((layer, head)) for head in heads]
            for g in range(count):
                key = tuple(self._part(mechanism, g) for mechanism in mechanisms)
                looked_at = {g: ids[g]} | {seen: ids[seen] for seen in self._looked_at(key, g)}
                above.append(self._unit(layer + 1, g, ids[g], looked_at, key))
            ids = above
        return ids[-1]

    def _unit(
        self, layer: int, segment: int, same: int, below: dict[int, int], key: LayerKey
    ) -> int:
        name = (layer, segment, same, key)
        if name not in self._ids:
            self._ids[name] = len(self.units)
            self.units.append(Unit(layer, segment, below, key))
        return self._ids[name]

    def _part(self, mechanism: Mechanism | None, segment: int) -> Mechanism | None:
        """As much of a mechanism as can reach a segment in its own layer or in those above."""
        if not isinstance(mechanism, Paths | KnockOut) or not self.causal:
            return mechanism
        if (mechanism, segment) not in self._parts:
            reach = frozenset(
                name for name in mechanism.relations if self._segment_of[name] <= segment
            )
            part: Mechanism | None = type(mechanism)(reach)
            if not reach and isinstance(mechanism, KnockOut):
                part = None
            elif not reach and isinstance(mechanism, Paths) and mechanism.relations:
                fills = {"zero": part, "own": None, "uniform": Uniform(), "mean": mechanism}
                part = fills[self.patterns.rows]
            self._parts[mechanism, segment] = part
        return self._parts[mechanism, segment]

    def _looked_at(self, key: LayerKey, segment: int) -> list[int]:
        """The segments that a layer's heads look at from a segment."""
        seen: set[int] = set()
        for mechanism in key:
            if isinstance(mechanism, Identity):
                continue
            if not isinstance(mechanism, Paths) or self.patterns.fill(mechanism) != "zero":
                return list(range(segment + 1 if self.causal else len(self.segments)))
            for name in mechanism.relations:
                if self._segment_of[name] == segment:
                    seen |= self._key_segments(name)
        return sorted(seen)

    def _key_segments(self, name: str) -> set[int]:
        keys = self.patterns.relations[name].keys
        return set(range(self._segment_at(int(keys.min())), self._segment_at(int(keys.max())) + 1))

    def _compute(self, layer: int, units: list[int], known: dict[int, Values], part: slice) -> None:
        """Computes the missing units before a layer, those of one shape in one batch."""
        groups: dict[tuple[int, tuple[str, ...]], list[int]] = defaultdict(list)
        for unit in units:
            kinds = tuple(self._kind(mechanism) for mechanism in self.units[unit].key)
            groups[self.units[unit].segment, kinds].append(unit)
        for (segment, kinds), members in groups.items():
            start, end = self.segments[segment]
            together = max(1, MOST_ROWS // ((end - start) * (part.stop - part.start)))
            for i in range(0, len(members), together):
                block = members[i : i + together]
                if layer == 0:
                    x = self.model.embed(self.inputs[part, start:end])[None]
                else:
                    x = self._layer(layer - 1, segment, kinds, block, known, part)
                    self.computed += x.shape[:-1].numel()
                z = self.model.layers[layer].ln1(x) if layer < self.n_layers else None
                self._held += x.shape[:-1].numel()
                for j, unit in enumerate(block):
                    known[unit] = Values(x[j], None if z is None else z[j])

    def _kind(self, mechanism: Mechanism | None) -> str:
        """How a head is computed: with scores, as a running mean, as a gather or as a matrix."""
        if mechanism is None or isinstance(mechanism, KnockOut):
            return "scores"
        if isinstance(mechanism, Uniform):
            return "mean"
        fill = "zero" if isinstance(mechanism, Identity) else self.patterns.fill(mechanism)
        return {"zero": "gather", "own": "scores"}.get(fill, "matrix")

    def _layer(
        self,
        layer: int,
        segment: int,
        kinds: tuple[str, ...],
        members: list[int],
        known: dict[int, Values],
        part: slice,
    ) -> Float[Tensor, "unit sequence row d_model"]:
        """One layer at one segment, for units whose heads are computed alike."""
        block = self.model.layers[layer]
        units = [self.units[unit] for unit in members]
        below = [[known[unit.below[g]] for g in sorted(unit.below)] for unit in units]
        own = [known[unit.below[segment]] for unit in units]
        x = torch.stack([values.x for values in own]) + block.attn.out.bias
        scored = [head for head, kind in enumerate(kinds) if kind == "scores"]
        if scored:
            mechanisms = [[unit.key[head] for head in scored] for unit in units]
            carried = self._attend(layer, segment, scored, mechanisms, own, below, part)
            x += block.attn.written(carried, scored)
        for head, kind in enumerate(kinds):
            if kind == "scores":
                continue
            mechanisms = [unit.key[head] for unit in units]
            weight, bias = (maps[head] for maps in self._moves[layer])
            if kind == "mean":
                x += F.linear(self._mean(segment, own, below), weight, bias)
                continue
            if kind == "gather":
                mixed, total = self._gather(segment, mechanisms, units, known, part)
            else:
                mixed, total = self._matrix(layer, head, segment, mechanisms, below, part)
            x += F.linear(mixed, weight) + total[..., None] * bias
        return block.finish(x.flatten(0, 1)).view_as(x)

    def _attend(
        self,
        layer: int,
        segment: int,
        heads: list[int],
        mechanisms: list[list[Mechanism | None]],
        own: list[Values],
        below: list[list[Values]],
        part: slice,
    ) -> Float[Tensor, "unit sequence row head d_head"]:
        """What heads carry that compute their own attention, perhaps with parts of it replaced."""
        attn = self.model.layers[layer].attn
        lacking = list({id(v): v for vs in below for v in vs if v.keys_values is None}.values())
        by_rows: dict[int, list[Values]] = defaultdict(list)
        for values in lacking:
            by_rows[values.normed.shape[1]].append(values)
        for group in by_rows.values():
            keys, values = attn.keys_values(torch.stack([v.normed for v in group]))
            for one, k, v in zip(group, keys, values, strict=True):
                one.keys_values = k, v
        keys, values = (
            torch.stack(
                [torch.cat([v.keys_values[i] for v in vs if v.keys_values], 1) for vs in below]
            )
            for i in (0, 1)
        )
        if len(heads) < attn.n_heads:
            keys, values = keys[:, :, :, heads], values[:, :, :, heads]
        queries = attn.queries(torch.stack([v.normed for v in own]))[..., heads, :]
        start, end = self.segments[segment]
        scores = torch.einsum("usqhd,uskhd->ushqk", queries, keys)
        if self.model.mask is not None:
            scores = scores + self.model.mask[start:end, : scores.shape[-1]]
        pattern = scores.softmax(-1)
        for u, chosen in enumerate(mechanisms):
            for i, (head, mechanism) in enumerate(zip(heads, chosen, strict=True)):
                if mechanism is not None:
                    edited = self.patterns.edit(
                        (layer, head), mechanism, pattern[u, :, i], (start, end), part
                    )
                    pattern[u, :, i] = edited
        return torch.einsum("ushqk,uskhd->usqhd", pattern, values)

    def _mean(
        self, segment: int, own: list[Values], below: list[list[Values]]
    ) -> Float[Tensor, "unit sequence row d_model"]:
        """The mean of all that every position sees."""
        start, end = self.segments[segment]
        z = torch.stack([values.normed for values in own])
        if not self.causal:
            total = torch.stack([sum_of([v.normed.sum(1) for v in vs]) for vs in below])
            return (total / self.bounds[-1])[:, :, None].expand_as(z)
        total = z.cumsum(2)
        if start:
            before = [sum_of([v.normed.sum(1) for v in vs[:-1]]) for vs in below]
            total = total + torch.stack(before)[:, :, None]
        counts = torch.arange(start + 1, end + 1, device=z.device, dtype=z.dtype)
        return total / counts[:, None]

    def _gather(
        self,
        segment: int,
        mechanisms: Sequence[Mechanism | None],
        units: list[Unit],
        known: dict[int, Values],
        part: slice,
    ) -> tuple[Tensor, Tensor]:
        """What stands where paths lead, [unit, sequence, row, d_model], and every row's weight."""
        start = self.bounds[segment]
        shape = known[units[0].below[segment]].normed.shape
        mixed = self.inputs.new_zeros(len(units), *shape)
        total = self.inputs.new_zeros(len(units), *shape[:2])
        for u, (mechanism, unit) in enumerate(zip(mechanisms, units, strict=True)):
            if isinstance(mechanism, Identity):
                mixed[u], total[u] = known[unit.below[segment]].normed, 1
                continue
            assert isinstance(mechanism, Paths)
            here = [n for n in mechanism.relations if self._segment_of[n] == segment]
            for name in here:
                rows, keys, weight = self.patterns.rows_of(mechanism, name, part)
                size = torch.arange(len(rows), device=rows.device)[:, None]
                for seen in self._key_segments(name):
                    first, after = self.segments[seen]
                    inside = ((keys >= first) & (keys < after)).to(weight.dtype) * weight
                    z = known[unit.below[seen]].normed
                    at = (keys - first).clamp(0, after - first - 1)
                    found = z[size[..., None], at] * inside[..., None]
                    mixed[u].index_put_((size, rows - start), found.sum(2), accumulate=True)
                    total[u].index_put_((size, rows - start), inside.sum(2), accumulate=True)
        return mixed, total

    def _matrix(
        self,
        layer: int,
        head: int,
        segment: int,
        mechanisms: Sequence[Mechanism | None],
        below: list[list[Values]],
        part: slice,
    ) -> tuple[Tensor, Tensor]:
        """A whole pattern put in the head's place: what it mixes, and every row's weight."""
        start, end = self.segments[segment]
        context = torch.stack([torch.cat([v.normed for v in vs], 1) for vs in below])
        rows = [
            self.patterns.dense(m, (layer, head))[part, start:end, : context.shape[2]]
            for m in mechanisms
            if m is not None
        ]
        pattern = torch.stack(rows)
        return pattern @ context, pattern.sum(-1)


def sum_of(tensors: Sequence[Tensor]) -> Tensor:
    """The sum of some tensors of one shape."""
    return torch.stack(list(tensors)).sum(0) if len(tensors) > 1 else tensors[0]


def segment_bounds(patterns: Patterns, length: int, n_read: int) -> list[int]:
    """Where segments begin, and the length: none cuts a relation's queries or the read-out."""
    spans = [(int(r.queries.min()), int(r.queries.max())) for r in patterns.relations.values()]
    spans.append((length - n_read, length - 1))
    starts, reach = [0], -1
    for low, high in sorted(spans):
        if low > reach and low > 0:
            starts.append(low)
        reach = max(reach, high)
    return [*starts, length]
