"""Measures on circuits and emergence that are written by hand."""

import pytest
from known import circuit

from headway.relations.paths import AttentionPath
from headway_experiments.paper import information_flow, transformer_d, transformers_abc

PAIRS = {"s2←s1", "s4←s3", "s6←s5"}


@pytest.mark.parametrize(
    ("first", "joins"),
    [
        (PAIRS, True),
        (PAIRS | {"s1←s1"}, True),
        (PAIRS - {"s4←s3"}, False),
        ({"s0←s2"}, False),
    ],
)
def test_the_first_head_joins_every_pair_or_does_not(first, joins):
    assert (
        transformers_abc._first_joins_pairs(circuit(set(), first, {"s0←s2"}), 3)
        is joins
    )


def test_a_circuit_without_useful_heads_has_nothing_first_or_beyond():
    empty = circuit(set(), set())
    assert transformers_abc._first_joins_pairs(empty, 3) is False
    assert transformers_abc._beyond_first(empty) == []


def test_beyond_the_first_head_layers_are_ranked():
    one = circuit(PAIRS, set(), {"s0←s2"}, {"s0←s4"})
    other = circuit(set(), PAIRS, {"s0←s2"}, set(), {"s0←s4"})
    assert transformers_abc._beyond_first(one) == transformers_abc._beyond_first(other)
    assert sorted(transformers_abc._beyond_first(one)) == [(1, "s0←s2"), (2, "s0←s4")]


CHAIN = circuit({"s2←s1", "s4←s3"}, {"s0←s2"}, {"s0←s4"})


def births(**steps: float | None) -> dict:
    names = {
        "pair1": AttentionPath.of(0, 0, "s2←s1"),
        "pair2": AttentionPath.of(0, 0, "s4←s3"),
    }
    names |= {
        "x1": AttentionPath.of(1, 0, "s0←s2"),
        "x2": AttentionPath.of(2, 0, "s0←s4"),
    }
    return {path: steps.get(name) for name, path in names.items()}


@pytest.mark.parametrize(
    ("emerged", "first"),
    [
        (
            births(pair1=250, x1=200, pair2=150, x2=300),
            True,
        ),  # within pairs says nothing
        (births(pair1=100, x1=300, pair2=100, x2=200), False),
        (births(pair1=100, x1=None, pair2=100, x2=200), False),
        (births(pair1=100), False),
    ],
)
def test_induction_is_first_of_what_leads_from_pair_to_pair(emerged, first):
    assert transformer_d._induction_first(emerged) is first


def test_the_query_looks_along_the_chain_in_order_or_not():
    assert transformer_d._looks_in_order(births(x1=200, x2=300)) is True
    assert transformer_d._looks_in_order(births(x1=300, x2=200)) is False
    assert transformer_d._looks_in_order(births(x1=300)) is None
    steps = {"L1.H0 s0←s2": 400.0, "L2.H0 s0←s3": 100.0, "L3.H0 s0←s4": 200.0}
    at_the_second_place = {
        AttentionPath.parse(path): step for path, step in steps.items()
    }
    assert transformer_d._looks_in_order(at_the_second_place) is True


def test_theory_is_measured_exactly():
    found = information_flow.theorem_1()
    assert len(found["minimum_minus_bound"]) == 128
    # 2 layers; the paper's bound is 1.
    assert found["minimum_minus_bound"]["D=1, causal"] == 1.0
    assert found["witness_heads_d3"] == {"D=3, 3 layers": 3.0}
    shared = information_flow.shared_information()
    assert len(shared["neighbours_share"]) == 55
    assert max(shared["reach_growth"].values()) <= 3
