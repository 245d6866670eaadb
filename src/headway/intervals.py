"""Intervals of what was counted, and chances of counting as many."""

import math
from bisect import bisect_left

import numpy as np

Z = 1.959964
"""Of a normal distribution, for 95 %."""
MOST = 10**15
"""More draws than anybody makes."""
STEPS = 2**62
"""Steps in which the shares between 0 and 1 are searched."""


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


def clopper_pearson_low(successes: int, count: int, confidence: float) -> float:
    """The exact lower bound of a share (Clopper and Pearson 1934, one-sided).

    It is above the true share in at most 1 - `confidence` of all samples, whatever that share is.

    Args:
        successes: how many succeeded.
        count: of how many that were drawn independently, at least 1.
        confidence: above 0 and below 1.
    """
    if successes == 0:
        return 0.0

    def unlikely(failing: int) -> bool:
        return chance_of_at_most(count - successes, count, failing / STEPS) <= 1 - confidence

    return 1 - bisect_left(range(STEPS), True, key=unlikely) / STEPS


def draws_for(share: float, confidence: float, failures: int = 0) -> int:
    """The least number of draws that bound a share from below although so many of them fail.

    Args:
        share: that `clopper_pearson_low` is to reach, above 0 and below 1.
        confidence: above 0 and below 1.
        failures: how many may fail.
    """

    def enough(count: int) -> bool:
        return chance_of_at_most(failures, count, 1 - share) <= 1 - confidence

    return bisect_left(range(MOST), True, lo=failures + 1, key=enough)


def failures_allowed(share: float, confidence: float, count: int) -> int | None:
    """The most of so many draws that may fail if they are to bound a share; None if too few."""

    def too_many(failures: int) -> bool:
        return chance_of_at_most(failures, count, 1 - share) > 1 - confidence

    most = bisect_left(range(count), True, key=too_many) - 1
    return None if most < 0 else most


def chance_of_at_most(successes: int, count: int, share: float) -> float:
    """The chance of so many successes or fewer among independent draws.

    Args:
        successes: up to so many, from -1 (none at all, which never happens) to `count`.
        count: of the draws.
        share: the chance that a draw succeeds.
    """
    if successes < 0 or successes >= count or not 0 < share < 1:
        return float(successes >= count or (successes >= 0 and share <= 0))
    numbers = np.arange(1, successes + 1)
    ways = np.log(count - numbers + 1) - np.log(numbers)
    each = np.concatenate([[0.0], np.cumsum(ways)])
    each += np.arange(successes + 1) * math.log(share)
    each += (count - np.arange(successes + 1)) * math.log1p(-share)
    most = each.max()
    return min(1.0, float(np.exp(each - most).sum() * math.exp(most)))
