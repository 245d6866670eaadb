"""The models: a transformer with one tap."""

from headway.models.transformer import (
    Tap,
    Transformer,
    TransformerConfig,
    attention_patterns,
    initialise,
)

__all__ = ["Tap", "Transformer", "TransformerConfig", "attention_patterns", "initialise"]
