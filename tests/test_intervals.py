"""Bounds of shares are exact: held against whole-number arithmetic."""

from fractions import Fraction
from math import comb

import pytest

from headway.intervals import clopper_pearson_low, draws_for, wilson


def at_least(successes: int, count: int, share: float) -> float:
    """The chance of so many successes or more, without rounding."""
    p = Fraction(share)
    ways = (
        comb(count, k) * p**k * (1 - p) ** (count - k)
        for k in range(successes, count + 1)
    )
    return float(sum(ways))


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(
    ("successes", "count"), [(1, 1), (1, 10), (9, 10), (37, 50), (298, 300)]
)
def test_the_bound_is_where_so_many_successes_become_likely(
    successes, count, confidence
):
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


NORMAL = 1.959964
"""The normal quantile of a 95 % interval."""


@pytest.mark.parametrize(
    ("right", "count"),
    [(0, 1), (0, 20), (1, 3), (7.5, 20), (50, 100), (199, 200), (30, 30)],
)
def test_at_the_ends_of_wilsons_interval_the_share_seen_is_as_unlikely_as_may_be(
    right, count
):
    """At an end p the share that was seen is 1.96 standard errors of p away (Wilson
    1927).
    """
    low, high = wilson(right, count)
    seen = right / count
    assert 0 <= low <= seen <= high <= 1
    for end in (low, high):
        standard_error = (end * (1 - end) / count) ** 0.5
        assert abs(seen - end) == pytest.approx(NORMAL * standard_error, abs=1e-7)


def test_no_success_at_all_bounds_nothing_from_below():
    assert clopper_pearson_low(0, 50, 0.95) == 0.0
