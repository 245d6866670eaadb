"""Circuits: a mechanism for every head, the evidence for it, and when it was born."""

from headway.circuits.ablation import Bench
from headway.circuits.certificate import BackUp, Certificate, Necessity, Pair, Trial
from headway.circuits.comparison import Comparison, compare, jaccard
from headway.circuits.discovery import (
    THRESHOLD,
    Discovery,
    circuit_file,
    discover,
    read_circuit,
    saved_discovery,
)
from headway.circuits.emergence import PathHistory, Timeline, emergence, saved_timeline
from headway.circuits.mechanism import (
    Circuit,
    Head,
    Identity,
    KnockOut,
    Mechanism,
    Path,
    Paths,
    Uniform,
)
from headway.circuits.patterns import ABLATIONS, Patterns, attention_along
from headway.circuits.truth import Hits, Score, score, score_compiled, score_planted, total

__all__ = [
    "ABLATIONS",
    "THRESHOLD",
    "BackUp",
    "Bench",
    "Certificate",
    "Circuit",
    "Comparison",
    "Discovery",
    "Head",
    "Hits",
    "Identity",
    "KnockOut",
    "Mechanism",
    "Necessity",
    "Pair",
    "Path",
    "PathHistory",
    "Paths",
    "Patterns",
    "Score",
    "Timeline",
    "Trial",
    "Uniform",
    "attention_along",
    "circuit_file",
    "compare",
    "discover",
    "emergence",
    "jaccard",
    "read_circuit",
    "saved_discovery",
    "saved_timeline",
    "score",
    "score_compiled",
    "score_planted",
    "total",
]
