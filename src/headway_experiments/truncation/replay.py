"""Layers below the first one that changed are not computed again: their output is kept."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch import nn


class Replay:
    """The outputs of layers for batches that are read again and again, while later layers change.

    The numbers are those of the whole computation, to the bit. For every batch, the residual stream
    in front of every layer of `starts` is kept.

    Args:
        layers: of a model, in order; each is given what the one before it gave.
        starts: layers from which on something may change.
    """

    def __init__(self, layers: Sequence[nn.Module], starts: Iterable[int]):
        self.layers = layers
        self.starts = sorted({start for start in starts if start > 0})
        self._kept: dict[tuple[Hashable, int], Any] = {}

    @contextmanager
    def intact_below(self, first: int | None, batch: Hashable) -> Iterator[None]:
        """Within it, the model reads a batch with the layers below `first` as they were.

        Args:
            first: the lowest layer that changed, if any did.
            batch: a name of what is read.
        """
        known = None if first is None else self._kept.get((batch, first))
        before = [(layer, vars(layer).get("forward")) for layer in self.layers]
        try:
            if known is not None:
                for layer in self.layers[:first]:
                    layer.forward = lambda *_, **__: known
            else:
                for start in self.starts:
                    if first is None or start <= first:
                        layer = self.layers[start - 1]
                        layer.forward = self._keeping(layer.forward, (batch, start))
            yield
        finally:
            for layer, own in before:
                vars(layer).pop("forward", None)
                if own is not None:
                    layer.forward = own

    def _keeping(
        self, forward: Callable[..., Any], place: tuple[Hashable, int]
    ) -> Callable[..., Any]:
        def kept(*given: Any, **named: Any) -> Any:
            self._kept[place] = forward(*given, **named)
            return self._kept[place]

        return kept
