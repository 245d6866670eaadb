"""Which MLPs a circuit needs."""

import pytest
import torch

from headway.circuits import Bench, Mean, discover
from headway.circuits.mechanism import AN_MLP
from headway.errors import HeadwayError
from headway.models import Transformer
from headway_experiments.arena import compiled


@pytest.fixture(scope="module")
def doubling():
    """A compiled model whose first MLP works out what every later layer compares."""
    return compiled(2)


def test_the_mlp_that_does_the_work_is_needed(doubling):
    found = discover(doubling.model, doubling.task, trials=False)
    mlps = found.evidence.mlps
    assert mlps is not None
    assert mlps.needed == (0,)
    first = mlps.each[0]
    assert first.mean < 1e-3  # what is carried does not need it,
    assert first.mean_free > 0.5  # what heads look for does
    assert mlps.without_rest < 0.05
    assert "needed in layer 0" in str(found)


def test_an_mlp_at_its_mean_is_what_a_hook_would_make_of_it(doubling):
    model, task = doubling.model, doubling.task
    bench = Bench(model, task, task.sample(8, torch.Generator().manual_seed(3)))
    _, seen = model.run_with_cache(bench.batch.inputs)
    for layer in range(model.n_layers):
        mean = seen["mlp_out", layer].mean(0, keepdim=True).expand_as(seen["mlp_out", layer])
        name = f"blocks.{layer}.hook_mlp_out"
        with model.hooks([(name, lambda out, _, mean=mean: mean[:, -out.shape[1] :])]):
            outputs = model(bench.batch.inputs)
        expected = bench.judged(outputs, slice(None)).mean().item()
        found = bench.loss({(layer, AN_MLP): Mean()})
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_mlps_that_are_not_known_are_refused(doubling):
    task = doubling.task
    batch = task.sample(8, torch.Generator().manual_seed(3))
    assert isinstance(doubling.model, Transformer)
    whole = Bench(doubling.model, task, batch, shared=False)
    with pytest.raises(HeadwayError, match=r"^circuit: \(layer, head\) = \(0, -1\) is not allowed"):
        whole.loss({(0, AN_MLP): Mean()})
