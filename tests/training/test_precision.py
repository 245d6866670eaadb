"""Precision: of the matrix products only, and close to float32."""

import pytest
import torch

from headway.models.transformer import Attention
from headway.training import environment as precisions
from headway.training import optimisers, train
from headway.training.files import read_tensors


def products(monkeypatch) -> set[torch.dtype]:
    """The types of the scores of attention during a short training."""
    seen, weigh = set(), Attention.weigh

    def noting(self, scores, mask):
        if torch.is_grad_enabled():
            seen.add(scores.dtype)
        else:
            assert scores.dtype == torch.float32, "evaluations are float32"
        return weigh(self, scores, mask)

    monkeypatch.setattr(Attention, "weigh", noting)
    return seen


def test_bfloat16_is_close_to_float32_and_weights_stay_float32(
    tiny, with_training, tmp_path, monkeypatch
):
    full = train(tiny, tmp_path / "full")
    config = with_training(tiny, precision="bfloat16")
    seen = products(monkeypatch)
    half = train(config, tmp_path / "half")
    assert seen == {torch.bfloat16}
    tensors, _ = read_tensors(half.folder / "state.safetensors")
    assert {tensor.dtype for tensor in tensors.values()} == {torch.float32}
    pairs = list(zip(half.metrics(), full.metrics(), strict=True))
    assert pairs
    for ours, theirs in pairs:
        assert ours["val_loss"] == pytest.approx(theirs["val_loss"], rel=0.02)
        assert ours["val_loss"] != theirs["val_loss"]


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_muon_multiplies_in_the_precision_of_the_run(
    tiny, with_training, tmp_path, monkeypatch, precision
):
    seen, orthogonalised = set(), optimisers.orthogonalised

    def noting(matrices, products):
        seen.add(products)
        return orthogonalised(matrices, products)

    monkeypatch.setattr(optimisers, "orthogonalised", noting)
    config = with_training(tiny, optimizer="muon", precision=precision)
    train(config, tmp_path / "a")
    assert seen == {getattr(torch, precision)}


@pytest.mark.parametrize("quicker", [False, True])
def test_auto_is_bfloat16_where_it_is_quicker(tiny, with_training, tmp_path, monkeypatch, quicker):
    monkeypatch.setattr(precisions, "multiplies_bfloat16", lambda: quicker)
    run = train(with_training(tiny, precision="auto"), tmp_path / "auto")
    name = "bfloat16" if quicker else "float32"
    explicit = train(with_training(tiny, precision=name), tmp_path / "explicit")
    pairs = zip(run.metrics(), explicit.metrics(), strict=True)
    assert all(ours["val_loss"] == theirs["val_loss"] for ours, theirs in pairs)
    (told,) = run.read("environment.json")
    assert told["precision"] == name
