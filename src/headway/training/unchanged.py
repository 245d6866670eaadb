"""A module of somebody's at work, and afterwards the same to the last bit."""

import random
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from headway.errors import HeadwayError
from headway.models.passes import eagerly


@contextmanager
def unchanged(model: nn.Module) -> Iterator[None]:
    """Lets a module run in evaluation mode on a copy of its state, which is dropped afterwards.

    The state is all that its submodules hold: weights, buffers, flags, hooks, numbers, tensors and
    containers of them. The originals are never written to. Nothing is drawn from the generators of
    random numbers either, as far as the caller can tell. Compiled parts run as they were written.

    Raises:
        HeadwayError: if a submodule keeps its state elsewhere.
    """
    for name, module in model.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            where = name or type(model).__name__
            raise HeadwayError(f"{where} is compiled by torch.jit, whose state cannot be put aside")
    known: dict[int, Any] = {}
    own = [(module, module.__dict__) for module in model.modules()]
    try:
        for module, state in own:
            copied = {name: _copied(value, known) for name, value in state.items()}
            object.__setattr__(module, "__dict__", copied | {"training": False})
        with torch.no_grad(), drawing_nothing(model), eagerly():
            yield
    finally:
        for module, state in own:
            object.__setattr__(module, "__dict__", state)


@contextmanager
def drawing_nothing(model: nn.Module | None = None) -> Iterator[None]:
    """Puts the generators of random numbers back: those of Python, NumPy and torch, and of the
    GPUs that a module lies on."""
    places = () if model is None else (*model.parameters(), *model.buffers())
    gpus = {place.device for place in places if place.device.type == "cuda"}
    numpy = sys.modules.get("numpy")
    drawn = random.getstate(), None if numpy is None else numpy.random.get_state()
    try:
        with torch.random.fork_rng(gpus):
            yield
    finally:
        random.setstate(drawn[0])
        if numpy is not None:
            numpy.random.set_state(drawn[1])


def _copied(value: Any, known: dict[int, Any]) -> Any:
    """A copy of tensors, generators and containers of them; all else as it is.

    Args:
        value: what a module holds.
        known: the copies so far by the original, so that what is shared stays shared.
    """
    if id(value) in known:
        return known[id(value)]
    kind, made = type(value), value
    if isinstance(value, Tensor):
        made = value.detach().clone()
        is_weight = isinstance(value, nn.Parameter)
        made = nn.Parameter(made, value.requires_grad) if is_weight else made
    elif isinstance(value, torch.Generator):
        made = value.clone_state()
    elif kind is tuple:
        made = tuple(_copied(one, known) for one in value)
    elif kind in (list, deque, dict, OrderedDict, defaultdict, set):
        known[id(value)] = made = value.copy()
        places = value.items() if isinstance(value, dict) else enumerate(value)
        for place, one in () if kind is set else places:
            made[place] = _copied(one, known)
    known[id(value)] = made
    return made
