"""What is larger than the machine is refused in one line, before anything is taken for it."""

import resource
import time
from dataclasses import replace

import pytest

from headway import cli
from headway.errors import HeadwayError
from headway.models import TransformerConfig
from headway.report.findings import heads_of
from headway.training import Run, train
from headway.training import memory as memory_module
from headway.training.memory import LIMITS, estimate, require_memory
from headway.training.stacked import train_stacked

TOO_LARGE = [
    "training.batch_size=1000000000",
    "model.d_head=100000000",
    "model.d_model=100000000",
    "model.n_layers=1000000000",
    "model.d_mlp=1000000000000",
    "training.train_examples=2147483648",
    "task.n_chains=1000000000",
    "depth=1000000000",
    "threads=100000",
    "task.d_token=1000000000000",
    "training.learning_rate=1e308",
]


@pytest.mark.parametrize("field", TOO_LARGE)
def test_a_field_that_is_too_large(tmp_path, capsys, field):
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    with pytest.raises(SystemExit) as stop:
        cli.main(["train", "fast", field, "--folder", str(tmp_path / "run")])
    assert stop.value.code == 2
    assert time.perf_counter() - start < 5  # under 1 s where nothing else goes on
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 1024
    error = capsys.readouterr().err
    assert error.count("\n") == 1, error
    assert not (tmp_path / "run").exists()


def test_how_to_insist_is_told(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(memory_module, "available", lambda device: 2**20)
    with pytest.raises(HeadwayError, match=f"insist by setting {LIMITS}=off"):
        train(tiny, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    monkeypatch.setenv(LIMITS, "off")
    require_memory(tiny)


def test_more_checkpoints_than_the_disk_takes(tiny, with_training, tmp_path):
    config = with_training(tiny, steps=10**9, checkpoint_every=1)
    with pytest.raises(HeadwayError, match=r"its 1000000002 checkpoints would take .* on the disk"):
        require_memory(config, tmp_path / "run")


def test_a_run_of_somebodys_with_a_model_too_large_is_opened_but_not_built(tiny, tmp_path):
    config = replace(tiny, model=TransformerConfig(n_layers=10**6, d_model=10**6))
    run = Run.create(tmp_path / "run", config)
    with pytest.raises(HeadwayError, match=r"the model \(model\.\*\) would take"):
        Run.open(run.folder).new_model()


def test_no_page_is_made_of_a_model_with_more_heads_than_any_has(tiny, tmp_path):
    run = Run.create(tmp_path / "run", replace(tiny, model=replace(tiny.model, n_layers=10**30)))
    with pytest.raises(HeadwayError, match=r"model\.n_layers times .* at most 1000000"):
        heads_of(run)


def test_all_replicas_of_a_stack_are_counted(tiny, tmp_path, monkeypatch):
    one, three = estimate([tiny]), estimate([tiny] * 3)
    monkeypatch.setattr(memory_module, "available", lambda device: (one + three) // 2)
    configs = [replace(tiny, seed=seed) for seed in range(3)]
    with pytest.raises(HeadwayError, match=r"^3 runs at once \(training.batch_size"):
        train_stacked(configs, [tmp_path / str(seed) for seed in range(3)])
    assert not list(tmp_path.iterdir())
