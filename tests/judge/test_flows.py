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


FIRST, SECOND, THIRD, JUMP, GATHER, LAST = map(AttentionPath.parse, DOUBLING)


@pytest.mark.parametrize(
    ("path", "unfound", "lacking", "answers"),
    [
        (FIRST, [JUMP], [LAST], ("x_1", "x_2", "x_3")),
        (SECOND, [LAST], [], ("x_2", "x_3")),
        (THIRD, [GATHER], [LAST], ("x_3",)),
        (JUMP, [], [LAST], ("x_1", "x_2", "x_3")),
        (GATHER, [], [LAST], ("x_3",)),
        (LAST, [], [], ("x_2", "x_3")),
    ],
    ids=DOUBLING,
)
def test_what_is_lost_with_a_path_by_hand(path, unfound, lacking, answers):
    paths = [AttentionPath.parse(name) for name in DOUBLING]
    lost = lost_without(Retrieval(depth=3), paths, True)
    assert lost is not None
    assert lost.keys() == {*paths}
    without = lost[path]
    assert {*without.unfound, *without.lacking} == {*unfound, *lacking}
    assert without.answers == answers


def test_a_key_that_is_not_found_and_a_symbol_that_is_lacking_are_told_apart():
    paths = [AttentionPath.parse(name) for name in DOUBLING]
    lost = lost_without(Retrieval(depth=3), paths, True)
    assert lost is not None
    assert lost[THIRD].unfound == (GATHER,)
    assert lost[THIRD].lacking == (LAST,)


def test_nothing_is_known_of_what_is_lost_along_relations_of_any_sequence():
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


def paths(*names):
    return [AttentionPath.parse(name) for name in names]


X = paths("L0.H0 ax.x←ax.a", "L1.H0 a←ax.x")
Y = paths("L0.H0 ay.y←ay.a", "L2.H0 a←ay.y")
ROW = paths("L0.H0 xy.y←xy.x", "L0.H0 xy.z←xy.y", "L1.H0 xy.z←xy.y")
(JOIN,) = paths("L4.H0 a←xy.z")
(EXTRA,) = paths("L5.H0 xy.y←xy.x")
NEAR = paths("L0.H0 s2←s1", "L1.H0 s0←s2")
FAR = paths("L0.H0 s4←s3", "L2.H0 s0←s4")
CHAIN = [*NEAR, *FAR]
TWO_HOPS = Retrieval(depth=2, n_chains=2)


@pytest.mark.parametrize(
    ("task", "paths", "needs"),
    [
        (
            Conditional(),
            [*X, *Y, *ROW, JOIN, EXTRA],  # the branches of x and y join at the row
            {"x": X, "y": Y, "z": [*X, *Y, *ROW, JOIN]},
        ),
        (TWO_HOPS, CHAIN, {"x_1": NEAR, "x_2": CHAIN}),
        (TWO_HOPS, NEAR, {"x_1": NEAR}),
    ],
)
def test_every_symbol_needs_the_paths_that_bring_it_and_its_keys(task, paths, needs):
    routes = trace(task, sorted(paths))
    assert routes is not None
    expected = {symbol: tuple(sorted(those)) for symbol, those in needs.items()}
    assert routes.needs == expected
    assert routes.brings.get(JOIN, ("z",)) == ("z",)
