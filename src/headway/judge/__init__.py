"""Judging a circuit: the evidence for it, and the verdicts that follow."""

from typing import TYPE_CHECKING

from headway.judge.discovery import Discovery as Discovery
from headway.judge.discovery import saved_discovery as saved_discovery
from headway.judge.evidence import Evidence as Evidence
from headway.judge.evidence import necessity as necessity
from headway.judge.judgement import LIMIT as LIMIT
from headway.judge.judgement import Cost as Cost
from headway.judge.judgement import Judgement as Judgement
from headway.judge.verdict import Verdict as Verdict
from headway.judge.verdict import verdicts as verdicts
from headway.judge.yardstick import THRESHOLD as THRESHOLD
from headway.judge.yardstick import Likeness as Likeness
from headway.judge.yardstick import NoCircuitError as NoCircuitError
from headway.judge.yardstick import Yardstick as Yardstick
from headway.late import late

if TYPE_CHECKING:
    from headway.judge.by_exchange import all_else_exchanged as all_else_exchanged
    from headway.judge.by_exchange import enough as enough
    from headway.judge.certificate import Certificate as Certificate
    from headway.judge.certificate import certify as certify
    from headway.judge.flows import lost_without as lost_without
    from headway.judge.flows import trace as trace

HOMES = {
    "by_exchange": "all_else_exchanged enough",
    "certificate": "Certificate certify",
    "discovery": "Discovery saved_discovery",
    "evidence": "Evidence necessity",
    "flows": "lost_without trace",
    "judgement": "LIMIT Cost Judgement",
    "verdict": "Verdict verdicts",
    "yardstick": "THRESHOLD Likeness NoCircuitError Yardstick",
}
__all__, __getattr__, __dir__ = late(__name__, HOMES)
