"""Counts of minimal circuits, from what run folders keep."""

import pytest

from headway_experiments.paper import identifiability as module
from headway_experiments.paper.identifiability import ABLATIONS, built, measured, shares

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
    monkeypatch.setattr(module, "BUILT", {})
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
    assert shares(found, "circuits")["D=2"]["zero"] == (1, 1)
    assert shares(found, "heads")["D=1"]["mean"] == (1, 2)


def test_a_model_set_by_hand_has_one_circuit_of_one_hop(monkeypatch):
    monkeypatch.setattr(module, "ABLATIONS", ("own", "mean"))
    for found in built("by hand,doubling D=1").values():
        assert found == {"circuits": [["L0.H0 s2←s1", "L1.H0 s0←s2"]], "complete": True}
