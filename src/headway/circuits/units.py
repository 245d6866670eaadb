"""Units: the pieces of residual streams that candidates share, and which of them each needs.

A unit is a layer and a segment of neighbouring positions that no relation's queries straddle (in
the retrieval problem a block of pairs, or the queries). It is named by what its layer's heads do
there and by the units that they look at, so that candidates which differ elsewhere have it in
common.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from headway.circuits.mechanism import Head, Identity, KnockOut, Mechanism, Paths, Uniform
from headway.circuits.patterns import Patterns
from headway.models import Transformer

Candidate = Mapping[Head, Mechanism]
LayerKey = tuple[Mechanism | None, ...]
"""What stands in the place of every head of a layer; None where the head is as it is."""


@dataclass(frozen=True)
class Unit:
    """A segment of the residual stream before a layer, with all that it depends on.

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


class Units:
    """All units that were asked for so far, each with a number.

    Attributes:
        bounds: where segments begin, and the length of a sequence.
        segments: the first position of each and the one after its last.
        known: the units by number.
    """

    def __init__(self, model: Transformer, length: int, patterns: Patterns):
        self.patterns, self.causal = patterns, model.config.causal
        self.n_layers, self.n_heads = model.config.n_layers, model.config.n_heads
        self.bounds = segment_bounds(patterns, length, model.n_read)
        self.segments = list(pairwise(self.bounds))
        self.known: list[Unit] = []
        self._ids: dict[tuple[int, int, tuple[tuple[int, int], ...], LayerKey], int] = {}
        self._after: dict[tuple[int, tuple[int, ...], LayerKey], tuple[int, ...]] = {}
        self._parts: dict[tuple[Mechanism | None, int], Mechanism | None] = {}
        self.segment_of = {
            name: self._segment_at(relation.query_span[0])
            for name, relation in patterns.relations.items()
        }
        self.key_segments = {
            name: range(
                self._segment_at(relation.key_span[0]),
                self._segment_at(relation.key_span[1]) + 1,
            )
            for name, relation in patterns.relations.items()
        }

    def final_unit(self, candidate: Candidate) -> int:
        """The unit from which a candidate's answer is read."""
        count = len(self.segments)
        ids = tuple(self._unit(0, g, {}, ()) for g in range(count))
        for layer in range(self.n_layers):
            mechanisms = tuple(candidate.get((layer, head)) for head in range(self.n_heads))
            name = layer, ids, mechanisms
            if name not in self._after:
                self._after[name] = tuple(self._above(*name, g) for g in range(count))
            ids = self._after[name]
        return ids[-1]

    def _above(self, layer: int, ids: tuple[int, ...], mechanisms: LayerKey, segment: int) -> int:
        """The unit of a segment after a layer, if those before it are known."""
        key = tuple(self._part(mechanism, segment) for mechanism in mechanisms)
        looked_at = {segment: ids[segment]}
        looked_at |= {seen: ids[seen] for seen in self._looked_at(key, segment)}
        return self._unit(layer + 1, segment, looked_at, key)

    def _unit(self, layer: int, segment: int, below: dict[int, int], key: LayerKey) -> int:
        name = (layer, segment, tuple(below.items()), key)
        if name not in self._ids:
            self._ids[name] = len(self.known)
            self.known.append(Unit(layer, segment, below, key))
        return self._ids[name]

    def _part(self, mechanism: Mechanism | None, segment: int) -> Mechanism | None:
        """As much of a mechanism as concerns a segment in its own layer."""
        if not isinstance(mechanism, Paths | KnockOut):
            return mechanism
        if (mechanism, segment) not in self._parts:
            reach = frozenset(
                name for name in mechanism.relations if self.segment_of[name] == segment
            )
            part: Mechanism | None = type(mechanism)(reach)
            if not reach and isinstance(mechanism, KnockOut):
                part = None
            elif not reach and isinstance(mechanism, Paths) and mechanism.relations:
                fills = {"zero": part, "own": None, "uniform": Uniform()}
                part = fills.get(self.patterns.rows, mechanism)
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
                if self.segment_of[name] == segment:
                    seen |= set(self.key_segments[name])
        return sorted(seen)

    def _segment_at(self, position: int) -> int:
        return next(g for g, (_, end) in enumerate(self.segments) if position < end)


def segment_bounds(patterns: Patterns, length: int, n_read: int) -> list[int]:
    """Where segments begin, and the length; no relation's queries or read-out are cut apart."""
    spans = [relation.query_span for relation in patterns.relations.values()]
    spans.append((length - n_read, length - 1))
    starts, reach = [0], -1
    for low, high in sorted(spans):
        if low > reach and low > 0:
            starts.append(low)
        reach = max(reach, high)
    return [*starts, length]
