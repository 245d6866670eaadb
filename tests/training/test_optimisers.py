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


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_every_weight_has_one_optimiser_and_matrices_decay(optimizer):
    model = Transformer(TransformerConfig(n_layers=2, d_model=16), 8, 12, 20, 4)
    config = TrainingConfig(optimizer=optimizer, weight_decay=0.3)
    optimisers = Optimisers(model, config).each
    names = {id(w): n for n, w in model.named_parameters()}
    groups = [group for optimiser in optimisers for group in optimiser.param_groups]
    decay = {
        names[id(w)]: group["weight_decay"] for group in groups for w in group["params"]
    }
    count = sum(len(group["params"]) for group in groups)
    assert len(names) == count
    assert len(decay) == count
    for name, weight in model.named_parameters():
        assert decay[name] == (0.3 if weight.ndim == 2 else 0.0)
    if optimizer == "muon":
        assert isinstance(optimisers[0], Muon)
        matrices = [name for name, w in model.named_parameters() if w.ndim == 2]
        inside = [name for name in matrices if name.startswith("blocks.")]
        of_muon = [w for group in optimisers[0].param_groups for w in group["params"]]
        assert sorted(names[id(w)] for w in of_muon) == sorted(inside)
