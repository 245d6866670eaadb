"""MIB's curves: how faithful a model is with ever more of the paths that a method puts first."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch

from headway.circuits import AttentionPath
from headway_experiments.arena.subject import FEW, Subject

SIZES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Shares of all paths that are kept, as in the paper; the counts are rounded down."""

AGREES_AT = 0.2
"""The share of all paths that are kept when answers are compared with the model's own."""


@dataclass(frozen=True)
class Curve:
    """A ranking as Mueller et al. 2025 (arXiv 2504.13151) score it.

    Faithfulness is how much of the margin (`Subject.margin`) between the model with every path cut
    and the model as it is stays with the first paths alone.

    Attributes:
        cpr: the area under faithfulness by the share of paths: more is better.
        cmd: the area between faithfulness and 1: less is better.
        agreement: the share of answers that are the model's own with the first fifth of the paths.
    """

    cpr: float
    cmd: float
    agreement: float


@torch.no_grad()
def curve(subject: Subject, order: Sequence[AttentionPath]) -> Curve:
    """The curve of paths in an order, the best first; attention along the others is zero."""
    counts = [int(share * len(order)) for share in SIZES]
    margins = {
        count: -subject.margin(
            subject.outputs(subject.only(order[:count], FEW), part=FEW), FEW
        ).item()
        for count in {0, *counts}
    }
    nothing, whole = margins[0], margins[len(order)]
    faithful = [(margins[count] - nothing) / (whole - nothing) for count in counts]
    return Curve(
        cpr=area(SIZES, faithful),
        cmd=area(SIZES, [abs(1 - one) for one in faithful]),
        agreement=subject.agreement(subject.only(order[: int(AGREES_AT * len(order))], FEW), FEW),
    )


def area(places: Sequence[float], heights: Sequence[float]) -> float:
    """The area under straight lines between points."""
    points = pairwise(zip(places, heights, strict=True))
    return sum((right - left) * (low + high) / 2 for (left, low), (right, high) in points)
