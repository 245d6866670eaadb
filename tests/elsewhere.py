"""A device that needs no hardware: its tensors are computed by the CPU, but may not
meet the CPU's.

Whatever is computed of a tensor on `PLACE` together with one of the CPU raises what a
GPU would raise, so a tensor that was made on the wrong device is found without one.
Values are the CPU's to the last bit. (PyTorch's dispatch key PrivateUse1, renamed; its
kernels are `computed`.)
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from headway.training import config

PLACE = "elsewhere"
MAY_MEET = ("copy_", "_copy_from", "_to_copy")
"""Operations that take tensors of two devices on a GPU, too."""
INDEXES = ("index", "index_put_", "_index_put_impl_")
"""Operations that take places on the CPU for a tensor on a GPU, but not the other way
about.
"""
ATEN = torch.ops.aten
KEY = "PrivateUse1"
LIBRARIES = [torch.library.Library("_", "IMPL"), torch.library.Library("aten", "IMPL")]
"""Kernels are there as long as these are."""


class Elsewhere(torch.Tensor):
    """A tensor on the device; `held` has its values."""

    @staticmethod
    def __new__(cls, held: torch.Tensor):
        about = {"strides": held.stride(), "storage_offset": held.storage_offset()}
        place = torch.device(PLACE, 0)
        made = torch.Tensor._make_wrapper_subclass(
            cls, held.size(), **about, dtype=held.dtype, device=place
        )
        made.held = held
        return made

    def tolist(self):
        return self.held.tolist()

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return computed(function, args, kwargs or {})


class Generator(torch.Generator):
    """A generator for a device, which draws on the CPU."""

    def __new__(cls, device: Any = "cpu"):
        made = super().__new__(cls, "cpu")
        made.place = torch.device(device)
        return made

    def __init__(self, device: Any = "cpu"):
        super().__init__()

    @property
    def device(self) -> torch.device:
        return self.place


class SameGenerator(TorchFunctionMode):
    """Refuses to draw on one device by a generator of another."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        drawn_by = (kwargs or {}).get("generator")
        if isinstance(drawn_by, Generator) and made.device.type != drawn_by.device.type:
            raise RuntimeError(
                f"a generator of {drawn_by.device.type} draws on {made.device}"
            )
        return made


def computed(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The result of an operation, on the device if its tensors are there or it is made
    there.
    """
    name = function.overloadpacket.__name__
    given = [
        one for one in tree_flatten((args, kwargs))[0] if isinstance(one, torch.Tensor)
    ]
    there = [one for one in given if isinstance(one, Elsewhere)]
    here = [one for one in given if not isinstance(one, Elsewhere) and one.ndim]
    may_meet = name in MAY_MEET or (name in INDEXES and isinstance(args[0], Elsewhere))
    if there and here and not may_meet:
        raise RuntimeError(f"{name}: expected all tensors to be on the same device")
    is_there = bool(there) and (name != "copy_" or isinstance(args[0], Elsewhere))
    if (device := kwargs.get("device")) is not None:
        is_there = torch.device(device).type == PLACE
        kwargs = {**kwargs, "device": "cpu"} if is_there else kwargs
    known = {id(one.held): one for one in there}
    args, kwargs = tree_map(lambda one: getattr(one, "held", one), (args, kwargs))

    def placed(one: Any) -> Any:
        if is_there and isinstance(one, torch.Tensor):
            return known[id(one)] if id(one) in known else Elsewhere(one)
        return one

    return tree_map(placed, function(*args, **kwargs))


def register() -> None:
    """Make PyTorch know the device, once, and before the first backward pass of a
    process.
    """
    if hasattr(torch, PLACE):
        return
    _setup_privateuseone_for_python_backend(PLACE)
    every, some = LIBRARIES
    every.fallback(
        lambda function, *args, **kwargs: computed(function, args, kwargs), KEY
    )
    for name in (
        "empty_strided",
        "copy_",
        "_copy_from",
    ):  # which C++ calls without a fallback
        function = getattr(ATEN, name).default
        some.impl(
            name, lambda *args, _=function, **kwargs: computed(_, args, kwargs), KEY
        )


@contextmanager
def elsewhere() -> Iterator[None]:
    """Within it there is the device, and runs may be computed on it."""
    register()
    devices = patch.object(config, "DEVICES", re.compile(f"cpu|{PLACE}(:0)?"))
    with patch("torch.Generator", Generator), devices, SameGenerator():
        yield
