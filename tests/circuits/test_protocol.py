"""Any model with a tap is taken apart as a `Transformer` is, whose losses come by a faster way."""

import pytest

from headway.circuits import Bench, discover
from headway.circuits.candidates import relation_attention, searched
from headway.circuits.search import search
from headway.models import Tappable
from headway.training import held_out
from headway_experiments.arena import compiled, planted
from known_circuits import Foreign

MADE = [(compiled, 1), (compiled, 2), (planted, 2001), (planted, 2004), (planted, 2007)]


@pytest.mark.parametrize(("make", "number"), MADE)
def test_the_search_on_the_protocol_finds_what_the_fast_one_finds(make, number):
    known = make(number)
    batch = held_out(known.task, 16, 0, "cpu", "circuit")
    attention = relation_attention(known.model, known.task, batch)
    found, losses = [], []
    for model, shared in ((known.model, True), (known.model, False), (Foreign(known.model), True)):
        bench = Bench(model, known.task, batch, shared=shared)
        found.append(search(bench, attention, searched(bench.patterns, "path"), 0.05))
        losses.append(bench.loss(found[0]))
    assert found[0] == found[1] == found[2]
    assert losses == pytest.approx([losses[0]] * 3, abs=1e-5)
    assert set(known.required) <= set(found[0].paths)


def test_a_foreign_model_is_discovered_and_certified_alike():
    known = compiled(2)
    foreign = Foreign(known.model)
    assert isinstance(foreign, Tappable)
    own, other = (discover(model, known.task, sequences=32) for model in (known.model, foreign))
    assert other.circuit == own.circuit
    assert other.replaced_loss == pytest.approx(own.replaced_loss, abs=1e-5)
    assert (other.faithful, other.necessary, other.minimal, other.feasible) == (True,) * 4
    assert other.evidence.minimum == own.evidence.minimum == 3
