import pytest

from headway.circuits import Path
from headway.circuits.routes import trace
from headway.tasks import Conditional, Retrieval

X, Y = (
    [Path.of(0, 0, "ax.x←ax.a"), Path.of(1, 0, "a←ax.x")],
    [Path.of(0, 0, "ay.y←ay.a"), Path.of(2, 0, "a←ay.y")],
)
ROW = [Path.of(0, 0, "xy.y←xy.x"), Path.of(0, 0, "xy.z←xy.y"), Path.of(1, 0, "xy.z←xy.y")]
JOIN = Path.of(4, 0, "a←xy.z")
CHAIN = [
    Path.of(0, 0, "s2←s1"),
    Path.of(0, 0, "s4←s3"),
    Path.of(1, 0, "s0←s2"),
    Path.of(2, 0, "s0←s4"),
]


def traced(task, paths):
    routes = trace(task, sorted(paths))
    assert routes is not None
    return routes


def test_the_branches_of_x_and_y_join_at_the_row():
    routes = traced(Conditional(), [*X, *Y, *ROW, JOIN])
    (join,) = routes.joins
    assert join.path == JOIN
    assert {symbol: list(paths) for symbol, paths in join.branches.items()} == {"x": X, "y": Y}
    assert list(join.key_side) == ROW
    assert routes.legs[JOIN].by == ("x", "y")
    assert routes.legs[JOIN].brings == ("z",)
    assert set(routes.needs["z"]) == {*X, *Y, *ROW, JOIN}
    assert routes.needs["x"] == tuple(X)
    assert not routes.idle
    assert not routes.missing


@pytest.mark.parametrize("lost", [X, Y])
def test_with_one_branch_there_is_no_join_and_the_row_tells_the_rest(lost):
    routes = traced(Conditional(), [*({*X, *Y} - set(lost)), *ROW, JOIN])
    assert not routes.joins
    assert routes.last_join() is None
    symbol = "x" if lost is X else "y"
    assert routes.arrivals[symbol] == routes.arrivals["z"] == (JOIN,)


def test_a_path_that_no_answer_depends_on_is_idle():
    extra = Path.of(5, 0, "xy.y←xy.x")
    assert traced(Conditional(), [*X, *Y, *ROW, JOIN, extra]).idle == (extra,)


def test_retrieval_is_a_chain():
    routes = traced(Retrieval(depth=2, n_chains=2), CHAIN)
    assert not routes.joins
    assert not routes.missing
    assert routes.arrivals == {"x_1": (CHAIN[2],), "x_2": (CHAIN[3],)}
    assert routes.needs["x_1"] == (CHAIN[0], CHAIN[2])
    assert routes.needs["x_2"] == tuple(CHAIN)
    assert routes.legs[CHAIN[0]].together
    assert [routes.legs[path].by for path in CHAIN[2:]] == [("x_0",), ("x_1",)]


def test_a_chain_whose_middle_is_cut_never_arrives():
    routes = traced(Retrieval(depth=2, n_chains=2), [CHAIN[0], CHAIN[2]])
    assert routes.missing == ("x_2",)


def test_what_the_heads_copy_is_followed():
    followed = ("L0.H0 s2←s1", "L0.H0 s4←s3", "L1.H0 s0←s2", "L2.H0 s2←s4", "L3.H0 s0←s2")
    assert traced(Retrieval(depth=2, n_chains=2), map(Path.parse, followed)).gains() == {
        (0, "s2"): ("x_0",),
        (0, "s4"): ("x_1",),
        (1, "s0"): ("x_1",),
        (2, "s2"): ("x_2",),
        (3, "s0"): ("x_2",),
    }
