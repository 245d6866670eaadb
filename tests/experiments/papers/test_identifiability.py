"""Counts of minimal circuits, from what run folders keep."""

import pytest

from headway import userfile
from headway.errors import HeadwayError
from headway_experiments.paper import identifiability as module
from headway_experiments.paper.identifiability import (
    ABLATIONS,
    RUNS,
    measured,
    others,
    shares,
)
from sampling import seeded

STRANGER = """
from headway_experiments.arena import compiled

KNOWN = compiled(1)
MODELS = {"copier": (lambda: KNOWN.model, KNOWN.task)}
"""

ONE = ["L0.H0 s2←s1", "L1.H0 s0←s2"]
OTHER = ["L0.H0 s0←s1", "L1.H0 s0←s2"]


def kept(**found):
    """What is known of a model, by ablation; one circuit where nothing else is said."""
    whole = {"circuits": [ONE], "complete": True}
    return {ablation: found.get(ablation, whole) for ablation in ABLATIONS}


@pytest.fixture
def found():
    several = {"circuits": [ONE, OTHER], "complete": False}
    heads = {"circuits": [ONE, ONE[:1]], "complete": True}
    none = {"circuits": [], "complete": True}
    cut = {"circuits": [ONE], "complete": False}
    return measured(
        {
            "D=1,seed=1": kept(own=several, mean=heads),
            "D=1,seed=2": kept(own=none),
            "D=2,seed=1": kept(own=cut, mean={"refused": "it has not learnt"}),
        }
    )


def test_circuits_and_sets_of_heads_are_counted_apart(found):
    circuits = found[f"identifiability_{'circuits'}"]
    heads = found[f"identifiability_{'heads'}"]
    assert circuits["D=1,seed=1,own"] == 2
    assert heads["D=1,seed=1,own"] == 1
    assert circuits["D=1,seed=1,mean"] == 2
    assert heads["D=1,seed=1,mean"] == 2
    assert found["identifiability_heads_first"]["D=1,seed=1"] == 1 / 5
    assert found["identifiability_own_most"] == {"D=1,seed=1": 1, "D=1,seed=2": 0}


def test_what_was_not_judged_to_the_end_is_unknown(found):
    assert set(found["identifiability_unknown"]) == {
        "D=2,seed=1,own",
        "D=2,seed=1,mean",
    }
    assert "D=2,seed=1,own" not in found["identifiability_circuits"]


def test_shares_are_of_models_that_have_a_circuit(found):
    assert shares(found, "circuits")["retrieval"]["own"] == (0, 1)
    assert shares(found, "circuits")["retrieval"]["zero"] == (3, 3)
    assert shares(found, "heads")["retrieval"]["mean"] == (1, 2)


def test_a_model_set_by_hand_has_one_circuit_of_one_hop(tmp_path):
    made = dict(others("smoke", tmp_path))["by hand,doubling D=1"]
    for ablation in ("own", "mean"):
        one = {"circuits": [["L0.H0 s2←s1", "L1.H0 s0←s2"]], "complete": True}
        assert module.minimal(made, ablation) == one


def test_by_exchange_a_model_set_by_hand_has_one_circuit(tmp_path):
    made = dict(others("smoke", tmp_path))["by hand,doubling D=1"]
    one = {"circuits": [["L0.H0 s2←s1", "L1.H0 s0←s2"]], "complete": True}
    assert module.minimal(made, "exchange") == one


def test_a_model_that_has_not_learnt_is_refused_by_exchange(tmp_path):
    model, task = dict(others("smoke", tmp_path))["by hand,doubling D=1"]()
    for weight in model.parameters():
        weight.data.zero_()
    assert "refused" in module.minimal(lambda: (model, task), "exchange")


def test_a_stranger_is_looked_into_by_the_relations_that_its_heads_follow(tmp_path):
    place = tmp_path / "strangers"
    place.mkdir()
    (place / "strangers.py").write_text(STRANGER, encoding="utf-8")
    with pytest.raises(HeadwayError, match="is not executed"):
        dict(others("small", tmp_path))
    userfile.trust(place / "strangers.py")
    assert "1 of 1 strangers are not looked into" in RUNS.gaps("small", tmp_path)
    found = dict(others("small", tmp_path))
    assert {name.partition(",")[0] for name in found} >= {
        "by hand",
        "planted",
        "strangers",
    }
    model, task = found["strangers,copier"]()
    assert list(task.edges(task.sample(2, seeded(0))))
    assert module.minimal(lambda: (model, task), "zero")["complete"]


def test_circuits_are_kept_and_not_looked_for_again(tmp_path, monkeypatch):
    RUNS.obtain("smoke", tmp_path, None)
    first = RUNS.found("smoke", tmp_path)
    assert list(first) == [name for name, _ in others("smoke", tmp_path)]
    monkeypatch.setattr(module, "minimal", None)
    RUNS.obtain("smoke", tmp_path, None)
    assert RUNS.found("smoke", tmp_path) == first
    assert "strangers are not there" in RUNS.gaps("small", tmp_path)
