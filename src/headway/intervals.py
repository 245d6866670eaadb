"""Intervals of what was counted."""

import math

Z = 1.959964
"""Of a normal distribution, for 95 %."""


def wilson(right: float, count: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927).

    Args:
        right: how many are right; a sum of probabilities will do, and gives a wider interval than
            needed.
        count: of how many, at least 1.
    """
    share, square = right / count, Z**2 / count
    middle = (share + square / 2) / (1 + square)
    half = Z / (1 + square) * math.sqrt(share * (1 - share) / count + square / (4 * count))
    return max(0.0, middle - half), min(1.0, middle + half)
