"""The models: a transformer with one tap, and a tap for any module."""

from headway.models.config import TransformerConfig
from headway.models.lens import accuracy_lens, logit_lens, loss_lens
from headway.models.tap import Tap, Tappable, attention_patterns
from headway.models.tapped import Tapped, tapped
from headway.models.transformer import Transformer

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
