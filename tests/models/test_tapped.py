"""A tap for any module: what it hands out is the pattern, and what it is given is
used.
"""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention.bias import causal_lower_right, causal_upper_left
from torch.testing import assert_close

from headway.models import (
    Tappable,
    Transformer,
    TransformerConfig,
    attention_patterns,
    tapped,
)
from nano import BIAS, LENGTH, WIDTH, Nano, X, looked

CAUSAL = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()


@pytest.mark.parametrize("kind", ["sdpa", "softmax", "einsum"])
def test_a_model_of_ones_own(kind):
    reference = Nano("softmax", "softmax")
    wrapped = tapped(Nano(kind, kind), X[:1])
    expected = reference(X)
    outputs, seen = looked(wrapped)
    assert_close(outputs, expected, atol=1e-5, rtol=0)
    assert wrapped.n_layers == 2
    assert wrapped.n_heads == 2
    for pattern, block in zip(seen, reference.blocks, strict=True):
        assert_close(pattern, block.pattern, atol=1e-5, rtol=0)
        assert block.pattern.std() > 0.2  # there is something to see


@pytest.mark.parametrize("kind", ["sdpa", "softmax", "einsum"])
@pytest.mark.parametrize("layer", [0, 1])
def test_a_head_without_a_pattern_is_gone(kind, layer):
    model = Nano(kind, kind)
    without = copy.deepcopy(model)
    with torch.no_grad():
        without.blocks[layer].out.weight[:, 8:] = 0
    found = tapped(model)(X, zeroed(layer, 1))
    assert_close(found, without(X), atol=1e-5, rtol=0)
    assert not torch.allclose(found, model(X), atol=1e-2)


def zeroed(layer, head):
    def tap(at, pattern):
        if at != layer:
            return pattern
        return pattern.index_fill(1, torch.tensor(head), 0)

    return tap


def test_gradients_reach_the_pattern():
    """Of the output by a head's strength; the oracle is a difference of two outputs."""
    model = Nano("sdpa", "softmax").double()
    x = X.double()
    wrapped = tapped(model, x)

    def output(strength):
        strengths = torch.stack([strength, torch.ones_like(strength)])

        def tap(layer, pattern):
            return pattern * strengths[:, None, None]

        return wrapped(x, tap).square().sum()

    strength = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(output(strength), strength)
    step = torch.tensor(1e-5, dtype=torch.float64)
    above = output(strength + step)
    below = output(strength - step)
    measured = (above - below) / (2 * step)
    assert slope.item() == pytest.approx(measured.item(), rel=1e-6)


class Attends(nn.Module):
    """One call of `scaled_dot_product_attention`, with two heads of keys for four of
    queries.
    """

    def __init__(self, grouped=False, **options):
        super().__init__()
        self.grouped = grouped
        self.options = options

    def forward(self, x):
        query = x.view(*x.shape[:2], 4, -1).transpose(1, 2)
        key = query.flip(1)
        if self.grouped:
            key = key[:, :2]
        z = F.scaled_dot_product_attention(query, key, value=key * 2, **self.options)
        return z.transpose(1, 2)


NOT_THE_THIRD = torch.arange(LENGTH) != 2


LONELY = CAUSAL & NOT_THE_THIRD[:, None]  # the third query has no key


AT_MINUS_INFINITY = BIAS.masked_fill(~CAUSAL, -torch.inf)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("plain", {}),
        ("causal", {"is_causal": True, "scale": 0.3}),
        ("bool", {"attn_mask": CAUSAL}),
        ("float", {"attn_mask": BIAS}),
        ("minus infinity", {"attn_mask": AT_MINUS_INFINITY, "scale": 2.0}),
        ("grouped", {"grouped": True, "enable_gqa": True, "is_causal": True}),
        ("no key", {"attn_mask": LONELY}),
    ],
)
def test_attention_in_the_open_is_that_of_torch(name, options):
    module = Attends(**options)
    outputs, (pattern,) = looked(tapped(module, X))
    assert_close(outputs, module(X), atol=1e-6, rtol=0)
    expected = torch.ones(3, 4, LENGTH)
    if name == "no key":
        expected[:, :, 2] = 0
    assert_close(pattern.sum(-1), expected)


class LastQueries(nn.Module):
    """Attention of the last queries, under a mask that torch keeps as its sizes
    alone.
    """

    def __init__(self, bias, count):
        super().__init__()
        self.bias = bias
        self.count = count

    def forward(self, x):
        keys = x.view(*x.shape[:2], 4, -1).transpose(1, 2)
        queries = 0.5 * keys[:, :, -self.count :]
        mask = self.bias(self.count, x.shape[1])
        read = F.scaled_dot_product_attention(queries, keys, keys, attn_mask=mask)
        return x[:, -self.count :] + read.transpose(1, 2).flatten(2)


@pytest.mark.parametrize("count", [2, LENGTH])
@pytest.mark.parametrize("bias", [causal_lower_right, causal_upper_left])
def test_causal_masks_that_are_their_sizes(bias, count):
    module = LastQueries(bias, count)
    wrapped = tapped(module, X)
    assert wrapped.n_layers == 1
    assert wrapped.n_heads == 4
    assert wrapped.mixers == ()
    outputs, (pattern,) = looked(wrapped)
    assert_close(outputs, module(X), atol=1e-6, rtol=0)
    diagonal = LENGTH - count if bias is causal_lower_right else 0
    allowed = torch.ones(count, LENGTH).tril(diagonal).bool()
    is_read = pattern[:, :, -count:] > 0
    assert torch.equal(is_read, allowed.expand(3, 4, -1, -1))


class SelfAttention(nn.Module):
    """`MultiheadAttention` of a sequence to itself, batch first on the outside."""

    def __init__(self, need_weights, batch_first, mask, **options):
        super().__init__()
        torch.manual_seed(0)
        self.inner = nn.MultiheadAttention(WIDTH, 4, batch_first=batch_first, **options)
        self.need_weights = need_weights
        self.mask = mask
        self.batch_first = batch_first

    def both(self, x, need_weights, average):
        x = x * 3
        if not self.batch_first:
            x = x.transpose(0, 1)
        options = {"need_weights": need_weights, "average_attn_weights": average}
        outputs, pattern = self.inner(x, x, x, attn_mask=self.mask, **options)
        if not self.batch_first:
            outputs = outputs.transpose(0, 1)
        return outputs, pattern

    def forward(self, x):
        return self.both(x, self.need_weights, average=True)


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize(
    "mask", [None, ~CAUSAL, BIAS[0]], ids=["no mask", "bool", "float"]
)
@pytest.mark.parametrize(
    "options", [{}, {"add_bias_kv": True, "add_zero_attn": True}], ids=str
)
def test_multihead_attention(need_weights, batch_first, mask, options):
    module = SelfAttention(need_weights, batch_first, mask, **options).eval()
    without = copy.deepcopy(module)
    with torch.no_grad():
        without.inner.out_proj.weight[:, 4:8] = 0
        expected, pattern = module.both(X, need_weights=True, average=False)
        wrapped = tapped(module, X)
        found, seen = looked(wrapped)
        assert_close(found, expected, atol=1e-5, rtol=0)
        assert_close(seen, [pattern], atol=1e-5, rtol=0)
        found = wrapped(X, zeroed(0, 1))
        assert_close(found, without(X)[0], atol=1e-5, rtol=0)


@pytest.mark.parametrize("norm_first", [True, False])
def test_an_encoder_is_kept_from_its_fast_path(norm_first):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(
        WIDTH, 4, 32, batch_first=True, norm_first=norm_first
    )
    module = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False).eval()
    without = copy.deepcopy(module)
    with torch.no_grad():
        without.layers[1].self_attn.out_proj.weight[:, 12:] = 0
        wrapped = tapped(module, X)
        assert wrapped.n_layers == 3
        assert wrapped.n_heads == 4
        outputs, _ = looked(wrapped)
        assert_close(outputs, module(X), atol=1e-5, rtol=0)
        cut = wrapped(X, zeroed(1, 3))
        assert_close(cut, without(X), atol=1e-5, rtol=0)


@pytest.fixture(scope="module")
def own_model():
    config = TransformerConfig(n_layers=3, n_heads=2, d_model=16)
    return Transformer(config, d_input=WIDTH, d_target=4, n_positions=LENGTH, n_read=2)


def test_headways_own_model_has_the_same_tap_either_way(own_model):
    wrapped = tapped(own_model, X)
    outputs, seen = looked(wrapped)
    expected = attention_patterns(own_model, X).unbind(1)
    assert_close(outputs, own_model(X))
    assert_close(seen[:2], list(expected[:2]))
    last = seen[2]
    assert_close(last[:, :, -2:], expected[2][:, :, -2:])
    assert not last[:, :, :-2].any()  # the last layer is computed where it is read


def test_headways_own_model_is_tappable_either_way(own_model):
    for model in (own_model, tapped(own_model, X)):
        assert isinstance(model, Tappable)
        assert model.n_layers == 3
        assert model.n_heads == 2
    assert not isinstance(nn.Linear(1, 1), Tappable)


def test_the_wrapper_is_the_module_otherwise():
    module = Nano("sdpa")
    wrapped = tapped(module)
    assert torch.equal(wrapped(X), module(X))
    assert list(wrapped.state_dict()) == list(module.state_dict())
    weights = {id(weight) for weight in wrapped.parameters()}
    assert weights == {id(weight) for weight in module.parameters()}
    assert not wrapped.eval().module.training
    outputs = wrapped.double()(X.double(), lambda _, pattern: pattern)
    assert outputs.dtype == torch.float64


def test_weights_loaded_into_the_wrapper_are_the_module_s():
    module = Nano("sdpa")
    other = Nano("softmax")
    nn.init.zeros_(other.blocks[0].out.weight)
    tapped(module).load_state_dict(other.state_dict())
    assert not module.blocks[0].out.weight.any()
