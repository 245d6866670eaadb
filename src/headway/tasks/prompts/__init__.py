"""Pairs of texts for a language model: a clean one, a corrupted one, and the answers
that tell them apart."""

from headway.tasks.prompts.answers import METRICS, Answers
from headway.tasks.prompts.cutting import PROBE, Cutter
from headway.tasks.prompts.files import pairs_in
from headway.tasks.prompts.pair import Pair
from headway.tasks.prompts.task import Prompts
from headway.tasks.prompts.templates import filled

__all__ = [
    "METRICS",
    "PROBE",
    "Answers",
    "Cutter",
    "Pair",
    "Prompts",
    "filled",
    "pairs_in",
]
