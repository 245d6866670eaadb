"""Student's t distribution: how far a mean may be off whose spread is estimated, too."""

import math


def quantile(share: float, freedom: int) -> float:
    """The t that so much of the distribution lies within, on both sides of 0.

    Args:
        share: above 0 and below 1.
        freedom: degrees of it, at least 1.
    """
    low, high = 0.0, 1.0
    while _within(high, freedom) < share:
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < share else (low, middle)
    return high


def _within(t: float, freedom: int) -> float:
    """How much lies between -t and t (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4)."""
    angle, odd = math.atan(t / math.sqrt(freedom)), freedom % 2
    total, term = 0.0, math.cos(angle) if odd else 1.0
    for power in range(odd, freedom - 1, 2):
        total += term
        term *= math.cos(angle) ** 2 * (power + 1) / (power + 2)
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total
