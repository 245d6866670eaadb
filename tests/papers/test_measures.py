"""Measures on circuits and births that are written by hand."""

import pytest

from headway.circuits import Circuit, Paths, Uniform
from headway.papers.measures import printed as measures
from headway.papers.measures import reading
from headway.report.routes import trace
from headway.tasks import RetrievalConfig, make_task

PAIRS = {"s2→s1", "s4→s3", "s6→s5"}


def circuit(*layers: set[str]) -> Circuit:
    heads = {
        (layer, 0): Paths(frozenset(relations)) if relations else Uniform()
        for layer, relations in enumerate(layers)
    }
    return Circuit(heads)


@pytest.mark.parametrize(
    ("first", "joins"),
    [
        (PAIRS, True),
        (PAIRS | {"s1→s1"}, True),
        (PAIRS - {"s4→s3"}, False),
        ({"s0→s2"}, False),
    ],
)
def test_the_first_head_joins_every_pair_or_does_not(first, joins):
    assert measures._first_joins_pairs(circuit(set(), first, {"s0→s2"}), 3) is joins


def test_a_circuit_without_useful_heads_has_nothing_first_or_beyond():
    empty = circuit(set(), set())
    assert measures._first_joins_pairs(empty, 3) is False
    assert measures._beyond_first(empty) == []


def test_beyond_the_first_head_layers_are_ranked():
    one = circuit(PAIRS, set(), {"s0→s2"}, {"s0→s4"})
    other = circuit(set(), PAIRS, {"s0→s2"}, set(), {"s0→s4"})
    assert measures._beyond_first(one) == measures._beyond_first(other)
    assert sorted(measures._beyond_first(one)) == [(1, "s0→s2"), (2, "s0→s4")]


CHAIN = circuit({"s2→s1", "s4→s3"}, {"s0→s2"}, {"s0→s4"})


def births(**steps: float | None) -> dict:
    names = {"pair1": (0, 0, "s2→s1"), "pair2": (0, 0, "s4→s3")}
    names |= {"x1": (1, 0, "s0→s2"), "x2": (2, 0, "s0→s4")}
    return {path: steps.get(name) for name, path in names.items()}


@pytest.mark.parametrize(
    ("born", "first"),
    [
        (births(pair1=100, x1=200, pair2=250, x2=300), True),
        (births(pair1=100, x1=200, pair2=150, x2=300), False),  # of x_2's way one was earlier
        (births(pair1=100, x1=None, pair2=250, x2=300), False),
        (births(pair1=100, x1=200, pair2=None, x2=None), True),
    ],
)
def test_induction_is_first_if_all_of_it_was_born_before_the_rest(born, first):
    routes = trace(make_task(RetrievalConfig(depth=2)), CHAIN.paths)
    assert routes is not None
    assert measures._induction_first(routes, born, ("x_1", "x_2")) is first


def test_a_symbol_arrives_with_the_first_path_that_brings_it():
    routes = trace(make_task(RetrievalConfig(depth=2)), CHAIN.paths)
    assert routes is not None
    born = births(pair1=100, x1=200, pair2=150, x2=300)
    assert measures._first_arrival(routes, born, "x_1") == 200
    assert measures._first_arrival(routes, born, "x_2") == 300
    assert measures._first_arrival(routes, births(), "x_2") is None


def test_ranks_correlate():
    assert reading.rank_correlation([1, 2, 3], [0.9, 0.5, 0.1]) == pytest.approx(-1)
    assert reading.rank_correlation([1, 2, 3], [0.1, 0.9, 0.5]) == pytest.approx(0.5)


def test_theory_is_measured_exactly():
    found = measures.theorem_1()
    assert len(found["minimum_minus_bound"]) == 128
    assert found["minimum_minus_bound"]["D=1, causal"] == 1.0  # 2 layers; the paper's bound is 1
    assert found["witness_heads_d3"] == {"D=3, 3 layers": 3.0}
    shared = measures.shared_information()
    assert len(shared["neighbours_share"]) == 55
    assert max(shared["reach_growth"].values()) <= 3
