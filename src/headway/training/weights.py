"""The weights of a module by the names of the plain one, whatever is wrapped around it."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize
from torch.optim.swa_utils import AveragedModel

from headway.models import Tapped

WRAPPERS = (nn.DataParallel, nn.parallel.DistributedDataParallel, AveragedModel, Tapped)


def plain(model: nn.Module) -> nn.Module:
    """The module that was compiled, replicated, averaged or tapped."""
    while (inner := _inside(model)) is not None:
        model = inner
    return model


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """What a checkpoint keeps of a module: its state dict, with the names of the plain module.

    A parametrized weight is kept as it is computed, under its own name.
    """
    found: dict[str, Tensor] = {}
    for name, weight in model.state_dict().items():
        parts = name.split(".")
        if "parametrizations" in parts:
            at = parts.index("parametrizations")
            owner = model.get_submodule(".".join(parts[:at]))
            if parametrize.is_parametrized(owner, parts[at + 1]):
                name, weight = ".".join([*parts[:at], parts[at + 1]]), getattr(owner, parts[at + 1])
        found[_plain_name(model, name)] = weight
    return found


def load_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Gives a module the weights that `weights_of` found, in their precision.

    Its parametrizations are removed, so it is for evaluation only.

    Raises:
        RuntimeError: if they do not fit.
    """
    for module in list(model.modules()):
        for name in [*getattr(module, "parametrizations", ())]:
            if parametrize.is_parametrized(module, name):
                parametrize.remove_parametrizations(module, name)
    own = model.state_dict()
    kinds = [_precisions(tensors) for tensors in (weights, own)]
    if kinds[0] != kinds[1] and len(kinds[0]) == 1:  # what is not in the state dict goes along
        model.to(dtype=next(iter(kinds[0])))
    names = {_plain_name(model, name): name for name in own}
    named = {names.get(name, name): weight for name, weight in weights.items()}
    model.load_state_dict(named, assign=True)


def _precisions(weights: Mapping[str, Tensor]) -> set[torch.dtype]:
    return {weight.dtype for weight in weights.values() if weight.is_floating_point()}


def _inside(module: nn.Module) -> nn.Module | None:
    """What a wrapper is around; None if a module is none."""
    if isinstance(module, WRAPPERS):
        return module.module
    return getattr(module, "_orig_mod", None)  # of `torch.compile`


def _plain_name(model: nn.Module, name: str) -> str:
    """A weight's name without the wrappers on the way to it."""
    parts: list[str] = []
    at: nn.Module | None = model
    for part in name.split("."):
        below = None if at is None else at._modules.get(part)
        if at is None or below is None or _inside(at) is not below:
            parts.append(part)
        at = below
    return ".".join(parts)
