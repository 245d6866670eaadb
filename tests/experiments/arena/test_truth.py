"""The truth by exchange, and circuits with one fault, on a model whose circuit is known
by hand.
"""

import random

import pytest

from headway.replace import Circuit
from headway.replace.exchange import Exchange
from headway.replace.partners import partners
from headway_experiments.arena import compiled
from headway_experiments.arena.case import LeftOutError
from headway_experiments.arena.cohorts import COHORTS, names_of
from headway_experiments.arena.faults import AT_LEAST, Faults
from headway_experiments.arena.truth import truth_by_exchange
from sampling import seeded


@pytest.fixture(scope="module")
def known():
    return compiled(2)


@pytest.fixture(scope="module")
def faults(known):
    given = partners(known.task, 32, seeded(77))
    exchange = Exchange.among(known.model, known.task, given)
    right = Circuit.of(sorted(known.required))
    return Faults(exchange, right, known.required)


def test_exchange_shows_the_circuit_of_a_model_by_hand(known):
    truth = truth_by_exchange(known.model, known.task, 0)
    assert truth.circuits == [known.required]
    assert truth.required == known.required
    assert truth.alternatives == ()
    assert truth.all_judged
    assert truth.rows is None


def test_without_the_heads_that_it_needs_no_set_is_enough(known):
    with pytest.raises(LeftOutError, match="candidate paths are enough"):
        truth_by_exchange(known.model, known.task, 0, heads=[(0, 0)])


def test_every_wrong_circuit_differs_from_the_right_one(faults):
    wrong = faults.drawn(random.Random(0))
    assert len(wrong) >= AT_LEAST
    for fault in wrong:
        assert fault.circuit != faults.right
    kinds = {fault.kind for fault in wrong}
    assert {"path dropped", "wrong head", "needed head as uniform"} <= kinds


def test_to_say_of_a_head_by_place_that_it_is_by_place_is_no_fault(faults):
    """The first head reads the token before, in every sequence; those above follow
    symbols.
    """
    heads = {fault.what for fault in faults.as_mean()}
    assert "L0.H0" not in heads
    assert {"L1.H0", "L2.H0"} <= heads


def test_a_relation_that_leads_to_the_same_cells_is_no_neighbour(faults):
    assert not faults.is_near("s2←s1", "s2←s1")
    assert faults.is_near("s2←s1", "s2←s3")
    assert not faults.is_near("s2←s1", "s4←s3")


def test_models_for_choosing_and_for_judging_are_others():
    names = {purpose: names_of(purpose) for purpose in COHORTS}
    assert not {*names["choosing"]} & {*names["judging"]}
    assert len(names["choosing"]) >= 20
    assert len(names["judging"]) >= 60
