"""The models: a transformer with one tap, and a tap for any module."""

from typing import TYPE_CHECKING

from headway.late import late
from headway.models.config import TransformerConfig
from headway.models.tap import Tap, Tappable, attention_patterns
from headway.models.tapped import Tapped, tapped
from headway.models.transformer import Transformer

if TYPE_CHECKING:
    from headway.models.lens import accuracy_lens, logit_lens, loss_lens

__all__ = [
    "Tap",
    "Tappable",
    "Tapped",
    "Transformer",
    "TransformerConfig",
    "accuracy_lens",
    "attention_patterns",
    "logit_lens",
    "loss_lens",
    "tapped",
]

__getattr__, __dir__ = late(__name__)
