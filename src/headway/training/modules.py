"""Modules that are not headway's: their description, state and trial."""

import random
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

from headway import userfile
from headway.errors import HeadwayError, require
from headway.fields import AtLeastOne, NotNegative, check
from headway.models import Tapped
from headway.models.tapped import eagerly
from headway.reading import is_file
from headway.userfile import Source

WRAPPERS = (nn.DataParallel, nn.parallel.DistributedDataParallel, AveragedModel, Tapped)


@dataclass(frozen=True)
class Module:
    """A module of one's own, as `config.json` tells of it.

    Attributes:
        n_layers: how many attention calls a pass makes.
        n_heads: heads in each.
        parameters: numbers in its weights.
        causal: whether positions see only themselves and what comes before.
        builder: the function or class that builds it, by name; None if there is none.
        file: that defines the builder.
        sha256: of that file, when it was used (see `userfile.Source`).
    """

    n_layers: AtLeastOne
    n_heads: AtLeastOne
    parameters: NotNegative
    causal: bool
    builder: str | None = None
    file: str | None = None
    sha256: str | None = None

    def __post_init__(self):
        check(self, "model.")

    @property
    def size(self) -> str:
        """Its size, in words."""
        return f"{self.parameters:,} parameters"

    @classmethod
    def of(
        cls, model: Tapped, build: Callable[[], nn.Module] | None, causal: bool
    ) -> "Module":
        """Describes a module.

        Args:
            model: with its tap.
            build: builds one like it; by default its class, if that takes no arguments.
            causal: whether attention is masked.

        Raises:
            HeadwayError: if `build` does not build such a module, or is in no file.
        """
        count = sum(weight.numel() for weight in model.parameters())
        size = model.n_layers, model.n_heads, count, causal
        maker = type(model.module) if build is None else build
        if problem := _why_not(maker, model.module):
            require(build is None, "build", getattr(build, "__name__", build), problem)
            return cls(*size)
        source = userfile.source_of(maker)
        assert source is not None
        return cls(*size, maker.__name__, source.file, source.sha256)

    def build(self) -> Any:
        """Builds what should be the module, with any weights.

        Raises:
            HeadwayError: if there is no builder, the user does not trust it (see
                `userfile`), or its file is gone or fails.
        """
        if self.builder is None or self.file is None:
            raise HeadwayError(
                "the model of this run was recorded without a way to build it:"
                " open the run in Python, headway.Run.open(folder, build=…),"
                " or record it with build=…"
            )
        made = userfile.load_named("model.file", self.file, self.builder)
        return userfile.called(Path(self.file), made)

    def keep(self) -> None:
        """Puts what builds the module on the user's list (see `userfile.keep`)."""
        if (
            self.builder is not None
            and self.file is not None
            and self.sha256 is not None
        ):
            userfile.keep(Source(self.file, self.sha256).line(self.builder))

    @property
    def changed(self) -> str | None:
        """The change of the file since the run was recorded; None if there is none."""
        if self.file is None or not is_file(self.file):
            return None
        now = Source.of(Path(self.file)).sha256
        if now == self.sha256:
            return None
        return f"{self.file} has changed since"


def _why_not(build: Any, like: nn.Module) -> str | None:
    """The reason why a function cannot build a module elsewhere; None if it can."""
    allowed = (
        "a function or class of a file of yours, that can be called without arguments"
    )
    if (
        not getattr(build, "__qualname__", "").isidentifier()
        or userfile.source_of(build) is None
    ):
        return allowed
    try:
        with drawing_nothing(), torch.no_grad():
            made = build()
        wanted, made_shapes = (
            {name: weight.shape for name, weight in weights_of(module).items()}
            for module in (like, plain(made))
        )
    except Exception as error:  # whatever a constructor of somebody's may raise
        return f"{allowed} ({userfile.described(error)})"
    return (
        None
        if wanted == made_shapes
        else "one that builds a module with weights of the same shapes"
    )


def plain(model: nn.Module) -> nn.Module:
    """The module that was compiled, replicated, averaged or tapped."""
    inner = (
        model.module
        if isinstance(model, WRAPPERS)
        else getattr(model, "_orig_mod", None)
    )
    if inner is None:
        return model
    return plain(inner)


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """The state dict of a plain module, for a checkpoint, as if not compiled."""
    return {
        name.replace("_orig_mod.", ""): weight
        for name, weight in model.state_dict().items()
    }


def load_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Gives a plain module the weights that `weights_of` found, in their precision.

    Raises:
        RuntimeError: if they do not fit.
    """
    own = model.state_dict()
    kinds = [
        {w.dtype for w in some.values() if w.is_floating_point()}
        for some in (weights, own)
    ]
    if (
        kinds[0] != kinds[1] and len(kinds[0]) == 1
    ):  # what is not in the state dict goes along
        model.to(dtype=next(iter(kinds[0])))
    names = {name.replace("_orig_mod.", ""): name for name in own}
    named = {names.get(name, name): weight for name, weight in weights.items()}
    model.load_state_dict(named, assign=True)


@torch.no_grad()
def is_causal(model: Tapped, inputs: Tensor) -> bool:
    """Tell whether no position attends to a later one; empty rows do not.

    Keys beyond the positions are none, such as a sink.
    """
    ahead: list[bool] = []

    def look(_: int, pattern: Tensor) -> Tensor:
        positions = pattern[..., : pattern.shape[-2]].nan_to_num(0.0)
        ahead.append(bool(positions.triu(1).any()))
        return pattern

    model(inputs, look)
    return not any(ahead)


@contextmanager
def unchanged(model: nn.Module) -> Iterator[None]:
    """Lets a module run in evaluation mode on a copy of its state.

    The state is all that its submodules hold: weights, buffers, flags, hooks, numbers,
    tensors and containers of them. The originals are never written to. Nothing is drawn
    from the generators of random numbers either, as far as the caller can tell.
    Compiled parts run as they were written.

    Raises:
        HeadwayError: if a submodule keeps its state elsewhere.
    """
    for name, module in model.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            where = name or type(model).__name__
            raise HeadwayError(
                f"{where} is compiled by torch.jit, whose state cannot be put aside"
            )
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
    """Puts the generators of random numbers back: those of Python, NumPy and torch, and
    of the GPUs that a module lies on."""
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
    kind = type(value)
    made = value
    if isinstance(value, Tensor):
        made = value.detach().clone()
        is_weight = isinstance(value, nn.Parameter)
        made = nn.Parameter(made, value.requires_grad) if is_weight else made
    elif isinstance(value, torch.Generator):
        made = value.clone_state()
    elif kind is tuple:
        made = tuple(_copied(item, known) for item in value)
    elif kind in (list, deque, dict, OrderedDict, defaultdict, set):
        known[id(value)] = made = value.copy()
        places = value.items() if isinstance(value, dict) else enumerate(value)
        for place, item in () if kind is set else places:
            made[place] = _copied(item, known)
    known[id(value)] = made
    return made
