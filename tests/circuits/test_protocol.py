"""Any model with a tap is taken apart as a `Transformer` is, whose losses come by a faster way."""

import pytest

from headway.circuits import discover, verdicts
from headway.models import Tappable
from headway_experiments.arena import compiled, planted
from known_circuits import Foreign


def held(found):
    return [one.holds for one in verdicts(found)]


@pytest.mark.parametrize(
    ("make", "seed"), [(compiled, 2), pytest.param(planted, 3, marks=pytest.mark.slow)]
)
def test_a_foreign_model_is_discovered_and_certified_alike(make, seed):
    known = make(seed)
    foreign = Foreign(known.model)
    assert isinstance(foreign, Tappable)
    how = {"sequences": 32, "trials": False}
    own, other = (discover(model, known.task, **how) for model in (known.model, foreign))
    assert other.circuit == own.circuit
    assert other.replaced_loss == pytest.approx(own.replaced_loss, abs=1e-5)
    assert set(known.required) <= set(other.circuit.paths)
    assert other.faithful
    assert held(other) == held(own)
    assert other.evidence.minimum == own.evidence.minimum
