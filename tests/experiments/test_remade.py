"""Maps that are made anew before the first step."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from commands import refusing
from headway.models import TransformerConfig
from headway.tasks import Retrieval
from headway.training import RunConfig, TrainingConfig, train
from headway_experiments.remade import Remade, remade
from sampling import seeded

SHORT = TrainingConfig(
    steps=2, batch_size=4, eval_every=2, eval_examples=8, checkpoint_every=1
)


def start(folder, curriculum):
    """The weights before the first step."""
    config = RunConfig(
        Retrieval(depth=1, n_chains=2),
        TransformerConfig(2, 16, init="gpt2_blocks"),
        SHORT if curriculum is None else replace(SHORT, curriculum=curriculum),
    )
    return train(config, folder).model(0).state_dict()


@torch.no_grad()
def test_named_maps_alone_become_orthogonal(tmp_path):
    plain = start(tmp_path / "plain", None)
    made = start(tmp_path / "made", Remade("W_K W_in.1", gain=3.0))
    changed = {name for name in made if not torch.equal(made[name], plain[name])}
    qkv = {f"blocks.{layer}.attn.qkv.weight" for layer in range(2)}
    assert changed == qkv | {"blocks.1.mlp.up.weight"}
    for name in qkv:
        query, key, value = made[name].chunk(3)
        was_query, _, was_value = plain[name].chunk(3)
        assert torch.equal(query, was_query)
        assert torch.equal(value, was_value)
        assert_close(key @ key.T, 9 * torch.eye(16))


@pytest.mark.parametrize("shape", [(8, 8), (8, 32), (32, 8)])
def test_size_and_spectrum_are_changed_apart(shape):
    weight = torch.randn(shape, generator=seeded(0))
    values = torch.linalg.svdvals(weight)
    flat = remade(weight, flat=True, gain=None)
    flat_values = torch.linalg.svdvals(flat)
    assert_close(flat.norm(), weight.norm())
    assert_close(flat_values, flat_values.mean().expand(8))
    large = remade(weight, flat=False, gain=2.0)
    assert_close(large.square().sum(1).mean(), torch.tensor(4.0))
    assert_close(torch.linalg.svdvals(large) / values, (large / weight)[0, 0].expand(8))


def test_stages_are_refused():
    with refusing("training.curriculum.weights", "without a >"):
        Remade("W_Q > W_K")
