"""Weights cut to low rank: the nearest matrix, weights put back, and where cutting must
help.
"""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import HeadwayError
from headway.models import Transformer, TransformerConfig
from headway_experiments.truncation.cuts import (
    INTACT,
    Cut,
    Cuts,
    Truncation,
    rank_of,
    spans,
)
from headway_experiments.truncation.weights import matrices


def random_matrix(rows, columns, seed=0):
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("shape", [(7, 7), (12, 5), (5, 12), (1, 6)])
def test_it_is_the_nearest_matrix_of_its_rank(shape):
    """Against numpy's own decomposition; the distance is that of the values that are
    left out.
    """
    weight = random_matrix(*shape)
    truncation = Truncation([{"up": weight}])
    left, values, right = np.linalg.svd(weight.double().numpy(), full_matrices=False)
    for rank in range(1, min(shape)):
        found = truncation.nearest(0, "up", rank / min(shape))
        expected = (left[:, :rank] * values[:rank]) @ right[:rank]
        np.testing.assert_allclose(found.numpy(), expected, atol=1e-5)
        assert np.linalg.matrix_rank(found.double().numpy(), tol=1e-4) == rank
        distance = np.linalg.norm(weight.numpy() - found.numpy())
        assert distance == pytest.approx(np.sqrt((values[rank:] ** 2).sum()), rel=1e-4)
        for seed in range(5):
            other = random_matrix(shape[0], rank, seed) @ random_matrix(
                rank, shape[1], seed + 9
            )
            scale = (other * weight).sum() / other.square().sum()
            assert (weight - scale * other).norm() > distance


def test_the_whole_weight_is_itself_and_none_of_it_is_zero():
    weight = random_matrix(9, 14)
    truncation = Truncation([{"up": weight}])
    assert torch.equal(truncation.nearest(0, "up", 1.0), weight)
    assert torch.equal(truncation.nearest(0, "up", 0.0), torch.zeros(9, 14))


@pytest.mark.parametrize(
    ("part", "full", "rank"), [(0.1, 30, 3), (0.1, 31, 4), (0.001, 9, 1), (0.0, 9, 0)]
)
def test_a_fraction_of_the_rank_is_rounded_up(part, full, rank):
    assert rank_of(part, torch.zeros(full, full + 3)) == rank


@given(st.integers(1, 300), st.integers(1, 300))
def test_a_part_that_is_whole_is_not_rounded(part, full):
    if part <= full:
        assert rank_of(part / full, torch.zeros(full, full)) == part


def test_what_is_no_number_is_refused():
    weight = random_matrix(3, 3)
    weight[1, 1] = torch.nan
    with pytest.raises(
        HeadwayError, match=r"^down of layer 0 holds values that are not finite"
    ):
        Truncation([{"down": weight}]).nearest(0, "down", 0.5)


def small(n_heads=2, **more):
    config = TransformerConfig(
        n_layers=3, d_model=12, n_heads=n_heads, init="fan_in", **more
    )
    return Transformer(config, d_input=5, d_target=4, n_positions=6, n_read=2, seed=3)


def test_the_weights_are_views_of_the_right_parts_of_a_layer():
    """Written through, each changes what it is called after and nothing else."""
    model = small()
    x = random_matrix(6, 12)[None]
    layer = matrices(model)[1]
    attention = model.layers[1].attn
    query, _, value = attention.qkv(x).chunk(3, dim=-1)
    assert list(layer) == ["query", "key", "value", "output", "up", "down"]
    layer["key"].zero_()
    now, keys, values = attention.qkv(x).chunk(3, dim=-1)
    assert torch.equal(now, query)
    assert torch.equal(keys, attention.qkv.bias[12:24].expand_as(keys))
    assert torch.equal(values, value)
    layer["output"].zero_()
    assert torch.equal(attention.out(x), attention.out.bias.expand(1, 6, 12))
    layer["down"].zero_()
    assert torch.equal(
        model.layers[1].mlp(x), model.layers[1].mlp.down.bias.expand(1, 6, 12)
    )
    assert list(matrices(small(d_mlp=0))[0]) == ["query", "key", "value", "output"]


def same(model, state):
    return all(
        torch.equal(weight, state[name]) for name, weight in model.state_dict().items()
    )


def test_weights_are_put_back_to_the_bit_whatever_happens():
    model = small()
    state = copy.deepcopy(model.state_dict())
    truncation = Truncation(matrices(model))
    cut = Cut((0, 2), "mlp+query", 0.3)
    with truncation.applied(cut):
        changed = {
            name
            for name, w in model.state_dict().items()
            if not torch.equal(w, state[name])
        }
        assert changed == {
            f"blocks.{layer}.{name}.weight"
            for layer in (0, 2)
            for name in ("mlp.up", "mlp.down", "attn.qkv")
        }
    assert same(model, state)
    for stop in (ValueError, KeyboardInterrupt):
        with pytest.raises(stop), truncation.applied(cut):
            raise stop
        assert same(model, state)
    with truncation.applied(INTACT):
        assert same(model, state)


def test_every_weight_is_decomposed_once(monkeypatch):
    count, svd = [], torch.linalg.svd

    def counted(*given, **named):
        count.append(given[0].shape)
        return svd(*given, **named)

    monkeypatch.setattr(torch.linalg, "svd", counted)
    truncation = Truncation(matrices(small()))
    for cut in Cuts((0, 1, 2), ("mlp", "down"), (0.0, 0.1, 0.2, 0.5, 1.0)).of(3):
        with truncation.applied(cut):
            pass
    assert len(count) == 3 * 2


def test_what_is_evaluated_is_the_truncated_model():
    model = small()
    inputs = torch.randn(4, 6, 5, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        intact, rows, truncation = model(inputs), {}, Truncation(matrices(model))
        for cut in Cuts((0, 2), ("mlp",), (0.0, 0.4, 1.0)).of(3):
            with truncation.applied(cut):
                rows[cut] = model(inputs)
        assert torch.equal(rows[INTACT], intact)
        plain = small()
        for layer in (0, 2):
            plain.layers[layer].mlp.down.weight.zero_()
        assert torch.allclose(rows[Cut((0, 2), "mlp", 0.0)], plain(inputs), atol=1e-6)
        assert not torch.allclose(rows[Cut((2,), "mlp", 0.4)], intact, atol=1e-3)


def test_layers_are_truncated_alone_and_upwards():
    assert spans([5, 3]) == {"alone": [(3,), (5,)], "upwards": [(3, 5), (5,)]}
    assert spans([4]) == {"alone": [(4,)]}
    assert Cuts((3, 5), ("mlp",), (0.0, 1.0)).of(6) == [
        INTACT,
        *(Cut(layers, "mlp", 0.0) for layers in ((3,), (5,), (3, 5))),
    ]


@pytest.mark.parametrize("fraction", [-0.1, 1.5, float("nan")])
def test_a_rank_outside_is_refused(fraction):
    with pytest.raises(
        HeadwayError, match=r"^rank = .* must be a fraction of the full rank"
    ):
        Cuts(None, ("mlp",), (0.5, fraction))
