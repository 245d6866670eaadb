"""Which MLPs a circuit needs."""

import pytest
import torch

from headway.circuits import Bench, discover
from headway.circuits.mlps import mlps_of
from headway.models import Transformer
from headway_experiments.arena import compiled


@pytest.fixture(scope="module")
def doubling():
    """A compiled model whose first MLP works out what every later layer compares."""
    known = compiled(2)
    return known, discover(known.model, known.task, trials=False)


def test_the_mlp_that_does_the_work_is_needed(doubling):
    _, found = doubling
    mlps = found.evidence.mlps
    assert mlps is not None
    assert mlps.needed == (0,)
    first = mlps.each[0]
    assert first.mean < 1e-3  # what is carried does not need it,
    assert min(first.mean_free, first.resampled_free) > 0.5  # what heads look for does
    assert mlps.without_rest < 0.05
    assert "needed in layer 0" in str(found)


def test_no_search_in_another_thread_meets_a_hook(doubling, monkeypatch):
    """Nothing is hooked to the model itself, with which other threads compute."""
    known, found = doubling
    hooked = []
    hooks = Transformer.hooks

    def noted(model, *args, **kwargs):
        hooked.append(model)
        return hooks(model, *args, **kwargs)

    monkeypatch.setattr(Transformer, "hooks", noted)
    bench = Bench(known.model, known.task, known.task.sample(8, torch.Generator().manual_seed(3)))
    assert mlps_of(bench, found.circuit, 0.05) is not None
    assert hooked
    assert known.model not in hooked
