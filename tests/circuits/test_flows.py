"""Flows of circuits: cases worked out by hand."""

from headway.circuits.flows import lost_without, trace
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


def traced(task, paths):
    routes = trace(task, sorted(paths))
    assert routes is not None
    return routes


def test_the_branches_of_x_and_y_join_at_the_row():
    routes = traced(Conditional(), [*X, *Y, *ROW, JOIN])
    assert routes.brings[JOIN] == ("z",)
    assert set(routes.needs["z"]) == {*X, *Y, *ROW, JOIN}
    assert routes.needs["x"] == tuple(X)


def test_a_path_that_no_answer_depends_on_is_needed_by_none():
    extra = AttentionPath.of(5, 0, "xy.y←xy.x")
    routes = traced(Conditional(), [*X, *Y, *ROW, JOIN, extra])
    assert all(extra not in paths for paths in routes.needs.values())


def test_retrieval_is_a_chain():
    routes = traced(Retrieval(depth=2, n_chains=2), CHAIN)
    assert routes.needs == {"x_1": (CHAIN[0], CHAIN[2]), "x_2": tuple(CHAIN)}


def test_a_chain_whose_middle_is_cut_never_arrives():
    assert "x_2" not in traced(Retrieval(depth=2, n_chains=2), [CHAIN[0], CHAIN[2]]).needs
