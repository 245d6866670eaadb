"""Mechanisms, patterns and exchange in the place of heads, and the outputs."""

from typing import TYPE_CHECKING

from headway.late import late
from headway.replace.ablation import Bench as Bench
from headway.replace.circuit import Circuit as Circuit
from headway.replace.circuit import compare as compare
from headway.replace.circuit import jaccard as jaccard
from headway.replace.heads import Head as Head
from headway.replace.heads import name_of as name_of
from headway.replace.mechanism import ABLATIONS as ABLATIONS
from headway.replace.mechanism import Corrupted as Corrupted
from headway.replace.mechanism import Exchanged as Exchanged
from headway.replace.mechanism import Identity as Identity
from headway.replace.mechanism import KnockOut as KnockOut
from headway.replace.mechanism import Mean as Mean
from headway.replace.mechanism import Mechanism as Mechanism
from headway.replace.mechanism import Paths as Paths
from headway.replace.mechanism import Tabled as Tabled
from headway.replace.mechanism import Uniform as Uniform
from headway.replace.patterns import along_all as along_all
from headway.replace.patterns import attention_along as attention_along

if TYPE_CHECKING:
    from headway.replace.direct import Direct as Direct
    from headway.replace.direct import direct_effects as direct_effects
    from headway.replace.exchange import OWN as OWN
    from headway.replace.exchange import Exchange as Exchange
    from headway.replace.exchanged import ExchangedBench as ExchangedBench
    from headway.replace.patching import patch as patch
    from headway.replace.patching import patch_all as patch_all
    from headway.replace.rows import measured_weights as measured_weights
    from headway.replace.subject import with_tap as with_tap

HOMES = {
    "ablation": "Bench",
    "circuit": "Circuit compare jaccard",
    "direct": "Direct direct_effects",
    "exchange": "OWN Exchange",
    "exchanged": "ExchangedBench",
    "heads": "Head name_of",
    "mechanism": (
        "ABLATIONS Corrupted Exchanged Identity KnockOut Mean Mechanism Paths Tabled "
        "Uniform"
    ),
    "patching": "patch patch_all",
    "patterns": "along_all attention_along",
    "rows": "measured_weights",
    "subject": "with_tap",
}
__all__, __getattr__, __dir__ = late(__name__, HOMES)
