"""Precision of the matrix products, and with what a run computes."""

from dataclasses import replace

import pytest
import torch

from headway.errors import HeadwayError
from headway.models.transformer import Attention
from headway.training import Run, environment, optimisers, train
from headway.training.files import read_tensors
from headway.training.run import require_device
from sampling import seeded


def test_bfloat16_is_close_to_float32_and_weights_stay_float32(
    tiny, with_training, tmp_path, monkeypatch
):
    full = train(tiny, tmp_path / "full")
    seen = set()
    weigh = Attention.weigh

    def noting(self, scores, mask):
        seen.add((torch.is_grad_enabled(), scores.dtype))
        return weigh(self, scores, mask)

    monkeypatch.setattr(Attention, "weigh", noting)
    half = train(with_training(tiny, precision="bfloat16"), tmp_path / "half")
    assert seen == {(True, torch.bfloat16), (False, torch.float32)}, (
        "evaluations are float32"
    )
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
    seen = set()
    orthogonalised = optimisers.orthogonalised

    def noting(matrices, products):
        seen.add(products)
        return orthogonalised(matrices, products)

    monkeypatch.setattr(optimisers, "orthogonalised", noting)
    config = with_training(tiny, optimizer="muon", precision=precision)
    train(config, tmp_path / "a")
    assert seen == {getattr(torch, precision)}


@pytest.mark.parametrize("quicker", [False, True])
def test_auto_is_bfloat16_where_it_is_quicker(
    tiny, with_training, tmp_path, monkeypatch, quicker
):
    monkeypatch.setattr(environment, "multiplies_bfloat16", lambda: quicker)
    run = train(with_training(tiny, precision="auto"), tmp_path / "auto")
    name = "bfloat16" if quicker else "float32"
    explicit = train(with_training(tiny, precision=name), tmp_path / "explicit")
    pairs = zip(run.metrics(), explicit.metrics(), strict=True)
    for ours, theirs in pairs:
        assert ours["val_loss"] == theirs["val_loss"]
    (told,) = run.read("environment.json")
    assert told["precision"] == name


@pytest.mark.parametrize(
    ("vendor", "flags", "quicker"),
    [
        ("AuthenticAMD", "fpu avx512f avx512_bf16 sse", True),
        ("GenuineIntel", "fpu avx512f avx512_bf16 sse", False),
        ("GenuineIntel", "fpu avx512_bf16 amx_bf16 amx_tile", True),
        ("", "fp asimd bf16 i8mm", True),
        ("AuthenticAMD", "fpu avx512f avx512bw", False),
        ("", "", False),
    ],
)
def test_whether_bfloat16_is_quicker_is_read_from_the_processor(
    monkeypatch, vendor, flags, quicker
):
    monkeypatch.setattr(
        environment, "_cpuinfo", lambda *of: vendor if "vendor_id" in of else flags
    )
    assert environment.multiplies_bfloat16.__wrapped__() is quicker


def test_computing_takes_subnormal_numbers_for_zero(tiny, tmp_path):
    weights = torch.ones(4, 4, requires_grad=True)

    def gradient(scale):
        (found,) = torch.autograd.grad(
            (weights @ torch.full((4, 4), scale)).sum(), weights
        )
        return found.max().item()

    run = Run.create(tmp_path / "run", tiny)
    assert gradient(2.0**-130) == 2.0**-128
    with run.computing():
        assert gradient(2.0**-130) == 0
        assert gradient(2.0**-120) == 2.0**-118
        with run.computing():
            assert gradient(2.0**-130) == 0
        assert gradient(2.0**-130) == 0
    assert gradient(2.0**-130) == 2.0**-128


def test_computing_takes_the_threads_of_the_config(tiny, tmp_path):
    run = Run.create(tmp_path / "run", replace(tiny, threads=2))
    assert run.read("environment.json")[0]["threads"] == 2
    before = torch.get_num_threads()
    with run.computing():
        assert torch.get_num_threads() == 2
    assert torch.get_num_threads() == before


def test_a_run_of_a_device_that_is_not_here_is_studied_on_the_cpu(tiny, tmp_path):
    run = Run.create(tmp_path / "run", replace(tiny, device="cuda:99"))
    assert run.device == "cpu"
    run.save_checkpoint(0, run.new_model().state_dict())
    batch = run.task.sample(2, seeded(0))
    assert run.model()(batch.inputs).device.type == "cpu"
    with pytest.raises(
        HeadwayError, match=r"^device = 'cuda:99' is not allowed: .* here \(.+\)$"
    ):
        require_device("cuda:99")
    require_device("cpu")
