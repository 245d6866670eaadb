"""The precision in which a step's matrix products are computed; weights are always float32."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch

from headway.training.environment import multiplies_bfloat16


def resolved(precision: str, device: torch.device) -> str:
    """What `auto` is on a device: bfloat16 if such products are quicker there."""
    if precision != "auto":
        return precision
    if device.type == "cuda":
        has = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        has = device.type == "cpu" and multiplies_bfloat16()
    return "bfloat16" if has else "float32"


def casting(precision: str, device: torch.device) -> AbstractContextManager[object]:
    """Computes a model's matrix products in bfloat16 if the precision says so."""
    if precision != "bfloat16":
        return nullcontext()
    return torch.autocast(device.type, torch.bfloat16)


@contextmanager
def rounding(precision: str, device: torch.device) -> Iterator[None]:
    """Rounds the factors of float32 products to TF32 if the precision says so, on a CUDA device.

    The backward pass has to be in it too.
    """
    if precision != "tf32" or device.type != "cuda":
        yield
        return
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
