"""Residual streams of a `Transformer` under changes, computed once.

Changes that are compared differ in a head or two, or from some layer up. Below the
first layer that a change concerns its streams are the model's own; and they are those
of another change below the first layer in which the two differ.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from headway.models import Transformer
from headway.replace.heads import Head
from headway.replace.patterns import Patterns, as_it_is, tap_of
from headway.replace.streams import AT_ONCE, mask_and_reads

if TYPE_CHECKING:
    from headway.replace.exchange import Change

Parts = frozenset[tuple[Head, Hashable]]
"""Parts of a change up to some layer, which decide the streams after it."""

ReadBy = Callable[["Sequence[Change]", int, int, Tensor, Tensor], Tensor]
"""A function to what the heads of a layer read under changes side by side, from a first
query on, given their pattern and values."""


class ChangedStreams:
    """The streams of a model under changes, and what it then puts out.

    Args:
        model: whose streams they are.
        patterns: of mechanisms, on the sequences.
        read: what heads read.

    Attributes:
        own: streams of the model as it is, before each layer and after the last.
        computed: stream vectors so far.
    """

    @torch.no_grad()
    def __init__(self, model: Transformer, patterns: Patterns, read: ReadBy):
        self.model = model
        self.patterns = patterns
        self.read = read
        inputs = patterns.batch.inputs
        self.own = [model.embedded(inputs), *model.streams(inputs, as_it_is)]
        self.computed = 0
        self._vectors = inputs.shape[:2].numel()

    def outputs(
        self, changes: "Sequence[Change]"
    ) -> Float[Tensor, "change sequence query output"]:
        """The outputs under changes."""
        streams = dict[Parts, Tensor]()
        for layer in range(self.model.n_layers):
            distinct: dict[Parts, Change] = {}
            for change in changes:
                distinct.setdefault(parts_below(change, layer + 1), change)
            # Where nothing is changed so far, the stream is known.
            distinct.pop(frozenset(), None)
            streams = self._after(layer, distinct, streams)
        n_read = self.patterns.batch.targets.shape[1]
        streams[frozenset()] = self.own[-1][:, -n_read:]
        last = [streams[parts_below(change, self.model.n_layers)] for change in changes]
        return self.model.read(torch.cat(last)).unflatten(0, (len(last), -1))

    def _after(
        self, layer: int, changes: "Mapping[Parts, Change]", below: dict[Parts, Tensor]
    ) -> dict[Parts, Tensor]:
        """Streams after a layer.

        Args:
            layer: that they pass.
            changes: one of each kind, by what they do up to this layer.
            below: streams before the layer, by what changes do below it.
        """
        after = dict[Parts, Tensor]()
        together = max(1, AT_ONCE // self._vectors)
        left = iter(changes.items())
        while some := dict(islice(left, together)):
            before = list[Tensor]()
            for change in some.values():
                before.append(below.get(parts_below(change, layer), self.own[layer]))
            streams = self._passed(layer, [*some.values()], torch.cat(before))
            self.computed += streams.shape[:2].numel()
            after.update(zip(some, streams.chunk(len(some)), strict=True))
        return after

    def _passed(
        self, layer: int, changes: "Sequence[Change]", before: Tensor
    ) -> Tensor:
        """Streams after a layer, of changes side by side, given those before it.

        The last layer gives what is read alone.
        """
        mask, n_read = mask_and_reads(self.model, self.patterns, layer)
        start = before.shape[1] - n_read
        mechanisms = [change.mechanisms for change in changes]
        tap = partial(tap_of(self.patterns, mechanisms, slice(None), start), layer)
        read = partial(self.read, changes, layer, start)
        return self.model.layers[layer](before, mask, tap, n_read, read)


def parts_below(change: "Change", layer: int) -> Parts:
    """The parts of a change below a layer: its very swaps, and keys of its mechanisms.

    (Swaps hold tensors, which are not compared.)
    """
    parts = list[tuple[Head, Hashable]]()
    for head, swap in change.swaps.items():
        if head[0] < layer:
            parts.append((head, id(swap)))
    for head, mechanism in change.mechanisms.items():
        if head[0] < layer:
            parts.append((head, mechanism.told_by))
    return frozenset(parts)
