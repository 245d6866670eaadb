"""The models: a transformer with one tap, learnt or built by hand."""

from headway.models.compiled import compiled, induction
from headway.models.known import Known
from headway.models.planted import planted
from headway.models.transformer import (
    Tap,
    Transformer,
    TransformerConfig,
    attention_patterns,
    initialise,
)

__all__ = [
    "Known",
    "Tap",
    "Transformer",
    "TransformerConfig",
    "attention_patterns",
    "compiled",
    "induction",
    "initialise",
    "planted",
]
