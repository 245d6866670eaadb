"""Measures of circuits, emergence and their counts, written by hand."""

import pytest

from headway.circuits import Circuit, Paths, Uniform
from headway.relations.paths import AttentionPath
from headway_experiments.paper import identifiability as module
from headway_experiments.paper import information_flow, transformer_d, transformers_abc
from headway_experiments.paper.identifiability import ABLATIONS, by_hand, measured, shares

PAIRS = {"s2←s1", "s4←s3", "s6←s5"}


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
        (PAIRS | {"s1←s1"}, True),
        (PAIRS - {"s4←s3"}, False),
        ({"s0←s2"}, False),
    ],
)
def test_the_first_head_joins_every_pair_or_does_not(first, joins):
    assert transformers_abc._first_joins_pairs(circuit(set(), first, {"s0←s2"}), 3) is joins


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
    names = {"pair1": AttentionPath.of(0, 0, "s2←s1"), "pair2": AttentionPath.of(0, 0, "s4←s3")}
    names |= {"x1": AttentionPath.of(1, 0, "s0←s2"), "x2": AttentionPath.of(2, 0, "s0←s4")}
    return {path: steps.get(name) for name, path in names.items()}


@pytest.mark.parametrize(
    ("emerged", "first"),
    [
        (births(pair1=250, x1=200, pair2=150, x2=300), True),  # within pairs says nothing
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
    at_the_second_place = {AttentionPath.parse(path): step for path, step in steps.items()}
    assert transformer_d._looks_in_order(at_the_second_place) is True


def test_theory_is_measured_exactly():
    found = information_flow.theorem_1()
    assert len(found["minimum_minus_bound"]) == 128
    assert found["minimum_minus_bound"]["D=1, causal"] == 1.0  # 2 layers; the paper's bound is 1
    assert found["witness_heads_d3"] == {"D=3, 3 layers": 3.0}
    shared = information_flow.shared_information()
    assert len(shared["neighbours_share"]) == 55
    assert max(shared["reach_growth"].values()) <= 3


ONE, OTHER = ["L0.H0 s2←s1", "L1.H0 s0←s2"], ["L0.H0 s0←s1", "L1.H0 s0←s2"]


class Kept:
    """A run whose circuits are all known."""

    def __init__(self, **found):
        whole = {"circuits": [ONE], "complete": True}
        self.found = {ablation: found.get(ablation, whole) for ablation in ABLATIONS}

    def read(self, name):
        return self.found


@pytest.fixture
def found(monkeypatch):
    monkeypatch.setattr(module, "BY_HAND", ())
    several = {"circuits": [ONE, OTHER], "complete": False}
    heads = {"circuits": [ONE, ONE[:1]], "complete": True}
    none, cut = {"circuits": [], "complete": True}, {"circuits": [ONE], "complete": False}
    return measured(
        {
            "D=1,seed=1": Kept(own=several, mean=heads),
            "D=1,seed=2": Kept(own=none),
            "D=2,seed=1": Kept(own=cut, mean={"refused": "it has not learnt"}),
        }
    )


def test_circuits_and_sets_of_heads_are_counted_apart(found):
    circuits, heads = (found[f"identifiability_{of}"] for of in ("circuits", "heads"))
    assert (circuits["D=1,seed=1,own"], heads["D=1,seed=1,own"]) == (2, 1)
    assert (circuits["D=1,seed=1,mean"], heads["D=1,seed=1,mean"]) == (2, 2)
    assert found["identifiability_heads_first"]["D=1,seed=1"] == 1 / 5
    assert found["identifiability_own_most"] == {"D=1,seed=1": 1, "D=1,seed=2": 0}


def test_what_was_not_judged_to_the_end_is_unknown(found):
    assert set(found["identifiability_unknown"]) == {"D=2,seed=1,own", "D=2,seed=1,mean"}
    assert "D=2,seed=1,own" not in found["identifiability_circuits"]


def test_shares_are_of_models_that_have_a_circuit(found):
    assert shares(found, "circuits")["D=1"]["own"] == (0, 1)
    assert shares(found, "circuits")["all"]["zero"] == (3, 3)
    assert shares(found, "heads")["all"]["mean"] == (1, 2)


def test_a_model_set_by_hand_has_one_circuit_of_one_hop(monkeypatch):
    monkeypatch.setattr(module, "ABLATIONS", ("own", "mean"))
    for found in by_hand("doubling D=1").values():
        assert found == {"circuits": [["L0.H0 s2←s1", "L1.H0 s0←s2"]], "complete": True}
