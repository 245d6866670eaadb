"""Residual streams of many ablated models at once, each computed once and shared.

A candidate says, for some heads, which mechanism stands in their place. Candidates that a search
compares differ in a head or two, so most of what they compute is the same:

- below the first layer in which two candidates differ, their residual streams are equal;
- under the causal mask, so are all positions before the first at which they differ.

So the residual stream is cut into `units`, and every unit is computed once, all that are missing in
a layer in one batch. Only units that can reach the read-out are asked for. A head that is replaced
needs no scores and no softmax, but one product with its known pattern.
"""

from collections import defaultdict
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from headway.circuits.mechanism import KnockOut, Mechanism, Paths
from headway.circuits.patterns import Patterns
from headway.circuits.units import Candidate, Unit, Units
from headway.errors import HeadwayError
from headway.models import Tappable, Transformer
from headway.tasks import Batch

MOST_ROWS = 16_384
"""Stream vectors computed in one go at most."""

MOST_VECTORS = 300_000
"""Stream vectors kept for later candidates; beyond that, the least recently used are dropped."""

Span = tuple[int, int]
"""The first sequence of a part and the one after its last."""


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

    @property
    def size(self) -> int:
        """How many stream vectors it has."""
        return self.x.shape[:-1].numel()


class Streams:
    """The residual streams of a model on some sequences, under any number of candidates.

    Attributes:
        computed: stream vectors (one position of one sequence through one layer) computed so far.
    """

    def __init__(self, model: Tappable, batch: Batch, patterns: Patterns):
        """Takes a model on a batch.

        Raises:
            HeadwayError: if it is no `Transformer`.
        """
        if not isinstance(model, Transformer):
            kind = type(model).__name__
            raise HeadwayError(f"model = {kind} is not allowed: only a Transformer shares streams")
        self.model, self.inputs, self.patterns = model, batch.inputs, patterns
        self.n_layers = model.config.n_layers
        self.units = Units(model, self.inputs.shape[1], patterns)
        with torch.no_grad():
            self._moves = [block.attn.moves() for block in model.layers]
        self._known: dict[tuple[Span, int], Values] = {}
        self._rows: dict[tuple[Mechanism, int, int, int, tuple[int, ...], Span], Tensor] = {}
        self.computed = self._held = 0

    def outputs(
        self, candidates: Sequence[Candidate], part: slice
    ) -> Float[Tensor, "candidate sequence read output"]:
        """What the model puts out at the queries of a part of the sequences."""
        wanted = [self.units.final_unit(candidate) for candidate in candidates]
        span, known = (part.start, part.stop), self._known
        while self._held > MOST_VECTORS:
            self._held -= known.pop(next(iter(known))).size
        missing: dict[int, list[int]] = defaultdict(list)
        stack, seen = list(dict.fromkeys(wanted)), set(wanted)
        while stack:
            unit = stack.pop()
            if (span, unit) in known:
                known[span, unit] = known.pop((span, unit))  # the last to be forgotten
                continue
            missing[self.units.known[unit].layer].append(unit)
            below = set(self.units.known[unit].below.values()) - seen
            seen |= below
            stack += below
        for layer in sorted(missing):
            self._compute(layer, missing[layer], part)
        n_read = self.model.n_read
        return self.model.read(
            torch.cat([known[span, unit].x[:, -n_read:] for unit in wanted])
        ).unflatten(0, (len(wanted), -1))

    def _compute(self, layer: int, units: list[int], part: slice) -> None:
        """Computes the missing units before a layer, those of one shape in one batch."""
        groups: dict[tuple[int, tuple[int, ...], tuple[int, ...]], list[int]] = defaultdict(list)
        for number in units:
            unit = self.units.known[number]
            groups[unit.segment, tuple(sorted(unit.below)), self._scored(unit)].append(number)
        for (segment, seen, scored), members in groups.items():
            start, end = self.units.segments[segment]
            together = max(1, MOST_ROWS // ((end - start) * (part.stop - part.start)))
            for i in range(0, len(members), together):
                block = members[i : i + together]
                if layer == 0:
                    x = self.model.embedded(self.inputs[part])[None, :, start:end]
                else:
                    x = self._layer(layer - 1, segment, seen, scored, block, part)
                    self.computed += x.shape[:-1].numel()
                z = self.model.layers[layer].ln1(x) if layer < self.n_layers else None
                for j, number in enumerate(block):
                    values = Values(x[j], None if z is None else z[j])
                    self._known[(part.start, part.stop), number] = values
                    self._held += values.size

    def _scored(self, unit: Unit) -> tuple[int, ...]:
        """The heads whose own attention is asked for, perhaps with parts of it replaced."""
        own = [
            mechanism is None
            or isinstance(mechanism, KnockOut)
            or (isinstance(mechanism, Paths) and self.patterns.fill(mechanism) == "own")
            for mechanism in unit.key
        ]
        return tuple(head for head, is_own in enumerate(own) if is_own)

    def _layer(
        self,
        layer: int,
        segment: int,
        seen: tuple[int, ...],
        scored: tuple[int, ...],
        members: list[int],
        part: slice,
    ) -> Float[Tensor, "unit sequence row d_model"]:
        """One layer at one segment, for units that look at the same segments."""
        block, span = self.model.layers[layer], (part.start, part.stop)
        units = [self.units.known[number] for number in members]
        below = [[self._known[span, unit.below[g]] for g in seen] for unit in units]
        own = [self._known[span, unit.below[segment]] for unit in units]
        x = torch.stack([values.x for values in own]).add_(block.attn.out.bias)
        if scored:
            mechanisms = [[unit.key[head] for head in scored] for unit in units]
            carried = self._attend(layer, segment, scored, mechanisms, own, below, part)
            x += block.attn.written(carried, scored)
        replaced = [head for head in range(self.model.n_heads) if head not in scored]
        context = side_by_side([[v.normed for v in vs] for vs in below]) if replaced else x
        for head in replaced:
            weight, bias = (maps[head] for maps in self._moves[layer])
            rows = [
                self._pattern(unit.key[head], (layer, head), segment, seen, part) for unit in units
            ]
            pattern = torch.stack(rows) if any(one is not rows[0] for one in rows) else rows[0]
            x += F.linear(pattern @ context, weight)
            x += pattern.sum(-1, keepdim=True) * bias
        return block.finish(x.flatten(0, 1)).view_as(x)

    def _pattern(
        self,
        mechanism: Mechanism | None,
        head: tuple[int, int],
        segment: int,
        seen: tuple[int, ...],
        part: slice,
    ) -> Float[Tensor, "sequence row key"]:
        """The rows of a mechanism's pattern at a segment, at the keys of the segments it sees."""
        assert mechanism is not None
        name = mechanism, *head, segment, seen, (part.start, part.stop)
        if name not in self._rows:
            start, end = self.units.segments[segment]
            rows = self.patterns.dense(mechanism, head)[part, start:end]
            keys = [rows[..., slice(*self.units.segments[g])] for g in seen]
            self._rows[name] = torch.cat(keys, -1)
        return self._rows[name]

    def _attend(
        self,
        layer: int,
        segment: int,
        heads: tuple[int, ...],
        mechanisms: list[list[Mechanism | None]],
        own: list[Values],
        below: list[list[Values]],
        part: slice,
    ) -> Float[Tensor, "unit sequence row head d_head"]:
        """What heads with their own attention carry, perhaps with parts of it replaced."""
        attn = self.model.layers[layer].attn
        lacking = list({id(v): v for vs in below for v in vs if v.keys_values is None}.values())
        by_rows: dict[int, list[Values]] = defaultdict(list)
        for values in lacking:
            by_rows[values.normed.shape[1]].append(values)
        for group in by_rows.values():
            keys, values = attn.keys_values(torch.stack([v.normed for v in group]))
            for one, k, v in zip(group, keys, values, strict=True):
                one.keys_values = k, v
        known = [[v.keys_values for v in vs if v.keys_values] for vs in below]
        keys, values = (side_by_side([[kv[i] for kv in kvs] for kvs in known]) for i in (0, 1))
        if len(heads) < attn.n_heads:
            keys, values = keys[:, :, :, list(heads)], values[:, :, :, list(heads)]
        queries = attn.queries(torch.stack([v.normed for v in own]))[..., list(heads), :]
        start, end = self.units.segments[segment]
        scores = torch.einsum("usqhd,uskhd->ushqk", queries, keys)
        mask = self.model.mask
        pattern = attn.weigh(scores, None if mask is None else mask[start:end, : scores.shape[-1]])
        for u, chosen in enumerate(mechanisms):
            for i, (head, mechanism) in enumerate(zip(heads, chosen, strict=True)):
                if mechanism is not None:
                    edited = self.patterns.edit(
                        (layer, head), mechanism, pattern[u, :, i], (start, end), part
                    )
                    pattern[u, :, i] = edited
        return torch.einsum("ushqk,uskhd->usqhd", pattern, values)


def side_by_side(
    things: Sequence[Sequence[Float[Tensor, "sequence _ *width"]]],
) -> Float[Tensor, "unit sequence key *width"]:
    """Joins what each unit's segments have, for all units; each is copied once."""
    if len(things) == 1:
        return torch.cat(list(things[0]), 1)[None]
    size, _, *width = things[0][0].shape
    keys = sum(one.shape[1] for one in things[0])
    found = things[0][0].new_empty(len(things), size, keys, *width)
    for unit, segments in zip(found, things, strict=True):
        torch.cat(list(segments), 1, out=unit)
    return found
