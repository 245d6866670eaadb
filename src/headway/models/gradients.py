"""Places at which a pass keeps gradients from what it computes."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakTensorKeyDictionary

from headway.models.interception import name_of, tensors_in

DETACHES = {
    *(Tensor.detach, Tensor.detach_, torch.detach),
    Tensor.data.__get__,  # pyright: ignore[reportAttributeAccessIssue]
}


class Cuts(TorchFunctionMode):
    """Follows tensors through a pass, to the first operation without gradient.

    Comparisons and the like have no gradient to keep back: what is made of them is not
    followed.

    Attributes:
        by: that operation, in words; None if there was none.
    """

    def __init__(self):
        super().__init__()
        self.by: str | None = None
        self._followed = WeakTensorKeyDictionary()

    def follow(self, tensor: Tensor) -> Tensor:
        """Follows a tensor, and gives it back."""
        self._followed[tensor] = True
        return tensor

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Called by torch in place of each of its functions."""
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if any(tensor in self._followed for tensor in tensors_in(args, kwargs)):
            made = [
                tensor
                for tensor in tensors_in((out,), {})
                if tensor.is_floating_point()
            ]
            for tensor in made:
                self.follow(tensor)
            if made and self.by is None:
                self.by = _cut_by(func)
        return out


def _cut_by(func: Callable[..., Any]) -> str | None:
    """The reason why no gradient passes a function; None if one does."""
    if func in DETACHES:
        return "it, or what reads it, is detached"
    if torch.is_grad_enabled():
        return None
    return (
        f"{name_of(func)} is called without gradients (under torch.no_grad,"
        " inference_mode, or with a backward pass of its own)"
    )
