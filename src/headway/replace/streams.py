"""Residual streams of a `Transformer` under candidates, computed once.

Candidates that a search compares differ in a head or two, so most of what they compute
is the same: their streams are equal below the first layer in which they differ.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

import torch
from torch import Tensor

from headway.models import Transformer
from headway.replace.heads import Head
from headway.replace.mechanism import Mechanism
from headway.replace.patterns import Patterns, tap_of

Candidate = Mapping[Head, Mechanism]
CandidateKey = frozenset[tuple[Head, Mechanism]]

MOST_VECTORS = 500_000
"""Stream vectors (one position of one sequence after one layer) that are computed at
once at most, and that are kept for later candidates."""

AT_ONCE = 16_384
"""Stream vectors of one layer that are computed in one go."""


class Stream(NamedTuple):
    """The residual streams of some sequences.

    Attributes:
        start: the first of the sequences.
        stop: behind the last.
        layers: that they have passed.
        mechanisms: in these layers.
    """

    start: int
    stop: int
    layers: int
    mechanisms: CandidateKey

    @property
    def below(self) -> "Stream":
        """This stream before its last layer."""
        layers = self.layers - 1
        mechanisms = frozenset(each for each in self.mechanisms if each[0][0] < layers)
        return Stream(self.start, self.stop, layers, mechanisms)


class Streams:
    """Known residual streams of a model under candidates.

    Args:
        model: whose streams are kept.
        patterns: of mechanisms, on the sequences.

    Attributes:
        computed: stream vectors so far.
    """

    def __init__(self, model: Transformer, patterns: Patterns):
        self.model, self.patterns = model, patterns
        self.computed = 0
        self._known: dict[Stream, Tensor] = {}
        self._held = 0

    def outputs(self, candidates: Sequence[Candidate], part: slice) -> Tensor:
        """The outputs under candidates, [candidate, sequence, query, output]."""
        self._forget()
        last = [
            Stream(
                part.start, part.stop, self.model.n_layers, frozenset(candidate.items())
            )
            for candidate in candidates
        ]
        # By layer, and by whether it needs no queries and keys: streams, each with its
        # candidate.
        missing = defaultdict[tuple[int, bool], dict[Stream, Candidate]](dict)
        for stream, candidate in zip(last, candidates, strict=True):
            for unknown in self._unknown(stream):
                layer = unknown.layers - 1
                kind = layer, self.patterns.are_known(candidate, layer)
                missing[kind][unknown] = candidate
        for layer, are_known in sorted(missing):
            self._compute(missing[layer, are_known], layer, are_known, part)
        streams = torch.cat([self._known[stream] for stream in last])
        return self.model.read(streams).unflatten(0, (len(last), -1))

    def _forget(self) -> None:
        """Forgets what was longest not used, where too much is kept."""
        while self._held > MOST_VECTORS:
            oldest = next(iter(self._known))
            self._held -= self._known.pop(oldest).shape[:2].numel()

    def _unknown(self, stream: Stream) -> list[Stream]:
        """A stream and those below it, as far down as they are not known."""
        unknown = list[Stream]()
        while stream.layers > 0:
            if stream in self._known:
                # The last to be forgotten.
                self._known[stream] = self._known.pop(stream)
                break
            unknown.append(stream)
            stream = stream.below
        return unknown

    def _compute(
        self,
        streams: Mapping[Stream, Candidate],
        layer: int,
        are_known: bool,
        part: slice,
    ) -> None:
        """Computes streams after a layer from those below it.

        Args:
            streams: each with a candidate that has it.
            layer: that they have passed last.
            are_known: whether its patterns need no queries and keys.
            part: the sequences.
        """
        model = self.model
        inputs = self.patterns.batch.inputs[part]
        sequences, length = inputs.shape[:2]
        is_last = layer == model.n_layers - 1
        n_read = self.patterns.batch.targets.shape[1] if is_last else length
        mask = None if model.mask is None else model.mask[:length, :length]
        left = iter(streams.items())
        together = max(1, AT_ONCE // (sequences * length))
        while some := dict(islice(left, together)):
            if layer == 0:
                below = model.embedded(inputs).repeat(len(some), 1, 1)
            else:
                below = torch.cat([self._known[stream.below] for stream in some])
            tap = tap_of(self.patterns, [*some.values()], part, length - n_read)
            own = partial(tap, layer)
            after = model.layers[layer](
                below, mask, own(None) if are_known else own, n_read
            )
            vectors = after.shape[:2].numel()
            self.computed += vectors
            self._held += vectors
            self._known.update(zip(some, after.chunk(len(some)), strict=True))
