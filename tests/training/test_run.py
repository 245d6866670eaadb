"""The run folder: whole files, one writer, clear refusals."""

import errno
import json
import multiprocessing
import os
from pathlib import Path

import pytest
import torch

from headway.errors import HeadwayError
from headway.training import Run, find_runs, from_dict, to_dict, train
from headway.training import files as files_module
from headway.training.files import read_tensors, write_tensors, write_whole


def test_config_survives_the_folder(tiny, tmp_path):
    run = Run.create(tmp_path / "run", tiny)
    assert Run.open(run.folder).config == tiny
    assert from_dict(to_dict(tiny)) == tiny


def test_a_run_says_where_its_numbers_come_from(tiny, tmp_path):
    run = Run.create(tmp_path / "run", tiny)
    environment = run.read("environment.json")[0]
    assert environment["torch"] == torch.__version__
    assert {"headway", "git", "python", "processor", "threads", "command", "started"} <= set(
        environment
    )
    assert json.loads((run.folder / "config.json").read_text())["seed"] == tiny.seed


def test_checkpoints_follow_the_schedule(tiny, with_training, tmp_path):
    linear = train(tiny, tmp_path / "linear")
    assert linear.checkpoint_steps() == [0, 4, 8, 12]
    log = train(with_training(tiny, checkpoints="log"), tmp_path / "log")
    assert log.checkpoint_steps() == [0, 1, 2, 4, 8, 12]
    ends = train(with_training(tiny, checkpoint_every=0), tmp_path / "ends")
    assert ends.checkpoint_steps() == [0, 12]


def test_an_existing_folder_is_not_overwritten(tiny, tmp_path):
    run = Run.create(tmp_path / "run", tiny)
    with pytest.raises(HeadwayError, match="exists already"):
        Run.create(run.folder, tiny)


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda f: (f / "config.json").unlink(), "no config.json"),
        (lambda f: (f / "config.json").write_text('{"format": 1, "ta'), "not valid JSON"),
        (lambda f: _edit(f, format=99), "format = 99 is newer"),
        (lambda f: _edit(f, format=None), "format = None is not allowed"),
        (lambda f: _edit(f, bogus=1), "bogus is not a field"),
        (lambda f: _edit(f, seed="x"), "seed = 'x' is not allowed: it must be a whole number"),
        (lambda f: _edit(f, task={"kind": "chess"}), "task.kind = 'chess' is not allowed"),
        (lambda f: _edit(f, model=[]), r"model = \[\] is not allowed"),
    ],
)
def test_a_spoilt_folder_is_refused_in_one_line(tiny, tmp_path, spoil, complaint):
    folder = Run.create(tmp_path / "run", tiny).folder
    spoil(folder)
    with pytest.raises(HeadwayError, match=complaint) as error:
        Run.open(folder)
    assert "\n" not in str(error.value)
    assert len(find_runs(tmp_path)) == 1
    assert isinstance(find_runs(tmp_path)[0], HeadwayError)


def _edit(folder: Path, **fields) -> None:
    data = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**data, **fields}))


def test_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(HeadwayError, match="there is no run folder here"):
        Run.open(tmp_path / "nowhere")


@pytest.mark.parametrize("keep", [0, 7, 100, -5])
def test_a_truncated_checkpoint_is_named(tiny, tmp_path, keep):
    run = train(tiny, tmp_path / "run")
    path = run.folder / "checkpoints" / "step_0000012.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(HeadwayError, match=r"step_0000012.safetensors is truncated or corrupted"):
        run.model()
    run.model(8)


def test_a_checkpoint_of_another_model_is_named(tiny, tmp_path):
    run = train(tiny, tmp_path / "run")
    write_tensors(
        run.folder / "checkpoints" / "step_0000012.safetensors", {"x": torch.zeros(2)}, {}
    )
    with pytest.raises(HeadwayError, match="does not fit the model"):
        run.model()


def test_a_metrics_line_cut_off_in_writing_is_left_out(tiny, tmp_path):
    run = train(tiny, tmp_path / "run")
    whole = run.metrics()
    with open(run.folder / "metrics.jsonl", "a") as file:
        file.write('{"step": 14, "val')
    assert run.metrics() == whole


def test_a_second_writer_is_refused(tiny, tmp_path):
    run = Run.create(tmp_path / "run", tiny)
    context = multiprocessing.get_context("spawn")
    with run.writing(), context.Pool(1) as pool:
        assert run.status == "running"
        assert "another process is writing" in pool.apply(_try_to_write, (str(run.folder),))
    assert run.status == "stopped"


def _try_to_write(folder: str) -> str:
    try:
        with Run.open(folder).writing():
            return "written"
    except HeadwayError as error:
        return str(error)


def test_a_full_disk_leaves_the_old_file_and_no_draft(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_whole(path, b"old")

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files_module.os, "fsync", full)
    with pytest.raises(HeadwayError, match=r"cannot write .*file: No space left on device"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_no_half_made_run(tiny, tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files_module.os, "fsync", full)
    with pytest.raises(HeadwayError, match="No space left on device"):
        Run.create(tmp_path / "run", tiny)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_permission_is_named(tiny, tmp_path):
    blocked = tmp_path / "file-not-folder"
    blocked.write_text("")
    with pytest.raises(HeadwayError, match="cannot make"):
        Run.create(blocked / "run", tiny)


def test_tensors_come_back_as_they_were(tmp_path):
    tensors = {"a": torch.randn(3, 4).mT, "b": torch.arange(3)}
    write_tensors(tmp_path / "t.safetensors", tensors, {"step": 3, "losses": [0.1]})
    back, about = read_tensors(tmp_path / "t.safetensors")
    assert about == {"step": 3, "losses": [0.1]}
    assert all(torch.equal(tensors[k], back[k]) for k in tensors)
