"""Models that are not headway's: how a run's folder tells of one, and how it is built again."""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from headway import userfile
from headway.errors import HeadwayError, require
from headway.fields import AtLeastOne, NotNegative, check
from headway.models import Tapped
from headway.reading import is_file
from headway.training.unchanged import drawing_nothing
from headway.training.weights import plain, weights_of
from headway.userfile import Source


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
        """How large it is, in words."""
        return f"{self.parameters:,} parameters"

    @classmethod
    def of(cls, model: Tapped, build: Callable[[], nn.Module] | None, causal: bool) -> "Module":
        """Describes a module.

        Args:
            model: with its tap.
            build: builds one like it; by default its class, if that takes no arguments.
            causal: whether attention is masked.

        Raises:
            HeadwayError: if `build` does not build such a module, or is in no file.
        """
        count = sum(weight.numel() for weight in model.parameters())
        described = cls(model.n_layers, model.n_heads, count, causal)
        own = parametrize.type_before_parametrizations(model.module)
        maker = own if build is None else build
        problem = _why_not(maker, model.module)
        if problem and build is not None:
            require(False, "build", getattr(build, "__name__", build), problem)
        if problem:
            return described
        source = userfile.source_of(maker)
        assert source is not None
        return dataclasses.replace(
            described, builder=maker.__name__, file=source.file, sha256=source.sha256
        )

    def build(self) -> nn.Module:
        """Builds the module, with any weights.

        Raises:
            HeadwayError: if there is no builder, the user does not trust it (see `userfile`), or
                its file is gone or fails.
        """
        if self.builder is None or self.file is None:
            raise HeadwayError(
                "the model of this run was recorded without a way to build it: open the run in"
                " Python, headway.Run.open(folder, build=…), or record it with build=…"
            )
        made = userfile.builder_named("model.file", self.file, self.builder)
        built = userfile.called(Path(self.file), made)
        if not isinstance(built, nn.Module):
            told = f"{self.builder} returned {type(built).__name__}"
            raise HeadwayError(f"{self.file}: {told}: it must be a torch.nn.Module")
        return built

    def keep(self) -> None:
        """Puts what builds the module on the user's list (see `userfile.keep`)."""
        if self.builder is not None and self.file is not None and self.sha256 is not None:
            userfile.keep(Source(self.file, self.sha256), self.builder)

    @property
    def changed(self) -> str | None:
        """How the file differs from the one that the run was recorded with; None if not."""
        if self.file is None or not is_file(self.file):
            return None
        now = Source.of(Path(self.file)).sha256
        return None if now == self.sha256 else f"{self.file} has changed since"


@contextmanager
def told(what: str) -> Iterator[None]:
    """Makes one clear line of whatever a task, module or builder of somebody's raises."""
    try:
        yield
    except HeadwayError:
        raise
    except Exception as error:
        raise HeadwayError(f"{what} raises {userfile.described(error)}") from error


def _why_not(build: Any, like: nn.Module) -> str | None:
    """Why a function cannot build a module again, in another process; None if it can."""
    allowed = "a function or class of a file of yours, that can be called without arguments"
    if not getattr(build, "__qualname__", "").isidentifier() or userfile.source_of(build) is None:
        return allowed
    try:
        with (
            drawing_nothing(),
            torch.no_grad(),
        ):  # what the caller draws next is not to depend on it
            made = build()
        if not isinstance(made, nn.Module):
            return f"{allowed} and builds a module, not a {type(made).__name__}"
        wanted, found = (_shapes(module) for module in (like, plain(made)))
    except Exception as error:  # whatever a constructor of somebody's may raise
        return f"{allowed} ({userfile.described(error)})"
    return None if wanted == found else "one that builds a module with weights of the same shapes"


def _shapes(module: nn.Module) -> dict[str, torch.Size]:
    return {name: weight.shape for name, weight in weights_of(module).items()}


@torch.no_grad()
def is_causal(model: Tapped, inputs: Tensor) -> bool:
    """Whether no position attends to a later one; a row that sees nothing, perhaps NaN, does not.

    Keys beyond the positions are none, such as a sink.
    """
    ahead: list[bool] = []

    def look(_: int, pattern: Tensor) -> Tensor:
        positions = pattern[..., : pattern.shape[-2]].nan_to_num(0.0)
        ahead.append(bool(positions.triu(1).any()))
        return pattern

    model(inputs, look)
    return not any(ahead)
