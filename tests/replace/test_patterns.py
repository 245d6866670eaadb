"""Patterns of mechanisms, and weights of rows, on attention that is written down."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from headway.relations import Edges
from headway.replace import Identity, KnockOut, Mean, Uniform
from headway.replace.patterns import Patterns
from headway.tasks import NO_KEY
from known_circuits import along
from ruled import First4

HEAD = (0, 0)
OWN = torch.zeros(2, 4, 4)
"""What the head attends to in two sequences."""
OWN[:, 0, 0] = 1.0
OWN[0, 1, :2] = torch.tensor([0.5, 0.5])
OWN[0, 2, :3] = torch.tensor([0.2, 0.3, 0.5])
OWN[0, 3] = torch.tensor([0.1, 0.2, 0.3, 0.4])
OWN[1, 1, :2] = torch.tensor([0.9, 0.1])
OWN[1, 2, :2] = torch.tensor([0.6, 0.4])
OWN[1, 3] = torch.tensor([0.7, 0.1, 0.1, 0.1])
EVEN = torch.ones(4, 4).tril() / torch.arange(1, 5)[:, None]
"""Every query attends evenly to what it may see."""


class Given(nn.Module):
    """A head that attends as is written down, and puts out nothing."""

    n_layers = n_heads = 1

    def forward(self, tokens, tap=None):
        pattern = OWN[: len(tokens), None]
        if tap is not None:
            tap(0, pattern)
        return torch.zeros(len(tokens), 4, 6)


def from_last(first, second, **more):
    """Keys of the last query, in either sequence."""
    queries = torch.full((2, 1), 3)
    keys = torch.tensor([[first], [second]])
    return Edges(queries, keys, **more)


ONE = from_last([0, NO_KEY], [0, 1])
TWO = from_last([2, NO_KEY], [2, NO_KEY])
WEIGHED = from_last([0, 1], [0, 1], weights=torch.tensor([3.0, 1.0]).expand(2, 1, 2))
MIDDLE = torch.tensor([1, 2]).expand(2, 2)
BEFORE = Edges(MIDDLE, MIDDLE[..., None] - 1)
RELATIONS = {"one": ONE, "two": TWO, "before": BEFORE, "weighed": WEIGHED}


def patterns_with(fill="zero"):
    tokens = torch.zeros(2, 4, dtype=torch.long)
    batch = First4().assemble((tokens,))
    return Patterns(Given(), batch, dict(RELATIONS), fill)


def dense(mechanism, fill="zero"):
    return patterns_with(fill).dense(mechanism, HEAD)


def last_rows(pattern):
    """What the last query attends to, in either sequence."""
    return pattern[:, 3].tolist()


def assert_same(pattern, expected):
    assert_close(pattern, expected, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize(
    ("mechanism", "expected"),
    [(Uniform(), EVEN), (Identity(), torch.eye(4)), (Mean(), OWN.mean(0))],
)
def test_plain_mechanisms(mechanism, expected):
    assert_same(dense(mechanism), expected.expand(2, 4, 4))


def test_a_row_is_shared_evenly_among_its_keys():
    first, second = last_rows(dense(along("one")))
    assert first == [1, 0, 0, 0]
    assert second == [0.5, 0.5, 0, 0]


def test_a_row_is_shared_evenly_among_the_relations_that_leave_from_it():
    several = dense(along("one", "two", "before"))
    first, second = last_rows(several)
    assert first == [0.5, 0, 0.5, 0]
    assert second == [0.25, 0.25, 0.5, 0]
    assert several[0, 1].tolist() == [1, 0, 0, 0]
    assert several[0, 2].tolist() == [0, 1, 0, 0]


def test_keys_of_a_row_count_by_their_weight():
    first, _ = last_rows(dense(along("weighed")))
    assert first == [0.75, 0.25, 0, 0]


FILLS = [
    ("zero", torch.zeros(2, 4, 4)),
    ("uniform", EVEN.expand(2, 4, 4)),
    ("mean", OWN.mean(0).expand(2, 4, 4)),
    ("resample", OWN.flip(0)),
]


def assert_filled(pattern, expected):
    """Rows without a path are as expected; the one with a path is what that says."""
    assert_same(pattern[:, :3], expected[:, :3])
    _, second = last_rows(pattern)
    assert second == [0.5, 0.5, 0, 0]


@pytest.mark.parametrize(("fill", "expected"), FILLS)
def test_rows_without_a_path_are_filled_as_the_ablation_says(fill, expected):
    assert_filled(dense(along("one"), fill), expected)


@pytest.mark.parametrize(("fill", "expected"), FILLS)
def test_rows_without_a_path_are_filled_as_the_mechanism_says(fill, expected):
    assert_filled(dense(along("one", rows=fill)), expected)


@pytest.mark.parametrize("fill", ["uniform", "mean", "own"])
def test_a_head_without_any_path_is_zero_however_rows_are_filled(fill):
    edited = patterns_with(fill).edit(HEAD, along(), OWN)
    assert not edited.any()


KNOCKED_OUT = KnockOut(frozenset({"one"}))


def test_the_rest_of_a_row_keeps_its_own_attention_where_a_path_is_knocked_out():
    cut = patterns_with().edit(HEAD, KNOCKED_OUT, OWN)
    expected = OWN.clone()
    expected[0, 3, 0] = 0.0
    expected[1, 3, :2] = 0.0
    assert_same(cut, expected)


@pytest.mark.parametrize(
    "mechanism", [along("one"), along("one", rows="own"), KNOCKED_OUT, Mean()]
)
def test_the_last_queries_alone_are_edited_as_they_are_among_all(mechanism):
    patterns = patterns_with()
    whole = patterns.edit(HEAD, mechanism, OWN)
    last = patterns.edit(HEAD, mechanism, OWN[:, 2:], start=2)
    assert_same(last, whole[:, 2:])
    second = slice(1, 2)
    of_second = patterns.edit(HEAD, mechanism, OWN[second], part=second)
    assert_same(of_second, whole[second])


@pytest.mark.parametrize("mechanism", [None, KNOCKED_OUT, along("one", rows="own")])
def test_what_depends_on_a_heads_own_attention_is_not_known(mechanism):
    candidate = {} if mechanism is None else {HEAD: mechanism}
    assert not patterns_with().are_known(candidate, 0)


@pytest.mark.parametrize("mechanism", [Uniform(), along("one"), along(rows="own")])
def test_what_depends_on_no_attention_of_the_heads_own_is_known(mechanism):
    assert patterns_with().are_known({HEAD: mechanism}, 0)
