"""Residual streams of many ablated models at once, each computed once and shared.

A candidate says, for some heads, which mechanism stands in their place. Candidates that a search
compares differ in a head or two, so most of what they compute is the same:

- below the first layer in which two candidates differ, their residual streams are equal;
- under the causal mask, so are all positions before the first at which they differ.

So the residual stream is cut into `units`, and every unit is computed once, all that are missing in
a layer in one batch. Only units that can reach the read-out are asked for. A head that is replaced
needs no scores and no softmax: paths are gathers, uniform is a running mean.
"""

from collections import defaultdict
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from headway.circuits.mechanism import Identity, KnockOut, Mechanism, Paths, Uniform
from headway.circuits.patterns import Patterns
from headway.circuits.units import Candidate, Unit, Units
from headway.errors import HeadwayError
from headway.models import Tappable, Transformer
from headway.tasks import Batch

MOST_ROWS = 16_384
"""Stream vectors computed in one go at most."""

MOST_VECTORS = 500_000
"""Stream vectors kept for later candidates; beyond that all are forgotten."""


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

    def __init__(self, model: Tappable, batch: Batch, patterns: Patterns):
        """Takes a model to be computed so.

        Raises:
            HeadwayError: if it is no `Transformer`.
        """
        if not isinstance(model, Transformer):
            kind = type(model).__name__
            raise HeadwayError(f"model = {kind} is not allowed: only a Transformer shares streams")
        self.model, self.inputs, self.patterns = model, batch.inputs, patterns
        self.causal, self.n_layers = model.config.causal, model.config.n_layers
        self.units = Units(model, self.inputs.shape[1], patterns)
        with torch.no_grad():
            self._moves = [block.attn.moves() for block in model.layers]
        self._known: dict[tuple[int, int], dict[int, Values]] = defaultdict(dict)
        self.computed = self._held = 0

    def outputs(
        self, candidates: Sequence[Candidate], part: slice
    ) -> Float[Tensor, "candidate sequence read output"]:
        """What the model puts out at the queries of a part of the sequences."""
        wanted = [self.units.final_unit(candidate) for candidate in candidates]
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
            missing[self.units.known[unit].layer].append(unit)
            below = set(self.units.known[unit].below.values()) - seen
            seen |= below
            stack += below
        for layer in sorted(missing):
            self._compute(layer, missing[layer], known, part)
        n_read = self.model.n_read
        return self.model.read(
            torch.cat([known[unit].x[:, -n_read:] for unit in wanted])
        ).unflatten(0, (len(wanted), -1))

    def _compute(self, layer: int, units: list[int], known: dict[int, Values], part: slice) -> None:
        """Computes the missing units before a layer, those of one shape in one batch."""
        groups: dict[tuple[int, tuple[str, ...]], list[int]] = defaultdict(list)
        for unit in units:
            kinds = tuple(self._kind(mechanism) for mechanism in self.units.known[unit].key)
            groups[self.units.known[unit].segment, kinds].append(unit)
        for (segment, kinds), members in groups.items():
            start, end = self.units.segments[segment]
            together = max(1, MOST_ROWS // ((end - start) * (part.stop - part.start)))
            for i in range(0, len(members), together):
                block = members[i : i + together]
                if layer == 0:
                    x = self.model.embedded(self.inputs[part])[None, :, start:end]
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
        units = [self.units.known[unit] for unit in members]
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

    def _mean(
        self, segment: int, own: list[Values], below: list[list[Values]]
    ) -> Float[Tensor, "unit sequence row d_model"]:
        """The mean of all that every position sees."""
        start, end = self.units.segments[segment]
        z = torch.stack([values.normed for values in own])
        if not self.causal:
            total = torch.stack([sum_of([v.normed.sum(1) for v in vs]) for vs in below])
            return (total / self.units.bounds[-1])[:, :, None].expand_as(z)
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
        start = self.units.bounds[segment]
        shape = known[units[0].below[segment]].normed.shape
        empty = self.patterns.zeros
        mixed, total = empty(len(units), *shape), empty(len(units), *shape[:2])
        alike: dict[Mechanism | None, list[int]] = defaultdict(list)
        for u, mechanism in enumerate(mechanisms):
            alike[mechanism].append(u)
        for mechanism, members in alike.items():
            if isinstance(mechanism, Identity):
                mixed[members] = self._stacked(segment, members, units, known)
                total[members] = 1
                continue
            assert isinstance(mechanism, Paths)
            these = torch.tensor(members, device=mixed.device)[:, None, None]
            here = [n for n in mechanism.relations if self.units.segment_of[n] == segment]
            for name in here:
                rows, keys, weight = self.patterns.rows_of(mechanism, name, part)
                size = torch.arange(len(rows), device=rows.device)[:, None]
                for seen in self.units.key_segments[name]:
                    first, after = self.units.segments[seen]
                    inside = ((keys >= first) & (keys < after)).to(weight.dtype) * weight
                    z = self._stacked(seen, members, units, known)
                    at = (keys - first).clamp(0, after - first - 1)
                    found = (z[:, size[..., None], at] * inside[..., None]).sum(3)
                    mixed.index_put_((these, size, rows - start), found, accumulate=True)
                    share = inside.sum(2).expand(len(members), -1, -1)
                    total.index_put_((these, size, rows - start), share, accumulate=True)
        return mixed, total

    def _stacked(
        self, segment: int, members: list[int], units: list[Unit], known: dict[int, Values]
    ) -> Float[Tensor, "unit sequence row d_model"]:
        """What some units look at in a segment."""
        return torch.stack([known[units[u].below[segment]].normed for u in members])

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
        start, end = self.units.segments[segment]
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
