"""Any model with a tap is taken apart as a `Transformer` is, whose losses come by a faster way."""

import pytest

from headway.circuits import discover
from headway.models import Tappable
from headway_experiments.arena import compiled
from known_circuits import Foreign


def test_a_foreign_model_is_discovered_and_certified_alike():
    known = compiled(2)
    foreign = Foreign(known.model)
    assert isinstance(foreign, Tappable)
    own, other = (discover(model, known.task, sequences=32) for model in (known.model, foreign))
    assert other.circuit == own.circuit
    assert other.replaced_loss == pytest.approx(own.replaced_loss, abs=1e-5)
    assert (other.faithful, other.necessary, other.minimal) == (True,) * 3
    assert other.evidence.minimum == own.evidence.minimum == 3
