"""Patterns of mechanisms, and weights of rows, on attention that is written down."""

import pytest
import torch
from torch import nn

from headway.relations import Edges
from headway.replace import Identity, KnockOut, Mean, Paths, Uniform
from headway.replace.patterns import Patterns
from ruled import First4

FIRST = torch.tensor(
    [
        [1.0, 0.0, 0.0, 0.0],
        [0.5, 0.5, 0.0, 0.0],
        [0.2, 0.3, 0.5, 0.0],
        [0.1, 0.2, 0.3, 0.4],
    ]
)
SECOND = torch.tensor(
    [
        [1.0, 0.0, 0.0, 0.0],
        [0.9, 0.1, 0.0, 0.0],
        [0.6, 0.4, 0.0, 0.0],
        [0.7, 0.1, 0.1, 0.1],
    ]
)
OWN = torch.stack([FIRST, SECOND])


class Given(nn.Module):
    """A head that attends as is written down, and puts out nothing."""

    n_layers = n_heads = 1

    def forward(self, tokens, tap=None):
        pattern = OWN[: len(tokens), None]
        if tap is not None:
            tap(0, pattern)
        return torch.zeros(len(tokens), 4, 6)


def rows(*each):
    """Keys of the last query, sequence by sequence."""
    return Edges(torch.tensor([[3], [3]]), torch.tensor([[keys] for keys in each]))


RELATIONS = {
    "one": rows([0, -1], [0, 1]),
    "two": rows([2, -1], [2, -1]),
    "before": Edges(torch.tensor([[1, 2], [1, 2]]), torch.tensor([[[0], [1]]] * 2)),
    "weighed": Edges(
        torch.tensor([[3], [3]]),
        torch.tensor([[[0, 1]]] * 2),
        weights=torch.tensor([[[3.0, 1.0]]] * 2),
    ),
}


def patterns_with(fill="zero"):
    batch = First4().assemble((torch.zeros(2, 4, dtype=torch.long),))
    return Patterns(Given(), batch, dict(RELATIONS), fill)


def paths(*names, fill=None):
    return Paths(frozenset(names), fill)


def dense(mechanism, fill="zero"):
    return patterns_with(fill).dense(mechanism, (0, 0))


def close(one, other):
    return torch.allclose(one, other, atol=1e-6)


def test_plain_mechanisms():
    even = torch.ones(4, 4).tril() / torch.arange(1, 5)[:, None]
    assert close(dense(Uniform()), even.expand(2, 4, 4))
    assert close(dense(Identity()), torch.eye(4).expand(2, 4, 4))
    assert close(dense(Mean()), OWN.mean(0).expand(2, 4, 4))


def test_a_row_is_shared_evenly_among_keys_and_among_relations_that_leave_from_it():
    assert dense(paths("one"))[:, 3].tolist() == [[1, 0, 0, 0], [0.5, 0.5, 0, 0]]
    both = dense(paths("one", "two", "before"))
    assert both[:, 3].tolist() == [[0.5, 0, 0.5, 0], [0.25, 0.25, 0.5, 0]]
    assert both[0, 1].tolist() == [1, 0, 0, 0]
    assert both[0, 2].tolist() == [0, 1, 0, 0]


def test_keys_of_a_row_count_by_their_weight():
    assert dense(paths("weighed"))[0, 3].tolist() == [0.75, 0.25, 0, 0]


@pytest.mark.parametrize(
    ("fill", "expected"),
    [
        ("zero", torch.zeros(2, 4, 4)),
        (
            "uniform",
            (torch.ones(4, 4).tril() / torch.arange(1, 5)[:, None]).expand(2, 4, 4),
        ),
        ("mean", OWN.mean(0).expand(2, 4, 4)),
        ("resample", OWN.flip(0)),
    ],
)
def test_rows_without_a_path_are_filled(fill, expected):
    for pattern in (dense(paths("one"), fill), dense(paths("one", fill=fill))):
        assert close(pattern[:, :3], expected[:, :3])
        assert pattern[1, 3].tolist() == [0.5, 0.5, 0, 0]


def test_a_head_without_any_path_is_zero_however_rows_are_filled():
    for fill in ("uniform", "mean", "own"):
        edited = patterns_with(fill).edit((0, 0), paths(), OWN)
        assert not edited.any()


def test_the_rest_of_a_row_keeps_its_own_attention_where_a_path_is_knocked_out():
    cut = patterns_with().edit((0, 0), KnockOut(frozenset({"one"})), OWN)
    expected = OWN.clone()
    expected[0, 3, 0] = expected[1, 3, 0] = expected[1, 3, 1] = 0.0
    assert close(cut, expected)


@pytest.mark.parametrize(
    "mechanism",
    [paths("one"), paths("one", fill="own"), KnockOut(frozenset({"one"})), Mean()],
)
def test_the_last_queries_alone_are_edited_as_they_are_among_all(mechanism):
    patterns = patterns_with()
    whole = patterns.edit((0, 0), mechanism, OWN)
    assert close(patterns.edit((0, 0), mechanism, OWN[:, 2:], start=2), whole[:, 2:])
    second = slice(1, 2)
    assert close(
        patterns.edit((0, 0), mechanism, OWN[second], part=second), whole[second]
    )


def test_what_depends_on_a_heads_own_attention_is_not_known():
    patterns = patterns_with()
    depend = [None, KnockOut(frozenset({"one"})), paths("one", fill="own")]
    for mechanism in [*depend, Uniform(), paths("one"), paths(fill="own")]:
        candidate = {} if mechanism is None else {(0, 0): mechanism}
        assert patterns.are_known(candidate, 0) == (mechanism not in depend)
