"""Hooks and caches: a computation seen and changed by TransformerLens' names.

Wherever something can be looked at, a model has a `HookPoint`. Its path in the model is
its name, such as `blocks.1.attn.hook_pattern`, and torch's forward hooks do the rest.
"""

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn

from headway.errors import HeadwayError

Key = str | tuple[Any, ...]
"""A way to write `blocks.1.attn.hook_pattern`: that, or `blocks.1.attn.pattern`, or
`("pattern", 1)`. Layers may count from the end; `("normalized", 1, "ln2")` tells two of
a kind."""


class HookPoint(nn.Identity):
    """Passes on what it is given, so that hooks can see or change it.

    Attributes:
        name: its path in the model, once it was hooked by that.
    """

    name: str = ""


Edit = Callable[[Tensor, HookPoint], Tensor | None]
"""Called with what passes and where; its result, unless None, is passed on."""
Names = Key | list[Key] | Callable[[str], bool]
"""One name, or several, or a function of the full name."""


class UnknownNameError(HeadwayError, KeyError):
    """Nothing has this name."""

    __str__ = HeadwayError.__str__


class Cache(Mapping[Key, Tensor]):
    """Tensors that were kept of one pass, by name, in the order of computation.

    Args:
        kept: by full name.
        names: the full names of all that the model has, kept or not.
    """

    def __init__(self, kept: dict[str, Tensor], names: Collection[str]):
        self._kept = kept
        self._names = names

    def __getitem__(self, key: Key) -> Tensor:
        name = full_name(key, self._names)
        if name not in self._kept:
            kept = ", ".join(self._kept) or "nothing"
            raise UnknownNameError(f"{name} was not kept, only {kept}")
        return self._kept[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def __len__(self):
        return len(self._kept)

    def __repr__(self):
        lines = [f"{name}  {list(value.shape)}" for name, value in self._kept.items()]
        return "\n".join(lines)


class Hooked(nn.Module):
    """A module with hook points, and TransformerLens' ways to use them."""

    def hook_points(self) -> dict[str, HookPoint]:
        """The hook points by name."""
        points = dict[str, HookPoint]()
        for name, module in self.named_modules():
            if isinstance(module, HookPoint):
                module.name = name
                points[name] = module
        return points

    @contextmanager
    def hooks(self, fwd_hooks: Iterable[tuple[Names, Edit]]) -> Iterator[None]:
        """Lets functions see and change what passes at some points, while open.

        Raises:
            HeadwayError: if nothing has a name; the line gives the nearest there are.
        """
        points = self.hook_points()
        with ExitStack() as stack:
            for names, edit in fwd_hooks:
                for name in chosen(names, points):
                    handle = points[name].register_forward_hook(
                        lambda point, _, value, edit=edit: edit(value, point)
                    )
                    stack.callback(handle.remove)
            yield

    def run_with_hooks(
        self, inputs: Tensor, fwd_hooks: Iterable[tuple[Names, Edit]]
    ) -> Tensor:
        """The outputs with functions that see and change what passes at some points.

        ```python
        def cut(z, hook):
            z[:, :, 0] = 0.0

        model.run_with_hooks(inputs, fwd_hooks=[("blocks.1.attn.hook_z", cut)])
        ```

        Raises:
            HeadwayError: if nothing has a name; the line gives the nearest there are.
        """
        with self.hooks(fwd_hooks):
            return self(inputs)

    def run_with_cache(
        self, inputs: Tensor, names: Names | None = None
    ) -> tuple[Tensor, Cache]:
        """The outputs, and all that was computed on the way; gradients flow through.

        What is kept is the caller's own: nothing that is edited later, in place or not,
        changes it, nor does an edit of it change the model's pass or anything else that
        is kept.

        ```python
        outputs, cache = model.run_with_cache(inputs)
        cache["blocks.1.attn.hook_pattern"]  # [batch, head, query, key], or
        cache["pattern", 1]
        ```

        Args:
            inputs: of the model.
            names: what is kept: one name, several, or a function of the full name; by
                default all.

        Raises:
            HeadwayError: if nothing has a name; the line gives the nearest there are.
        """
        kept: dict[str, Tensor] = {}

        def keep(value: Tensor, point: HookPoint) -> Tensor:
            kept[point.name] = value.clone()
            return kept[point.name].clone()

        wanted: Names = (lambda _: True) if names is None else names
        outputs = self.run_with_hooks(inputs, [(wanted, keep)])
        return outputs, Cache(kept, list(self.hook_points()))


def chosen(names: Names, points: Collection[str]) -> list[str]:
    """The full names that are meant."""
    if callable(names):
        return [name for name in points if names(name)]
    keys = names if isinstance(names, list) else [names]
    return [full_name(key, points) for key in keys]


def full_name(key: Key, names: Collection[str]) -> str:
    """The one of some full names that is meant.

    Raises:
        UnknownNameError: if none is, or several are.
    """
    if isinstance(key, str):
        meant = [name for name in names if key in (name, name.replace("hook_", ""))]
    else:
        meant = _in_layer(key, names)
    if len(meant) == 1:
        return meant[0]
    nearest = meant or difflib.get_close_matches(str(key), names, cutoff=0.0)
    count = len(meant) or "nothing"
    raise UnknownNameError(f"{key!r} names {count}: is it {' or '.join(nearest)}?")


def _in_layer(key: tuple[Any, ...], names: Collection[str]) -> list[str]:
    """The full names that end with a point, such as `pattern`, in a layer."""
    what, layer, *part = key if len(key) > 1 else (*key, None)
    if isinstance(layer, int) and layer < 0:
        layers = re.findall(r"blocks\.(\d+)\.", " ".join(names))
        layer += 1 + max(map(int, layers))
    block = f"blocks.{layer}."
    point = ".".join(["", *map(str, part), f"hook_{what}"])
    return [name for name in names if name.startswith(block) and name.endswith(point)]


def is_watched(module: nn.Module) -> bool:
    """Tell whether anyone looks at a module or its parts: with hooks, or as nnsight
    does with a `forward` of its own."""
    hooks = module._forward_hooks or module._forward_pre_hooks or module._backward_hooks
    if hooks or "forward" in vars(module):
        return True
    parts = module._modules.values()
    return any(part is not None and is_watched(part) for part in parts)
