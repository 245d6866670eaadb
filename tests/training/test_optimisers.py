"""Muon against the obvious one-matrix-at-a-time version."""

import pytest
import torch

from headway.models import Transformer, TransformerConfig
from headway.training import TrainingConfig
from headway.training.optimisers import NEWTON_SCHULZ, Muon, Optimisers, orthogonalised
from sampling import seeded


def obvious_update(gradient: torch.Tensor) -> torch.Tensor:
    a, b, c = NEWTON_SCHULZ
    is_tall = gradient.shape[0] > gradient.shape[1]
    x = gradient.mT if is_tall else gradient
    x = x / x.norm()
    for _ in range(5):
        gram = x @ x.mT
        x = a * x + b * gram @ x + c * gram @ gram @ x
    return x.mT if is_tall else x


@pytest.mark.parametrize("shape", [(8, 8), (8, 24), (16, 64)])
def test_singular_values_come_near_one(shape):
    matrices = torch.randn(3, *shape, generator=seeded(0))
    values = torch.linalg.svdvals(orthogonalised(matrices))
    assert values.min() > 0.3
    assert values.max() < 1.3
    assert (values - 1).abs().mean() < 0.25


def test_batched_muon_is_muon_on_every_matrix_alone():
    shapes = [(24, 8), (32, 8), (8, 32), (8, 8)]
    weights = [torch.randn(shape) for shape in shapes]
    parts = [3, 1, 1, 1]
    batched = [w.clone().requires_grad_() for w in weights]
    groups = [{"params": [w], "parts": p} for w, p in zip(batched, parts, strict=True)]
    muon = Muon(groups, lr=0.02, momentum=0.9, weight_decay=0.1)
    means = [torch.zeros_like(w) for w in weights]
    for _ in range(3):
        for i, weight in enumerate(weights):
            gradient = torch.randn_like(weight)
            batched[i].grad = gradient
            means[i] = 0.9 * means[i] + 0.1 * gradient
            nesterov = 0.1 * gradient + 0.9 * means[i]
            rows = []
            for w, g in zip(
                weight.chunk(parts[i]), nesterov.chunk(parts[i]), strict=True
            ):
                scale = max(1, w.shape[0] / w.shape[1]) ** 0.5
                decayed = w * (1 - 0.02 * 0.1)
                rows.append(decayed - 0.02 * scale * obvious_update(g))
            weights[i] = torch.cat(rows)
        muon.step()
    for ours, obvious in zip(batched, weights, strict=True):
        assert torch.allclose(ours, obvious, atol=1e-5)


def small_model():
    return Transformer(TransformerConfig(n_layers=2, d_model=16), 8, 12, 20, 4)


def groups_of(optimisers):
    return [group for optimiser in optimisers for group in optimiser.param_groups]


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_every_weight_has_one_optimiser_and_matrices_decay(optimizer):
    model = small_model()
    config = TrainingConfig(optimizer=optimizer, weight_decay=0.3)
    decays = []
    for group in groups_of(Optimisers(model, config).each):
        decays += [(id(weight), group["weight_decay"]) for weight in group["params"]]
    expected = {id(w): 0.3 if w.ndim == 2 else 0.0 for w in model.parameters()}
    assert len(decays) == len(expected)
    assert dict(decays) == expected


def test_muon_trains_the_matrices_inside_blocks():
    model = small_model()
    muon, *_ = Optimisers(model, TrainingConfig(optimizer="muon")).each
    assert isinstance(muon, Muon)
    trained = [weight for group in groups_of([muon]) for weight in group["params"]]
    inside = [weight for weight in model.blocks.parameters() if weight.ndim == 2]
    assert sorted(map(id, trained)) == sorted(map(id, inside))
