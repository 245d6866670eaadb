import pytest

from headway.circuits import Path
from headway.circuits.roles import Cast, Place, places
from headway.circuits.routes import trace
from headway.tasks import Conditional, Retrieval
from headway_experiments.asked import Asked

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


def test_the_same_if_only_the_last_hop_is_asked_for():
    task = Asked(Conditional(), (2,))
    join = traced(task, [*X, *Y, *ROW, JOIN]).last_join()
    assert join is not None
    assert set(join.branches) == {"x", "y"}


@pytest.mark.parametrize("lost", [X, Y])
def test_with_one_branch_there_is_no_join_and_the_row_tells_the_rest(lost):
    routes = traced(Conditional(), [*({*X, *Y} - set(lost)), *ROW, JOIN])
    assert not routes.joins
    assert routes.last_join() is None
    symbol = "x" if lost is X else "y"
    assert routes.arrivals[symbol] == routes.arrivals["z"] == (JOIN,)


def test_a_row_that_knows_only_y_is_found_by_y_alone():
    routes = traced(Conditional(), [*X, *Y, Path.of(0, 0, "xy.z←xy.y"), JOIN])
    assert routes.legs[JOIN].by == ("y",)
    assert not routes.joins


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


def test_gathering_two_symbols_at_once_is_no_join():
    paths = [
        *CHAIN[:2],
        Path.of(0, 0, "s6←s5"),
        Path.of(1, 0, "s0←s2"),
        Path.of(1, 0, "s4←s6"),
        Path.of(3, 0, "s0←s4"),
    ]
    routes = traced(Retrieval(depth=3, n_chains=2), paths)
    assert not routes.joins
    assert routes.arrivals["x_2"] == routes.arrivals["x_3"] == (Path.of(3, 0, "s0←s4"),)
    assert not routes.idle


def test_the_other_branch_may_pass_through_another_head_of_the_same_layer():
    paths = [*X, Y[0], Path.of(1, 1, "a←ay.y"), *ROW, JOIN]
    join = traced(Conditional(), paths).last_join()
    assert join is not None
    assert join.branches["y"] == (Y[0], Path.of(1, 1, "a←ay.y"))


def test_tasks_without_symbols_are_not_traced():
    named = Cast((Place("k", "", "k"), Place("q", "", "q")), ("k",))
    assert trace(named, [Path.of(0, 0, "q←k")]) is None


def test_circuits_of_other_relations_are_not_traced():
    assert trace(Retrieval(depth=2), [*CHAIN, Path.of(3, 0, "previous token")]) is None


def test_hops_that_are_no_symbols_are_not_missed():
    chain = Cast(tuple(places(Retrieval(depth=2))), ("hop 1", "hop 2"))
    routes = traced(chain, CHAIN)
    assert not routes.missing
    assert not routes.idle
    assert routes.needs["x_2"] == tuple(CHAIN)


def test_what_the_heads_copy_is_followed():
    followed = ("L0.H0 s2←s1", "L0.H0 s4←s3", "L1.H0 s0←s2", "L2.H0 s2←s4", "L3.H0 s0←s2")
    assert traced(Retrieval(depth=2, n_chains=2), map(Path.parse, followed)).gains() == {
        (0, "s2"): ("x_0",),
        (0, "s4"): ("x_1",),
        (1, "s0"): ("x_1",),
        (2, "s2"): ("x_2",),
        (3, "s0"): ("x_2",),
    }


def test_within_a_layer_all_heads_read_what_was_there_before():
    followed = [Path.of(0, 0, "s2←s3"), Path.of(0, 1, "s3←s4")]
    assert traced(Retrieval(depth=2, n_chains=2), followed).gains() == {(0, "s3"): ("x_2",)}


def test_two_heads_bring_one_role_both_symbols():
    followed = [Path.of(0, 0, "s2←s4"), Path.of(0, 1, "s2←s1")]
    assert traced(Retrieval(depth=2, n_chains=2), followed).gains() == {(0, "s2"): ("x_2", "x_0")}
