"""The models: a transformer with one tap, learnt or built by hand."""

from headway.models.compiled import compiled, induction
from headway.models.config import TransformerConfig
from headway.models.known import Known
from headway.models.planted import planted
from headway.models.transformer import (
    Tap,
    Transformer,
    attention_patterns,
)

__all__ = [
    "Known",
    "Tap",
    "Transformer",
    "TransformerConfig",
    "attention_patterns",
    "compiled",
    "induction",
    "planted",
]
