"""Circuits: a mechanism for every head, the evidence for it, and when it was born."""

from headway.circuits.ablation import Bench
from headway.circuits.certificate import Certificate, certify, sequences_for
from headway.circuits.comparison import Comparison, compare, jaccard
from headway.circuits.discovery import (
    THRESHOLD,
    Discovery,
    circuit_file,
    discover,
    saved_discovery,
)
from headway.circuits.emergence import PathHistory, Timeline, emergence, saved_timeline
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
)
from headway.circuits.given import read_circuit
from headway.circuits.mechanism import (
    Circuit,
    Head,
    Identity,
    KnockOut,
    Mechanism,
    Paths,
    Uniform,
)
from headway.circuits.minimal import MinimalCircuits, every_circuit
from headway.circuits.patching import Effects, Residual, Site, patch, patch_all
from headway.circuits.patterns import ABLATIONS, Patterns, attention_along
from headway.paths import Path, Relation

__all__ = [
    "ABLATIONS",
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
    "Head",
    "Identity",
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
    "Relation",
    "Residual",
    "Site",
    "Timeline",
    "Trial",
    "Uniform",
    "attention_along",
    "certify",
    "circuit_file",
    "compare",
    "discover",
    "emergence",
    "every_circuit",
    "jaccard",
    "patch",
    "patch_all",
    "read_circuit",
    "saved_discovery",
    "saved_timeline",
    "sequences_for",
]
