import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

import random_models
from headway.errors import HeadwayError
from headway.models import Transformer, TransformerConfig, attention_patterns, tapped
from random_models import D_INPUT, D_TARGET, LENGTH, configs, quick, seeds

shapes = configs(init=st.sampled_from(["gpt2", "gpt2_blocks", "fan_in", "orthogonal"]))


def build(config, n_read=LENGTH, seed=0):
    return random_models.build(config, seed, n_read=n_read).double()


def random_inputs(seed=0):
    return random_models.random_inputs(seed).double()


@given(config=shapes, n_read=st.integers(1, LENGTH), seed=seeds)
@quick
def test_a_tap_that_changes_nothing_changes_nothing(config, n_read, seed):
    model = build(config, n_read, seed)
    inputs = random_inputs(seed)
    layers = []

    def look(layer, pattern):
        layers.append(layer)
        assert pattern.shape == (2, config.n_heads, LENGTH, LENGTH)
        return pattern

    assert_close(model(inputs, look), model(inputs))
    assert layers == list(range(config.n_layers))


@given(config=shapes, seed=seeds)
@quick
def test_patterns_are_distributions_over_what_may_be_seen(config, seed):
    model = build(config, n_read=2, seed=seed)
    patterns = attention_patterns(model, random_inputs(seed))
    assert patterns.shape == (2, config.n_layers, config.n_heads, LENGTH, LENGTH)
    assert (patterns >= 0).all()
    sums = patterns.sum(-1)
    assert_close(sums, torch.ones_like(sums))
    is_ahead = torch.ones(LENGTH, LENGTH).triu(1).bool()
    future = patterns[..., is_ahead]
    assert (future == 0).all() if config.causal else (future > 0).all()


@given(config=shapes, seed=seeds, changed=st.integers(1, LENGTH - 1))
@quick
def test_only_an_unmasked_model_lets_the_future_reach_the_past(config, seed, changed):
    model = build(config, seed=seed)
    inputs = random_inputs(seed)
    other = inputs.clone()
    other[:, changed] += 1.0
    before = model(inputs)
    after = model(other)
    earlier = attention_patterns(model, inputs)[..., :changed, :]
    later = attention_patterns(model, other)[..., :changed, :]
    past, past_after = before[:, :changed], after[:, :changed]
    future, future_after = before[:, changed:], after[:, changed:]
    assert not torch.allclose(future, future_after)
    if config.causal:
        assert_close(past, past_after)
        assert_close(earlier, later)
    else:
        assert not torch.allclose(past, past_after, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("init", ["gpt2", "fan_in"])
def test_initial_weights_have_the_spread_asked_for(init):
    config = TransformerConfig(n_layers=3, d_model=48, n_heads=2, d_head=16, init=init)
    model = Transformer(config, D_INPUT, D_TARGET, LENGTH, 1, seed=3)
    for name, weight in model.named_parameters():
        if weight.ndim < 2:
            is_norm_scale = ".ln" in f".{name}" and name.endswith("weight")
            assert (weight == (1.0 if is_norm_scale else 0.0)).all(), name
            continue
        expected = weight.shape[1] ** -0.5
        if init == "gpt2":
            writes = name.endswith(("attn.out.weight", "mlp.down.weight"))
            expected = 0.02 / math.sqrt(2 * 3) if writes else 0.02
        n = weight.numel()
        error_of_mean = expected / math.sqrt(n)
        error_of_spread = expected / math.sqrt(2 * n)
        assert abs(weight.mean()) < 5 * error_of_mean, name
        assert abs(weight.std() - expected) < 5 * error_of_spread, name


@pytest.mark.parametrize("d_mlp", [0, 16])
@pytest.mark.parametrize("init", ["gpt2", "orthogonal"])
def test_layers_above_some_write_nothing_at_first(init, d_mlp):
    config = TransformerConfig(3, 16, d_mlp=d_mlp, init=init, silent_above=1)
    silent = Transformer(config, D_INPUT, D_TARGET, LENGTH, 1).state_dict()
    all_write = replace(config, silent_above=None)
    loud = Transformer(all_write, D_INPUT, D_TARGET, LENGTH, 1).state_dict()
    for name, weight in silent.items():
        writes = name.endswith(("attn.out.weight", "mlp.down.weight"))
        if writes and not name.startswith("blocks.0."):
            assert not weight.any(), name
            assert loud[name].any(), name
        else:
            assert torch.equal(weight, loud[name]), name


@pytest.mark.parametrize("vocabulary", [None, 5])
def test_a_sequence_that_is_too_long_is_refused(vocabulary):
    model = Transformer(TransformerConfig(1, 8), 1, 5, LENGTH, 1, vocabulary=vocabulary)
    vectors = torch.zeros(2, LENGTH + 1, 1)
    tokens = torch.zeros(2, LENGTH + 1).long()
    inputs = vectors if vocabulary is None else tokens
    with pytest.raises(
        HeadwayError, match=r"positions in a sequence = 8 is not .* at most 7"
    ):
        model(inputs)
    assert model(inputs[:, :LENGTH]).shape == (2, 1, 5)


@pytest.mark.parametrize("attention", ["softmax", "linear"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@torch.no_grad()
def test_a_model_in_half_precision(attention, dtype):
    config = TransformerConfig(n_layers=2, n_heads=2, d_model=16, attention=attention)
    model = random_models.build(config, 0, n_read=2)
    inputs = random_models.random_inputs(0)
    expected = model(inputs)
    known = attention_patterns(model, inputs)
    halved = model.to(dtype)
    few = inputs.to(dtype)
    found = halved(few)
    assert found.dtype == dtype
    close = {"atol": 0.1 * expected.abs().max().item(), "rtol": 0}
    assert_close(found.float(), expected, **close)
    patterns = attention_patterns(halved, few)
    assert patterns.dtype == torch.float32
    near = 0.02 * known.abs().max().item()
    assert_close(patterns, known, atol=near, rtol=0)
    without = halved(few, lambda layer, pattern: pattern * 0)
    assert without.dtype == dtype
    assert not torch.allclose(without, found)


@torch.no_grad()
def test_a_model_in_half_precision_can_be_tapped():
    config = TransformerConfig(n_layers=2, n_heads=2, d_model=16)
    model = random_models.build(config, 0, n_read=2).bfloat16()
    inputs = random_models.random_inputs(0).bfloat16()
    wrapped = tapped(model, inputs)
    assert wrapped.n_layers == 2
    assert wrapped.n_heads == 2
    found = wrapped(inputs, lambda layer, pattern: pattern.clone())
    assert_close(found, model(inputs))
