"""Which MLPs a circuit needs."""

import pytest
import torch

from headway.circuits import Bench, Circuit, Head, Mechanism, discover
from headway.circuits.mlps import mlps_of
from headway.models import Transformer, TransformerConfig
from headway.tasks import Batch, Retrieval
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


def test_what_is_needed_depends_on_the_threshold_alone(doubling):
    known, found = doubling
    batch = known.task.sample(16, torch.Generator().manual_seed(3))
    bench = Bench(known.model, known.task, batch)
    strict = mlps_of(bench, found.circuit, 1e-12)
    loose = mlps_of(bench, found.circuit, 1e9)
    assert strict is not None
    assert loose is not None
    assert strict.needed == tuple(range(known.model.n_layers))
    assert loose.needed == ()
    assert strict.each == loose.each


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


def test_a_mean_over_equal_sequences_changes_nothing():
    """Where all sequences are the same, an MLP's mean and another sequence's output are its own."""
    task = Retrieval(depth=1)
    shape = TransformerConfig(n_layers=2, d_model=16, n_heads=1, d_mlp=16)
    model = Transformer(shape, task.d_input, task.d_target, task.length, task.n_chains).eval()
    one = task.sample(1, torch.Generator().manual_seed(0))
    same = Batch(*(value.repeat_interleave(4, 0) for value in vars(one).values()))
    bench = Bench(model, task, same)
    intact: dict[Head, Mechanism] = {}
    found = mlps_of(bench, Circuit(intact), 0.0)
    assert found is not None
    own = bench.loss()
    for mlp in found.each:
        losses = (mlp.mean, mlp.mean_free, mlp.resampled, mlp.resampled_free)
        assert losses == pytest.approx((own,) * 4, rel=1e-5)


def test_a_model_without_mlps_has_none():
    task = Retrieval(depth=1)
    shape = TransformerConfig(n_layers=2, d_model=16, n_heads=1, d_mlp=0)
    model = Transformer(shape, task.d_input, task.d_target, task.length, task.n_chains).eval()
    bench = Bench(model, task, task.sample(8, torch.Generator().manual_seed(3)))
    assert mlps_of(bench, Circuit({}), 0.05) is None
