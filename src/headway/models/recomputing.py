"""Checkpointed modules (`torch.utils.checkpoint`), kept from recomputing.

A backward pass would call a layer again outside the tap, so that the layer's own
pattern would take the place of the one that was put.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch.utils.checkpoint as checkpoint


class _Direct:
    """The place of `CheckpointFunction`, of checkpoints with `use_reentrant`."""

    @staticmethod
    def apply(function: Callable[..., Any], _: bool, *args: Any) -> Any:
        """The outputs of the function, without a checkpoint."""
        return function(*args)


def _nothing(*_: Any, **__: Any) -> Iterator[None]:
    """The place of what other checkpoints do before and after a function."""
    yield


INSTEAD = {
    "CheckpointFunction": _Direct,
    "_checkpoint_without_reentrant_generator": _nothing,
}
"""Substitutes for parts of `torch.utils.checkpoint`, by their names there."""
OWN = {name: getattr(checkpoint, name) for name in INSTEAD if hasattr(checkpoint, name)}


class _Inside:
    """The number of passes inside `kept` now, in all threads."""

    def __init__(self):
        self.lock = threading.Lock()
        self.count = 0

    def add(self, more: int) -> None:
        with self.lock:
            self.count += more
            for name, own in OWN.items():
                setattr(checkpoint, name, INSTEAD[name] if self.count else own)


_inside = _Inside()


@contextmanager
def kept() -> Iterator[None]:
    """Lets checkpointed modules keep what a backward pass needs."""
    _inside.add(1)
    try:
        yield
    finally:
        _inside.add(-1)
