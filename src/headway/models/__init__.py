"""The models: a transformer with one tap, and a tap for any module."""

from typing import TYPE_CHECKING

from headway.late import late
from headway.models.config import TransformerConfig as TransformerConfig
from headway.models.tapped import Tap as Tap
from headway.models.tapped import Tappable as Tappable
from headway.models.tapped import Tapped as Tapped
from headway.models.tapped import attention_patterns as attention_patterns
from headway.models.tapped import tapped as tapped
from headway.models.transformer import Transformer as Transformer

if TYPE_CHECKING:
    from headway.models.lens import accuracy_lens as accuracy_lens
    from headway.models.lens import logit_lens as logit_lens
    from headway.models.lens import loss_lens as loss_lens

HOMES = {
    "config": "TransformerConfig",
    "lens": "accuracy_lens logit_lens loss_lens",
    "tapped": "Tap Tappable Tapped attention_patterns tapped",
    "transformer": "Transformer",
}
__all__, __getattr__, __dir__ = late(__name__, HOMES)
