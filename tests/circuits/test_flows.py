"""Flows of circuits: cases worked out by hand, and predictions with planted outcomes."""

from headway.circuits.dependence import Dependence, Pair, Training
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


def kinds_of(task, names):
    paths = [AttentionPath.parse(name) for name in names]
    found = lost_without(task, paths, True)
    kinds = {(str(p), str(q)): kind for p in paths for q, kind in found[p].kinds.items()}
    assert len(kinds) == len(paths) * (len(paths) - 1)
    return kinds


def those(kinds, kind):
    return {pair for pair, one in kinds.items() if one == kind}


def test_pointer_doubling_by_hand():
    kinds = kinds_of(Retrieval(depth=3), DOUBLING)
    first, second, third, jump, gather, last = DOUBLING
    assert those(kinds, "finds") == {
        *((first, jump), (first, last)),
        *((second, last), (jump, last)),
        (third, gather),
    }
    assert those(kinds, "carries") == {(third, last), (gather, last)}
    assert those(kinds, "serves") == {
        *((first, second), (first, third), (first, gather)),
        *((second, third), (second, gather)),
        *((jump, first), (jump, second), (jump, third), (jump, gather)),
        (gather, third),
        *((last, second), (last, third), (last, gather)),
    }
    assert len(those(kinds, "apart")) == 10


def test_what_is_lost_with_a_path_by_hand():
    paths = [AttentionPath.parse(name) for name in DOUBLING]
    first, second, third, jump, gather, last = paths
    found = lost_without(Retrieval(depth=3), paths, True)
    assert found is not None
    assert {path: set(lost.paths) for path, lost in found.items()} == {
        first: {jump, last},
        second: {last},
        third: {gather, last},
        jump: {last},
        gather: {last},
        last: set(),
    }
    answers = {path: lost.answers for path, lost in found.items()}
    assert answers[first] == answers[jump] == ("x_1", "x_2", "x_3")
    assert answers[third] == answers[gather] == ("x_3",)
    assert answers[second] == answers[last] == ("x_2", "x_3")
    general = [AttentionPath.of(0, 0, "previous token")]
    assert lost_without(Retrieval(depth=3), general, True) is None


def test_what_comes_on_two_ways_is_needed_on_neither():
    """s2 passes x_2 on to s0, which also reads s4 by what it gathered itself."""
    paths = (
        "L0.H0 s2←s1",
        "L0.H0 s4←s3",
        "L1.H0 s0←s2",
        "L1.H0 s2←s4",
        "L2.H0 s0←s2",
        "L2.H1 s0←s4",
    )
    kinds = kinds_of(Retrieval(depth=2), paths)
    assert kinds["L1.H0 s2←s4", "L2.H0 s0←s2"] == "carries"
    assert kinds["L1.H0 s2←s4", "L2.H1 s0←s4"] == "apart"
    assert kinds["L1.H0 s0←s2", "L2.H1 s0←s4"] == "finds"
    assert kinds["L2.H0 s0←s2", "L1.H0 s2←s4"] == "apart"  # of no use with the other way there
    assert kinds["L2.H1 s0←s4", "L2.H0 s0←s2"] == "apart"


P, Q = AttentionPath.parse("L0.H0 s2←s1"), AttentionPath.parse("L1.H0 s0←s2")


def test_predictions_that_came_true_are_counted():
    pairs = [Pair(P, Q, "finds", False), Pair(Q, P, "serves", True), Pair(P, P, "finds", True)]
    found = Dependence(0, None, 6, [P, Q], Training(None, 6, 0.5, {}, {}, []), [], pairs, 8)
    assert "As predicted: 2 of 3 pairs (finds 1 of 2, carries 0 of 0, serves 1 of 1," in str(found)
    assert str(found).endswith("of the predicted dependences 1 of 2.")


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
