"""Intervals of shares that were counted, and how many draws bound a share."""

import math

Z = 1.959964
"""Of a normal distribution, for 95 %."""


def wilson(right: float, count: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927).

    Args:
        right: how many are right; a sum of probabilities will do, and gives a wider
            interval than needed.
        count: of how many, at least 1.
    """
    share = right / count
    square = Z**2 / count
    middle = (share + square / 2) / (1 + square)
    variance = share * (1 - share) / count
    half = Z / (1 + square) * math.sqrt(variance + square / (4 * count))
    low = max(0.0, middle - half)
    high = min(1.0, middle + half)
    return low, high


def clopper_pearson_low(successes: int, count: int, confidence: float) -> float:
    """The exact lower bound of a share (Clopper and Pearson 1934, one-sided).

    It is above the true share in at most 1 - `confidence` of all samples, whatever that
    share is.

    Args:
        successes: how many succeeded.
        count: of how many that were drawn independently, at least 1.
        confidence: above 0 and below 1.
    """
    from scipy.special import betaincinv

    if not successes:
        return 0.0
    failures = count - successes
    return float(betaincinv(successes, failures + 1, 1 - confidence))


def draws_for(share: float, confidence: float, failures: int = 0) -> int:
    """The least number of draws that bound a share from below despite failures.

    Args:
        share: that `clopper_pearson_low` is to reach, above 0 and below 1.
        confidence: above 0 and below 1.
        failures: how many may fail.
    """
    from scipy.special import bdtrin

    count = bdtrin(failures, 1 - confidence, 1 - share)
    return max(failures + 1, math.ceil(count))
