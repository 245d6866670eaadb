"""Bounds of shares are exact: held against whole-number arithmetic."""

from fractions import Fraction
from math import comb

import pytest

from headway.intervals import clopper_pearson_low, draws_for


def at_least(successes: int, count: int, share: float) -> float:
    """The chance of so many successes or more, without rounding."""
    p = Fraction(share)
    ways = (comb(count, k) * p**k * (1 - p) ** (count - k) for k in range(successes, count + 1))
    return float(sum(ways))


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(("successes", "count"), [(1, 1), (1, 10), (9, 10), (37, 50), (298, 300)])
def test_the_bound_is_where_so_many_successes_become_likely(successes, count, confidence):
    bound = clopper_pearson_low(successes, count, confidence)
    assert at_least(successes, count, bound) == pytest.approx(1 - confidence, rel=1e-6)


@pytest.mark.parametrize(
    ("share", "confidence", "failures", "count"),
    [(0.99, 0.95, 0, 299), (0.95, 0.95, 0, 59), (0.99, 0.95, 1, 473), (0.5, 0.9, 0, 4)],
)
def test_so_many_draws_are_needed_and_no_fewer(share, confidence, failures, count):
    assert draws_for(share, confidence, failures) == count
    assert clopper_pearson_low(count - failures, count, confidence) >= share
    assert clopper_pearson_low(count - 1 - failures, count - 1, confidence) < share
