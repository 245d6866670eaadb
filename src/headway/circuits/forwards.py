"""Outputs of a model with mechanisms in the place of its heads, many candidates side by side.

Candidates that a search compares differ in a head or two, so most of what they compute is the same:
their residual streams are equal up to the first layer in which they differ and, under the causal
mask, at all positions before the first at which they differ. A `Transformer` computes that once.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from headway.circuits.mechanism import Head, KnockOut, Mechanism, Paths
from headway.circuits.patterns import Patterns, tap_of
from headway.models import Tappable, Transformer
from headway.tasks import Batch

Candidate = Mapping[Head, Mechanism]

Named = tuple[int, int, int]
"""A stream after so many layers: the sequences' first and last, and what it was computed by."""

MOST_VECTORS = 300_000
"""Stream vectors kept for later candidates; beyond that, the least recently used are dropped."""

AT_ONCE = 16_384
"""Stream vectors computed in one go at most, if they are kept."""


class Forwards:
    """The outputs of a model on some sequences, under any number of candidates.

    Attributes:
        computed: stream vectors (one position of one sequence through one layer) computed so far.
    """

    def __init__(self, model: Tappable, batch: Batch, patterns: Patterns):
        self.model, self.patterns = model, patterns
        self.inputs, self.n_read = batch.inputs, batch.targets.shape[1]
        self.computed = 0

    def outputs(
        self, candidates: Sequence[Candidate], part: slice
    ) -> Float[Tensor, "candidate sequence read output"]:
        """What the model puts out at the queries of a part of the sequences."""
        inputs, count = self.inputs[part], len(candidates)
        together = inputs.repeat(count, *[1] * (inputs.ndim - 1))
        said = self.model(together, tap_of(self.patterns, candidates, part))
        self.computed += together.shape[:2].numel() * self.model.n_layers
        return said[:, -self.n_read :].unflatten(0, (count, len(inputs)))


class Resumed(Forwards):
    """The same of a `Transformer`, going on from what is known of other candidates."""

    model: Transformer

    def __init__(self, model: Transformer, batch: Batch, patterns: Patterns):
        super().__init__(model, batch, patterns)
        length = self.inputs.shape[1]
        starts = {one.query_span[0] for one in patterns.relations.values()}
        self._cuts = (
            [length, *sorted(starts - {0}, reverse=True)] if model.config.causal else [length]
        )
        self._numbers: dict[tuple[object, ...], int] = {}
        self._known: dict[Named, Tensor] = {}
        self._alike: dict[Named, int] = {}
        self._held = 0

    def outputs(
        self, candidates: Sequence[Candidate], part: slice
    ) -> Float[Tensor, "candidate sequence read output"]:
        """What the model puts out at the queries of a part of the sequences."""
        span, depth, known = (part.start, part.stop), self.model.n_layers, self._known
        while self._held > MOST_VECTORS:
            self._held -= known.pop(next(iter(known))).shape[:2].numel()
        missing = [dict[int, tuple[Candidate, list[list[int]]]]() for _ in range(depth)]
        last = list[int]()
        for candidate in candidates:
            names = self._names(candidate)
            last.append(names[depth][0])
            for layer in reversed(range(depth)):
                if (name := (*span, names[layer + 1][0])) in known:
                    known[name] = known.pop(name)  # the last to be forgotten
                    break
                missing[layer][names[layer + 1][0]] = candidate, names
        for layer, units in enumerate(missing):
            groups = defaultdict[int, list[int]](list)
            for name, (_, names) in units.items():
                groups[self._start(span, layer, names[layer + 1])].append(name)
            for start, group in groups.items():
                self._compute(layer, {name: units[name] for name in group}, start, part)
        read = self.model.read(torch.cat([known[*span, name] for name in last]))
        return read.unflatten(0, (len(last), -1))

    def _names(self, candidate: Candidate) -> list[list[int]]:
        """The name of the stream before every layer and after the last, up to every cut."""
        names = [[0] * len(self._cuts)]
        for layer in range(self.model.n_layers):
            heads = [candidate.get((layer, head)) for head in range(self.model.n_heads)]
            names.append(
                [
                    self._numbers.setdefault(
                        (layer, below, cut, *(self._before(cut, one) for one in heads)),
                        len(self._numbers) + 1,
                    )
                    for below, cut in zip(names[-1], self._cuts, strict=True)
                ]
            )
        return names

    def _before(self, cut: int, mechanism: Mechanism | None) -> Mechanism | None:
        """As much of a mechanism as concerns the positions before a cut."""
        if isinstance(mechanism, KnockOut) or (
            isinstance(mechanism, Paths) and self.patterns.fill(mechanism) == "zero"
        ):
            found = self.patterns.relations
            kept = {n for n in mechanism.relations if found[n].query_span[0] < cut}
            return type(mechanism)(frozenset(kept))
        return mechanism

    def _start(self, span: tuple[int, int], layer: int, names: list[int]) -> int:
        """The first position after a layer at which nothing known is the same."""
        if layer == self.model.n_layers - 1:
            return self.inputs.shape[1] - self.n_read
        for cut, name in zip(self._cuts, names, strict=True):
            if (*span, self._alike.get((*span, name), -1)) in self._known:
                return cut
        return 0

    def _compute(
        self,
        layer: int,
        units: Mapping[int, tuple[Candidate, list[list[int]]]],
        start: int,
        part: slice,
    ) -> None:
        """Computes streams after a layer from those before it, from some position on."""
        span, (size, length) = (part.start, part.stop), self.inputs[part].shape[:2]
        model, together = self.model, max(1, AT_ONCE // (size * length))
        mask = None if model.mask is None else model.mask[:length, :length]
        for i in range(0, len(units), together):
            some = dict(list(units.items())[i : i + together])
            if layer == 0:
                x = model.embedded(self.inputs[part]).repeat(len(some), 1, 1)
            else:
                x = torch.cat([self._known[*span, n[layer][0]] for _, n in some.values()])
            tap = tap_of(self.patterns, [one for one, _ in some.values()], part, start)
            new = model.layers[layer](x, mask, lambda own, tap=tap: tap(layer, own), length - start)
            self.computed += new.shape[:2].numel()
            for (name, (_, names)), one in zip(some.items(), new.chunk(len(some)), strict=True):
                if start and layer < model.n_layers - 1:
                    at = self._cuts.index(start)
                    other = self._known[*span, self._alike[*span, names[layer + 1][at]]]
                    one = torch.cat([other[:, :start], one], 1)
                self._known[*span, name] = one
                self._held += one.shape[:2].numel()
                for alike in names[layer + 1]:
                    self._alike[*span, alike] = name
