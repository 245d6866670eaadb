"""Circuits: a mechanism for every head, the evidence for it, and when it was born."""

from headway.circuits.ablation import Bench, attention_along
from headway.circuits.discovery import THRESHOLD, Discovery, Necessity, discover, saved_discovery
from headway.circuits.emergence import PathHistory, Timeline, emergence
from headway.circuits.mechanism import Circuit, Head, Identity, Mechanism, Paths, Uniform

__all__ = [
    "THRESHOLD",
    "Bench",
    "Circuit",
    "Discovery",
    "Head",
    "Identity",
    "Mechanism",
    "Necessity",
    "PathHistory",
    "Paths",
    "Timeline",
    "Uniform",
    "attention_along",
    "discover",
    "emergence",
    "saved_discovery",
]
