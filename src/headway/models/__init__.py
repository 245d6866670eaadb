"""The models: a transformer with one tap, learnt or built by hand."""

from headway.models.assembly import ONE, Assembly, Match
from headway.models.compiled import compiled
from headway.models.config import TransformerConfig
from headway.models.known import Known
from headway.models.lens import accuracy_lens, logit_lens, loss_lens
from headway.models.tap import Tap, Tappable, attention_patterns
from headway.models.tapped import Tapped, tapped
from headway.models.transformer import Transformer

__all__ = [
    "ONE",
    "Assembly",
    "Known",
    "Match",
    "Tap",
    "Tappable",
    "Tapped",
    "Transformer",
    "TransformerConfig",
    "accuracy_lens",
    "attention_patterns",
    "compiled",
    "logit_lens",
    "loss_lens",
    "tapped",
]
