"""Ways to a circuit, by name and of one's own."""

from dataclasses import dataclass

import pytest

from headway.errors import HeadwayError
from headway.find import Way, discover
from headway.find.ways import WAYS, Blind, ByCorruption, Told, way_for
from headway.replace import Circuit, Uniform
from headway.tasks import Retrieval
from headway_experiments.arena import compiled


@pytest.fixture(scope="module")
def known():
    return compiled(1)


def test_the_ways_by_name():
    assert {*WAYS} >= {"told", "blind", "corrupted"}
    assert way_for(Retrieval(1), None, candidate_attention=(0.2,)) == Told((0.2,))
    assert way_for(Retrieval(1), "blind", candidate_attention=(0.2,)) == Blind()
    assert way_for(Retrieval(1), "corrupted") == ByCorruption()


def test_a_way_that_there_is_not_is_refused(known):
    with pytest.raises(
        HeadwayError, match=r"way = .* is not allowed: it must be one of told"
    ):
        discover(known.model, known.task, way="sideways")


def test_a_told_task_can_be_read_blind(known):
    found = discover(known.model, known.task, way="blind", trials=False, sequences=32)
    assert found.ablation == "mean"
    assert found.asked == {"way": "blind", "sequences": 32}
    assert found.circuit.useful_heads == [(0, 0), (1, 0)]


@dataclass(frozen=True)
class Nothing(Way):
    """A way of a user's: it finds that no head does anything."""

    kind = "nothing of use"

    def circuit(self, bench, yardstick):
        return Circuit(dict.fromkeys(bench.heads, Uniform()))


@pytest.mark.parametrize("way", [Nothing(), "nothing of use"])
def test_a_way_of_ones_own_is_gone(known, way):
    found = discover(known.model, known.task, way=way, trials=False, sequences=32)
    assert found.circuit.useful_heads == []
    assert not found.faithful


def test_a_way_to_a_circuit_that_is_given_is_refused(known):
    circuit = Circuit.of(sorted(known.required))
    with pytest.raises(
        HeadwayError, match="way = 'blind' is not allowed: it must be left out"
    ):
        discover(known.model, known.task, circuit=circuit, way="blind")
