"""Hypothesis tests of circuits, as Shi et al. (2024) define them (arXiv 2410.13032)."""

from headway_experiments.hypotheses.tested import Hypotheses
from headway_experiments.hypotheses.testing import hypotheses

__all__ = ["Hypotheses", "hypotheses"]
