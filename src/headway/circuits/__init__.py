"""Circuits: a mechanism for every head, the evidence for it, and when it emerged."""

from typing import TYPE_CHECKING

from headway.circuits.ablation import Bench as Bench
from headway.circuits.discovery import Discovery as Discovery
from headway.circuits.discovery import saved_discovery as saved_discovery
from headway.circuits.emergence import EMERGES_AT as EMERGES_AT
from headway.circuits.emergence import Timeline as Timeline
from headway.circuits.emergence import crossing as crossing
from headway.circuits.emergence import emergence as emergence
from headway.circuits.emergence import hop_steps as hop_steps
from headway.circuits.emergence import learnt_in_order as learnt_in_order
from headway.circuits.emergence import saved_timeline as saved_timeline
from headway.circuits.evidence import Evidence as Evidence
from headway.circuits.evidence import necessity as necessity
from headway.circuits.mechanism import Circuit as Circuit
from headway.circuits.mechanism import Corrupted as Corrupted
from headway.circuits.mechanism import Head as Head
from headway.circuits.mechanism import Identity as Identity
from headway.circuits.mechanism import KnockOut as KnockOut
from headway.circuits.mechanism import Mean as Mean
from headway.circuits.mechanism import Mechanism as Mechanism
from headway.circuits.mechanism import Paths as Paths
from headway.circuits.mechanism import Tabled as Tabled
from headway.circuits.mechanism import Uniform as Uniform
from headway.circuits.mechanism import compare as compare
from headway.circuits.mechanism import jaccard as jaccard
from headway.circuits.mechanism import name_of as name_of
from headway.circuits.patterns import ABLATIONS as ABLATIONS
from headway.circuits.patterns import along_all as along_all
from headway.circuits.patterns import attention_along as attention_along
from headway.circuits.search import candidates_among as candidates_among
from headway.circuits.study import circuit_file as circuit_file
from headway.circuits.study import discover as discover
from headway.circuits.study import require_learnt as require_learnt
from headway.circuits.study import searched as searched
from headway.circuits.verdicts import LIMIT as LIMIT
from headway.circuits.verdicts import Cost as Cost
from headway.circuits.verdicts import Judgement as Judgement
from headway.circuits.verdicts import Verdict as Verdict
from headway.circuits.verdicts import verdicts as verdicts
from headway.circuits.yardstick import THRESHOLD as THRESHOLD
from headway.circuits.yardstick import Likeness as Likeness
from headway.circuits.yardstick import NoCircuitError as NoCircuitError
from headway.circuits.yardstick import Yardstick as Yardstick
from headway.late import late
from headway.relations.paths import AttentionPath as AttentionPath
from headway.relations.paths import Relation as Relation

if TYPE_CHECKING:
    from headway.circuits.certificate import Certificate as Certificate
    from headway.circuits.certificate import certify as certify
    from headway.circuits.dependence import Dependence as Dependence
    from headway.circuits.exchange import OWN as OWN
    from headway.circuits.exchange import Exchange as Exchange
    from headway.circuits.exhaustive import Exhaustive as Exhaustive
    from headway.circuits.exhaustive import MinimalCircuits as MinimalCircuits
    from headway.circuits.exhaustive import every_circuit as every_circuit
    from headway.circuits.flows import lost_without as lost_without
    from headway.circuits.flows import trace as trace
    from headway.circuits.judge import all_else_exchanged as all_else_exchanged
    from headway.circuits.judge import enough as enough
    from headway.circuits.patching import patch as patch
    from headway.circuits.patching import patch_all as patch_all
    from headway.circuits.rows import measured_weights as measured_weights

__all__, __getattr__, __dir__ = late(__name__)
