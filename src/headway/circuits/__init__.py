"""Circuits: a mechanism for every head, the evidence for it, and when it was born."""

from typing import TYPE_CHECKING

from headway.circuits.ablation import Bench, Replaced
from headway.circuits.candidates import CANDIDATE_ATTENTION, relation_attention
from headway.circuits.comparison import Comparison, compare, jaccard
from headway.circuits.discovery import (
    THRESHOLD,
    Discovery,
    circuit_file,
    discover,
    saved_discovery,
)
from headway.circuits.emergence import (
    BIRTH,
    PathHistory,
    Timeline,
    crossing,
    emergence,
    hop_steps,
    learnt_in_order,
    saved_timeline,
)
from headway.circuits.evidence import necessity, with_path
from headway.circuits.evidence_records import (
    MLP,
    BackUp,
    Evidence,
    Likeness,
    Likenesses,
    MLPs,
    Necessity,
    Pair,
    Trial,
    WrittenPath,
)
from headway.circuits.given import device_of, read_circuit
from headway.circuits.likeness import ablated
from headway.circuits.mechanism import (
    Circuit,
    Head,
    Identity,
    KnockOut,
    Mechanism,
    Paths,
    Uniform,
)
from headway.circuits.patterns import ABLATIONS, Patterns, attention_along
from headway.circuits.saved import saved
from headway.circuits.search import free_above
from headway.circuits.study import DRAFT, Sample, Settings, require_fits
from headway.late import late
from headway.paths import Path, Relation

if TYPE_CHECKING:
    from headway.circuits.certificate import Certificate, certify, sequences_for
    from headway.circuits.exhaustive import Exhaustive, idle_mechanisms
    from headway.circuits.fresh import stream_of
    from headway.circuits.minimal import MinimalCircuits, candidates_among, every_circuit
    from headway.circuits.patching import Effects, Residual, Site, patch, patch_all
    from headway.circuits.reach import Reach
    from headway.circuits.roles import block_starts, position_labels
    from headway.circuits.routes import trace
    from headway.circuits.subject import Judgement, Subject, judged

__all__ = [
    "ABLATIONS",
    "BIRTH",
    "CANDIDATE_ATTENTION",
    "DRAFT",
    "MLP",
    "THRESHOLD",
    "BackUp",
    "Bench",
    "Certificate",
    "Circuit",
    "Comparison",
    "Discovery",
    "Effects",
    "Evidence",
    "Exhaustive",
    "Head",
    "Identity",
    "Judgement",
    "KnockOut",
    "Likeness",
    "Likenesses",
    "MLPs",
    "Mechanism",
    "MinimalCircuits",
    "Necessity",
    "Pair",
    "Path",
    "PathHistory",
    "Paths",
    "Patterns",
    "Reach",
    "Relation",
    "Replaced",
    "Residual",
    "Sample",
    "Settings",
    "Site",
    "Subject",
    "Timeline",
    "Trial",
    "Uniform",
    "WrittenPath",
    "ablated",
    "attention_along",
    "block_starts",
    "candidates_among",
    "certify",
    "circuit_file",
    "compare",
    "crossing",
    "device_of",
    "discover",
    "emergence",
    "every_circuit",
    "free_above",
    "hop_steps",
    "idle_mechanisms",
    "jaccard",
    "judged",
    "learnt_in_order",
    "necessity",
    "patch",
    "patch_all",
    "position_labels",
    "read_circuit",
    "relation_attention",
    "require_fits",
    "saved",
    "saved_discovery",
    "saved_timeline",
    "sequences_for",
    "stream_of",
    "trace",
    "with_path",
]

__getattr__, __dir__ = late(__name__)
