"""With what a run computes: threads, device, and numbers too small to matter."""

from dataclasses import replace

import pytest
import torch

from headway.errors import HeadwayError
from headway.training import Run
from headway.training.run import flushes_subnormals, require_device


def test_computing_takes_subnormal_numbers_for_zero(tiny, tmp_path):
    weights = torch.ones(4, 4, requires_grad=True)

    def gradient(scale):
        (found,) = torch.autograd.grad((weights @ torch.full((4, 4), scale)).sum(), weights)
        return found.max().item()

    run = Run.create(tmp_path / "run", tiny)
    assert gradient(2.0**-130) == 2.0**-128
    with run.computing():
        assert gradient(2.0**-130) == 0
        assert gradient(2.0**-120) == 2.0**-118
        with run.computing():
            assert flushes_subnormals()
        assert flushes_subnormals()
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
    batch = run.task.sample(2, torch.Generator().manual_seed(0))
    assert run.model()(batch.inputs).device.type == "cpu"
    with pytest.raises(HeadwayError, match=r"^device = 'cuda:99' is not allowed: .* here \(.+\)$"):
        require_device("cuda:99")
    require_device("cpu")
