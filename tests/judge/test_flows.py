"""Flows of circuits: cases worked out by hand."""

import pytest

from headway.judge.flows import lost_without, trace
from headway.relations.paths import AttentionPath
from headway.tasks import Conditional, Retrieval

DOUBLING = (
    "L0.H0 s2←s1",
    "L0.H0 s4←s3",
    "L0.H0 s6←s5",
    "L1.H0 s0←s2",
    "L1.H0 s4←s6",
    "L2.H0 s0←s4",
)


def test_what_is_lost_with_a_path_by_hand():
    paths = [AttentionPath.parse(name) for name in DOUBLING]
    first, second, third, jump, gather, last = paths
    found = lost_without(Retrieval(depth=3), paths, True)
    assert found is not None
    assert {path: {*lost.unfound, *lost.lacking} for path, lost in found.items()} == {
        first: {jump, last},
        second: {last},
        third: {gather, last},
        jump: {last},
        gather: {last},
        last: set(),
    }
    assert found[third].unfound == (gather,)
    assert found[third].lacking == (last,)
    answers = {path: lost.answers for path, lost in found.items()}
    assert answers[first] == answers[jump] == ("x_1", "x_2", "x_3")
    assert answers[third] == answers[gather] == ("x_3",)
    assert answers[second] == answers[last] == ("x_2", "x_3")
    general = [AttentionPath.of(0, 0, "previous token")]
    assert lost_without(Retrieval(depth=3), general, True) is None


def test_a_path_whose_key_no_flow_explains_is_found_whatever_else_is_cut():
    """At layer 0 the query shares nothing with s2, which the model finds all the
    same.
    """
    brings, unexplained = map(AttentionPath.parse, ("L0.H0 s2←s1", "L0.H1 s0←s2"))
    lost = lost_without(Retrieval(depth=1), [brings, unexplained], True)
    assert lost is not None
    assert lost[brings].unfound == ()


X, Y = (
    [AttentionPath.of(0, 0, "ax.x←ax.a"), AttentionPath.of(1, 0, "a←ax.x")],
    [AttentionPath.of(0, 0, "ay.y←ay.a"), AttentionPath.of(2, 0, "a←ay.y")],
)
ROW = [
    AttentionPath.of(0, 0, "xy.y←xy.x"),
    AttentionPath.of(0, 0, "xy.z←xy.y"),
    AttentionPath.of(1, 0, "xy.z←xy.y"),
]
JOIN = AttentionPath.of(4, 0, "a←xy.z")
CHAIN = [
    AttentionPath.of(0, 0, "s2←s1"),
    AttentionPath.of(0, 0, "s4←s3"),
    AttentionPath.of(1, 0, "s0←s2"),
    AttentionPath.of(2, 0, "s0←s4"),
]


EXTRA = AttentionPath.of(5, 0, "xy.y←xy.x")


@pytest.mark.parametrize(
    ("task", "paths", "needs"),
    [
        (
            Conditional(),
            [*X, *Y, *ROW, JOIN, EXTRA],  # the branches of x and y join at the row
            {"x": X, "y": Y, "z": [*X, *Y, *ROW, JOIN]},
        ),
        (
            Retrieval(depth=2, n_chains=2),
            CHAIN,
            {"x_1": [CHAIN[0], CHAIN[2]], "x_2": CHAIN},
        ),
        (
            Retrieval(depth=2, n_chains=2),
            [CHAIN[0], CHAIN[2]],
            {"x_1": [CHAIN[0], CHAIN[2]]},
        ),
    ],
)
def test_every_symbol_needs_the_paths_that_bring_it_and_its_keys(task, paths, needs):
    routes = trace(task, sorted(paths))
    assert routes is not None
    assert routes.needs == {
        symbol: tuple(sorted(those)) for symbol, those in needs.items()
    }
    assert routes.brings.get(JOIN, ("z",)) == ("z",)
