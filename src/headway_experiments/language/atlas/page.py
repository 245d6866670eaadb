"""The page of an atlas: one file that asks for nothing else."""

import base64
import json
from pathlib import Path

import torch
from torch import Tensor

from headway_experiments.language.atlas.entries import Atlas

TEMPLATE = Path(__file__).with_name("page.html")

DATA = "/*DATA*/null"
"""The place of an atlas in the template."""


def page_of(atlas: Atlas) -> str:
    """The page as HTML."""
    texts = [
        {
            "tokens": text.tokens,
            "attention": _packed(text.attention),
            "told": _packed(text.told),
        }
        for text in atlas.shown
    ]
    data = json.dumps(atlas.to_json() | {"shown": texts}, ensure_ascii=False)
    # A token may end the script in which it stands.
    safe = data.replace("<", "\\u003c")
    return TEMPLATE.read_text(encoding="utf-8").replace(DATA, safe)


def _packed(patterns: Tensor) -> str:
    """Patterns of all heads in bytes, [layer, head, query, key], in base 64."""
    levels = (patterns * 255).round().clamp(0, 255)
    pixels = levels.to(torch.uint8).contiguous()
    packed = base64.b64encode(pixels.numpy().tobytes())
    return packed.decode()
