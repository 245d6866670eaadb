"""Residual streams of a `Transformer` under candidates, computed once.

Candidates that a search compares differ in a head or two, so most of what they compute
is the same: their streams are equal below the first layer in which they differ.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
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

    @classmethod
    def after(cls, layers: int, candidate: Candidate, part: slice) -> "Stream":
        """The streams of a part of the sequences after all layers."""
        mechanisms = frozenset(candidate.items())
        return cls(part.start, part.stop, layers, mechanisms)

    @property
    def below(self) -> "Stream":
        """This stream before its last layer."""
        layers = self.layers - 1
        below = [(head, each) for head, each in self.mechanisms if head[0] < layers]
        return Stream(self.start, self.stop, layers, frozenset(below))


class Streams:
    """Known residual streams of a model under candidates.

    Args:
        model: whose streams are kept.
        patterns: of mechanisms, on the sequences.

    Attributes:
        computed: stream vectors so far.
    """

    def __init__(self, model: Transformer, patterns: Patterns):
        self.model = model
        self.patterns = patterns
        self.computed = 0
        self._known: dict[Stream, Tensor] = {}
        self._held = 0

    def outputs(self, candidates: Sequence[Candidate], part: slice) -> Tensor:
        """The outputs under candidates, [candidate, sequence, query, output]."""
        self._forget()
        layers = self.model.n_layers
        last = [Stream.after(layers, candidate, part) for candidate in candidates]
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
        sequences, length = self.patterns.batch.inputs[part].shape[:2]
        together = max(1, AT_ONCE // (sequences * length))
        left = iter(streams.items())
        while some := dict(islice(left, together)):
            below = self._below(some, layer, part)
            after = self._after(below, [*some.values()], layer, are_known, part)
            vectors = after.shape[:2].numel()
            self.computed += vectors
            self._held += vectors
            self._known.update(zip(some, after.chunk(len(some)), strict=True))

    def _below(self, streams: Collection[Stream], layer: int, part: slice) -> Tensor:
        """Streams before they pass a layer, one behind the other."""
        if layer > 0:
            return torch.cat([self._known[stream.below] for stream in streams])
        embedded = self.model.embedded(self.patterns.batch.inputs[part])
        return embedded.repeat(len(streams), 1, 1)

    def _after(
        self,
        below: Tensor,
        candidates: Sequence[Candidate],
        layer: int,
        are_known: bool,
        part: slice,
    ) -> Tensor:
        """Streams after a layer, given those before it, with each candidate in place.

        The last layer gives what is read alone.
        """
        mask, n_read = mask_and_reads(self.model, self.patterns, layer)
        start = below.shape[1] - n_read
        tap = partial(tap_of(self.patterns, candidates, part, start), layer)
        pattern = tap(None) if are_known else tap
        return self.model.layers[layer](below, mask, pattern, n_read)


def mask_and_reads(
    model: Transformer, patterns: Patterns, layer: int
) -> tuple[Tensor | None, int]:
    """The mask of a layer, and at how many of the last positions it is read."""
    _, length, _ = patterns.shape
    is_last = layer == model.n_layers - 1
    n_read = patterns.batch.targets.shape[1] if is_last else length
    mask = None if model.mask is None else model.mask[:length, :length]
    return mask, n_read
