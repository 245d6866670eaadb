"""Experiments of papers, or of a user: the runs that they take, and their results."""

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
