"""Weights cut to low rank: the nearest matrix, weights put back, and where cutting must
help.
"""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

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
from sampling import seeded


def random_matrix(rows, columns, seed=0):
    return torch.randn(rows, columns, generator=seeded(seed))


@pytest.mark.parametrize("shape", [(7, 7), (12, 5), (5, 12), (1, 6)])
def test_it_is_the_nearest_matrix_of_its_rank(shape):
    """Against numpy's own decomposition; the distance is that of the values that are
    left out.
    """
    weight = random_matrix(*shape)
    truncation = Truncation([{"up": weight}])
    left, values, right = np.linalg.svd(weight.double().numpy(), full_matrices=False)
    for rank in range(1, min(shape)):
        nearest = truncation.nearest(0, "up", rank / min(shape)).numpy()
        expected = (left[:, :rank] * values[:rank]) @ right[:rank]
        np.testing.assert_allclose(nearest, expected, atol=1e-5)
        assert np.linalg.matrix_rank(nearest.astype(float), tol=1e-4) == rank
        distance = np.linalg.norm(weight.numpy() - nearest)
        left_out = np.linalg.norm(values[rank:])
        assert distance == pytest.approx(left_out, rel=1e-4)
        assert others_distance(weight, rank) > distance


def others_distance(weight, rank):
    """How near the nearest of five random matrices of a rank is."""
    rows, columns = weight.shape
    distances = []
    for seed in range(5):
        left = random_matrix(rows, rank, seed)
        right = random_matrix(rank, columns, seed + 9)
        distances.append(best_distance(weight, left @ right))
    return min(distances)


def best_distance(weight, other):
    """How far another matrix is from a weight, if it is scaled as well as can be."""
    scale = (other * weight).sum() / other.square().sum()
    return (weight - scale * other).norm()


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
    matrix = matrices(model)[1]
    layer = model.layers[1]
    query, _, value = layer.attn.qkv(x).chunk(3, dim=-1)
    assert list(matrix) == ["query", "key", "value", "output", "up", "down"]
    matrix["key"].zero_()
    same_query, key, same_value = layer.attn.qkv(x).chunk(3, dim=-1)
    assert torch.equal(same_query, query)
    key_bias = layer.attn.qkv.bias[12:24]
    assert torch.equal(key, key_bias.expand_as(key))
    assert torch.equal(same_value, value)
    matrix["output"].zero_()
    output_bias = layer.attn.out.bias
    assert torch.equal(layer.attn.out(x), output_bias.expand_as(x))
    matrix["down"].zero_()
    assert torch.equal(layer.mlp(x), layer.mlp.down.bias.expand_as(x))


def test_a_layer_without_an_mlp_has_its_attention_alone():
    first, *_ = matrices(small(d_mlp=0))
    assert list(first) == ["query", "key", "value", "output"]


CUT = Cut((0, 2), "mlp+query", 0.3)


class Watched:
    """A model, how it was, and cuts of its weights."""

    def __init__(self):
        self.model = small()
        self.state = copy.deepcopy(self.model.state_dict())
        self.truncation = Truncation(matrices(self.model))

    def changed(self):
        """The weights that are not as they were."""
        now = self.model.state_dict().items()
        return {name for name, w in now if not torch.equal(w, self.state[name])}


def test_a_cut_changes_the_weights_that_it_names():
    watched = Watched()
    with watched.truncation.applied(CUT):
        expected = set()
        for layer in (0, 2):
            for name in ("mlp.up", "mlp.down", "attn.qkv"):
                expected.add(f"blocks.{layer}.{name}.weight")
        assert watched.changed() == expected
    assert watched.changed() == set()


@pytest.mark.parametrize("stop", [ValueError, KeyboardInterrupt])
def test_weights_are_put_back_to_the_bit_whatever_happens(stop):
    watched = Watched()
    with pytest.raises(stop), watched.truncation.applied(CUT):
        raise stop
    assert watched.changed() == set()


def test_the_intact_model_is_as_it_is():
    watched = Watched()
    with watched.truncation.applied(INTACT):
        assert watched.changed() == set()


def test_every_weight_is_decomposed_once(monkeypatch):
    count = []
    svd = torch.linalg.svd

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
    inputs = torch.randn(4, 6, 5, generator=seeded(0))
    with torch.no_grad():
        intact = model(inputs)
        rows = {}
        truncation = Truncation(matrices(model))
        for cut in Cuts((0, 2), ("mlp",), (0.0, 0.4, 1.0)).of(3):
            with truncation.applied(cut):
                rows[cut] = model(inputs)
        assert torch.equal(rows[INTACT], intact)
        plain = small()
        for layer in (0, 2):
            plain.layers[layer].mlp.down.weight.zero_()
        without = rows[Cut((0, 2), "mlp", 0.0)]
        assert_close(without, plain(inputs), atol=1e-6, rtol=1e-5)
        partly = rows[Cut((2,), "mlp", 0.4)]
        assert not torch.allclose(partly, intact, atol=1e-3)


def test_layers_are_truncated_alone_and_upwards():
    assert spans([5, 3]) == {"alone": [(3,), (5,)], "upwards": [(3, 5), (5,)]}
    assert spans([4]) == {"alone": [(4,)]}
    intact, *cuts = Cuts((3, 5), ("mlp",), (0.0, 1.0)).of(6)
    assert intact == INTACT
    assert cuts == [Cut(layers, "mlp", 0.0) for layers in ((3,), (5,), (3, 5))]


@pytest.mark.parametrize("fraction", [-0.1, 1.5, float("nan")])
def test_a_rank_outside_is_refused(fraction):
    with pytest.raises(
        HeadwayError, match=r"^rank = .* must be a fraction of the full rank"
    ):
        Cuts(None, ("mlp",), (0.5, fraction))
