"""Experiments that papers ask for, or a user: which runs they take, and what came of them."""

from headway.papers.claims import Claim, Measures, claims_beside
from headway.papers.experiment import Configs, Drawn, Experiment, Group, GroupRuns, Runs

__all__ = [
    "Claim",
    "Configs",
    "Drawn",
    "Experiment",
    "Group",
    "GroupRuns",
    "Measures",
    "Runs",
    "claims_beside",
]
