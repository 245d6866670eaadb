"""Precision: of the matrix products only, and close to float32."""

import json
from dataclasses import replace

import pytest
import torch

from headway.errors import HeadwayError
from headway.models.transformer import Attention
from headway.tasks import BigramsConfig, ConditionalConfig, RetrievalConfig
from headway.training import Run, TrainingConfig, optimisers, train, train_stacked
from headway.training import precision as precisions
from headway.training.config import FORMAT
from headway.training.files import read_tensors
from headway.training.precision import rounding


def products(monkeypatch) -> set[torch.dtype]:
    """The types in which the model's values met attention patterns during a short training."""
    seen, mix = set(), Attention.mix

    def noting(self, pattern, values):
        if torch.is_grad_enabled():
            seen.add(values.dtype)
        else:
            assert values.dtype == torch.float32, "evaluations are float32"
        return mix(self, pattern, values)

    monkeypatch.setattr(Attention, "mix", noting)
    return seen


@pytest.mark.parametrize("stacked", [False, True])
def test_bfloat16_is_close_to_float32_and_weights_stay_float32(
    tiny, with_training, tmp_path, monkeypatch, stacked
):
    full = train(tiny, tmp_path / "full")
    config = with_training(tiny, precision="bfloat16")
    seen = products(monkeypatch)
    if stacked:
        half, _ = train_stacked([config, config], [tmp_path / "half", tmp_path / "other"])
    else:
        half = train(config, tmp_path / "half")
    assert seen == {torch.bfloat16}
    tensors, _ = read_tensors(half.folder / "state.safetensors")
    assert {tensor.dtype for tensor in tensors.values()} == {torch.float32}
    pairs = list(zip(half.metrics(), full.metrics(), strict=True))
    assert pairs
    for ours, theirs in pairs:
        assert ours["val_loss"] == pytest.approx(theirs["val_loss"], rel=0.02)
        assert ours["val_loss"] != theirs["val_loss"]


def test_tf32_changes_nothing_on_a_cpu(tiny, with_training, tmp_path):
    full = train(tiny, tmp_path / "full").model().state_dict()
    short = train(with_training(tiny, precision="tf32"), tmp_path / "tf32").model().state_dict()
    assert all(torch.equal(full[name], short[name]) for name in full)


def test_tf32_is_allowed_within_a_step_on_a_cuda_device_and_forbidden_after_it():
    before = torch.get_float32_matmul_precision()
    assert before == "highest"
    with rounding("tf32", torch.device("cuda")):
        assert torch.get_float32_matmul_precision() == "high"
    for precision, device in (("float32", "cuda"), ("bfloat16", "cuda"), ("tf32", "cpu")):
        with rounding(precision, torch.device(device)):
            assert torch.get_float32_matmul_precision() == before
    assert torch.get_float32_matmul_precision() == before


def test_a_precision_there_is_not():
    complaint = r"^training.precision = 'float16' is not allowed: it must be one of float32, tf32"
    with pytest.raises(HeadwayError, match=complaint):
        TrainingConfig(precision="float16")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("task", [RetrievalConfig(depth=2), ConditionalConfig()])
def test_a_run_of_the_second_format_has_the_same_copies(tiny, tmp_path, task):
    run = Run.create(tmp_path / "run", replace(tiny, task=task))
    path = run.folder / "config.json"
    written = json.loads(path.read_text())
    assert written["task"].pop("copies", "same") == "same"
    path.write_text(json.dumps({**written, "format": 2}))
    assert Run.open(run.folder).config == replace(tiny, task=task)


def test_a_run_of_the_fifth_format_takes_whatever_a_text_holds(tiny, tmp_path):
    config = replace(tiny, task=BigramsConfig(n_triggers=1))
    run = Run.create(tmp_path / "run", config)
    path = run.folder / "config.json"
    written = json.loads(path.read_text())
    assert written["task"].pop("sha256") is None
    path.write_text(json.dumps({**written, "format": 5}))
    assert Run.open(run.folder).config == config


def test_a_run_of_the_first_format_is_float32_and_of_full_depth(tiny, with_training, tmp_path):
    run = Run.create(tmp_path / "run", tiny)
    path = run.folder / "config.json"
    written = json.loads(path.read_text())
    assert written["format"] == FORMAT
    assert written["task"].pop("copies") == "same"
    assert written["task"].pop("hops") is None
    added = {"precision": "float32", "depths": "full", "rising_every": 200}
    added |= {"targets": "all", "supervise": "end"}
    for field, value in added.items():
        assert written["training"].pop(field) == value
    path.write_text(json.dumps(written))
    with pytest.raises(HeadwayError, match=r"^task.(hops|copies) is missing: every field must"):
        Run.open(run.folder)
    path.write_text(json.dumps({**written, "format": 1}))
    assert Run.open(run.folder).config == tiny
    del written["training"]["steps"]
    path.write_text(json.dumps({**written, "format": 1}))
    with pytest.raises(HeadwayError, match=r"^training.steps is missing: every field must"):
        Run.open(run.folder)


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_muon_multiplies_in_the_precision_of_the_run(
    tiny, with_training, tmp_path, monkeypatch, precision, stacked
):
    seen, orthogonalised = set(), optimisers.orthogonalised

    def noting(matrices, products):
        seen.add(products)
        return orthogonalised(matrices, products)

    monkeypatch.setattr(optimisers, "orthogonalised", noting)
    config = with_training(tiny, optimizer="muon", precision=precision)
    if stacked:
        train_stacked([config, config], [tmp_path / "a", tmp_path / "b"])
    else:
        train(config, tmp_path / "a")
    assert seen == {getattr(torch, precision)}


@pytest.mark.parametrize("has_instructions", [False, True])
def test_auto_is_bfloat16_where_there_are_instructions_for_it(
    tiny, with_training, tmp_path, monkeypatch, has_instructions
):
    monkeypatch.setattr(precisions, "multiplies_bfloat16", lambda: has_instructions)
    run = train(with_training(tiny, precision="auto"), tmp_path / "auto")
    name = "bfloat16" if has_instructions else "float32"
    explicit = train(with_training(tiny, precision=name), tmp_path / "explicit")
    pairs = zip(run.metrics(), explicit.metrics(), strict=True)
    assert all(ours["val_loss"] == theirs["val_loss"] for ours, theirs in pairs)
    (told,) = run.read("environment.json")
    assert told["precision"] == name
