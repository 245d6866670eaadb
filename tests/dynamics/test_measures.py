"""Measures of likeness by hand: agreement, R², and the loss of one answer to all
queries.
"""

import math
from unittest.mock import Mock

import pytest
import torch

from headway.judge.yardstick import agreeing, one_answer, percent, r2, share
from headway.replace import Bench
from headway.tasks import IGNORE_INDEX, Tokens, Vectors

NAN = math.nan


def bench_of(kind, targets, columns=(0,)):
    batch = Mock(targets=targets)
    task = Mock(targets=kind)
    return Mock(Bench, batch=batch, task=task, columns=list(columns))


def numbers(*sequences):
    """Vectors of one number, [sequence, query, 1]."""
    return torch.tensor(sequences)[..., None]


def test_r2_compares_with_the_mean_over_sequences():
    """Squares about the mean: (1 - 2)² + (3 - 2)² = 2; differences: 0.5² + 0.5² =
    0.5.
    """
    bench = bench_of(Vectors(1), torch.zeros(2, 1, 1, 1))
    intact = numbers([1.0], [3.0])
    altered = numbers([1.5], [2.5])
    assert r2(bench, altered, intact) == pytest.approx(1 - 0.5 / 2)
    assert r2(bench, intact, intact) == 1.0
    assert r2(bench, intact, numbers([2.0], [2.0])) is None


def test_r2_is_of_what_is_asked():
    """The second sequence is not asked at its second query, the third nowhere."""
    targets = torch.zeros(3, 2, 1, 1)
    targets[1, 1] = targets[2] = NAN
    bench = bench_of(Vectors(1), targets)
    intact = numbers([1.0, 5.0], [3.0, 9.0], [7.0, 7.0])
    altered = numbers([1.0, 5.0], [2.0, 0.0], [0.0, 0.0])
    assert r2(bench, altered, intact) == pytest.approx(1 - 1.0 / 2)


def test_sequences_agree_if_all_that_is_asked_does():
    targets = torch.tensor([[[0], [1]], [[0], [IGNORE_INDEX]], [[0], [1]]])
    bench = bench_of(Tokens(2), targets)
    one = torch.tensor([[[2.0, 0.0], [0.0, 2.0]]] * 3)
    other = one.clone()
    other[1, 1] = other[2, 1] = torch.tensor([2.0, 0.0])
    assert agreeing(bench, one, other).tolist() == [True, True, False]


def test_shares_are_of_what_is_asked():
    same = torch.tensor([True, True, False, False])
    asked = torch.tensor([True, True, True, False])
    assert share(same, asked) == pytest.approx(2 / 3)
    assert share(same & False, asked & False) == 1.0


def test_one_answer_to_all_queries_loses_the_spread_of_vectors():
    targets = torch.tensor([1.0, 3.0, NAN, 2.0]).reshape(4, 1, 1, 1)
    assert one_answer(Vectors(1), targets) == pytest.approx(2 / 3)


def test_one_answer_to_all_queries_loses_the_entropy_of_tokens():
    """The mean of the hops: of the first three answers are 0 and one is 1, of the
    second all 1.
    """
    targets = torch.tensor([[0, 1], [0, 1], [0, IGNORE_INDEX], [1, 1]]).reshape(4, 1, 2)
    entropy = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert one_answer(Tokens(2), targets) == pytest.approx(entropy / 2)


@pytest.mark.parametrize(
    ("part", "told"),
    [
        (None, "-"),
        (1.0, "100.0 %"),
        (0.9999, "99.9 %"),
        (0.8996, "89.9 %"),
        (0.9, "90.0 %"),
    ],
)
def test_only_what_is_whole_is_a_hundred_percent(part, told):
    assert percent(part) == told
