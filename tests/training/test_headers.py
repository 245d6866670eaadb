"""Files of tensors are held against what they are called and the config, before they
are read.
"""

import json
import re
import shutil
from typing import Any

import pytest
import torch

from headway.dynamics.whole import faults_of
from headway.errors import HeadwayError
from headway.training import Run, TrainingConfig, files, train
from headway.training.files import read_header, read_tensors, write_tensors
from headway.training.state import State, scheduled


@pytest.fixture(scope="module")
def whole(tiny, tmp_path_factory) -> Run:
    return train(tiny, tmp_path_factory.mktemp("whole") / "run")


@pytest.fixture
def run(whole, tmp_path) -> Run:
    return Run.open(shutil.copytree(whole.folder, tmp_path / "run"))


def test_checkpoints_with_their_names_exchanged_are_told(run):
    first = run.checkpoint_path(0)
    last = run.checkpoint_path(12)
    kept = first.read_bytes()
    first.write_bytes(last.read_bytes())
    last.write_bytes(kept)
    told = faults_of(run.folder)
    assert (
        f"{first}: step = 12 is not allowed: it must be 0, as the file is called"
        in told
    )
    assert (
        f"{last}: step = 0 is not allowed: it must be 12, as the file is called" in told
    )
    with pytest.raises(HeadwayError, match=re.escape(str(last))):
        run.model()


@pytest.mark.parametrize("step", [None, "12", 12.0, True])
def test_a_checkpoint_that_does_not_say_its_step_is_told(run, step):
    tensors, _ = read_tensors(run.checkpoint_path(12))
    about = {} if step is None else {"step": step}
    write_tensors(run.checkpoint_path(12), tensors, about)
    assert any(
        "it must be 12, as the file is called" in fault
        for fault in faults_of(run.folder)
    )


def test_a_step_past_the_end_is_told(run):
    tensors, _ = read_tensors(run.checkpoint_path(12))
    run.save_checkpoint(13, tensors)
    (fault,) = faults_of(run.folder)
    assert fault == (
        f"{run.checkpoint_path(13)}: step = 13 is not allowed: it must be at most 12, "
        "the last of the run"
    )


def test_a_state_past_the_end_is_told(run):
    tensors, about = read_tensors(run.folder / "state.safetensors")
    write_tensors(run.folder / "state.safetensors", tensors, {**about, "step": 10**12})
    (fault,) = faults_of(run.folder)
    assert "state.safetensors: step = 1000000000000 is not allowed" in fault


def test_evaluations_past_the_end_are_told(run):
    (run.folder / "outcome.json").unlink()
    last = run.metrics()[-1]
    run.append_metrics({**last, "step": 10**12})
    (fault,) = faults_of(run.folder)
    assert fault.endswith(
        "step = 1000000000000 is not allowed: it must be at most training.steps = 12"
    )


def sparse(path, shapes: dict[str, list[int]], about: dict) -> None:
    """A file of tensors that takes no room on the disk, however large it is."""
    header: dict[str, Any] = {"__metadata__": {"about": json.dumps(about)}}
    end = 0
    for name, shape in shapes.items():
        size = 4 * torch.Size(shape).numel()
        header[name] = {
            "dtype": "F32",
            "shape": shape,
            "data_offsets": [end, end + size],
        }
        end += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text)
    with path.open("r+b") as file:
        file.truncate(8 + len(text) + end)


@pytest.mark.parametrize(
    "name", ["checkpoints/step_0000012.safetensors", "state.safetensors"]
)
@pytest.mark.parametrize(
    "more", [{"embed.weight": [750_000_000]}, {"another": [750_000_000]}]
)
def test_three_gigabytes_that_do_not_fit_are_refused_unread(
    run, monkeypatch, name, more
):
    path = run.folder / name
    header = read_header(path)
    shapes = {name: list(shape) for name, shape in header.shapes.items()}
    prefix = "model." if "state" in name else ""
    added = {prefix + tensor: shape for tensor, shape in more.items()}
    sparse(path, shapes | added, header.about)
    assert path.stat().st_size > 3e9
    read = list[str]()

    def reading(path):
        read.append(str(path))
        return read_tensors(path)

    monkeypatch.setattr(files, "read_tensors", reading)
    monkeypatch.setattr("headway.training.loop.read_tensors", reading)
    told = "\n".join(faults_of(run.folder))
    first_added = next(iter(added))
    assert f"{path} does not fit the model in config.json: {first_added}" in told
    assert str(path) not in read
    assert read, "the others were read"


def test_a_digest_is_of_names_and_shapes_too(tmp_path):
    """The same bytes under other names, in another shape or of another type are other
    tensors.
    """
    path = tmp_path / "t.safetensors"
    tensors = {"a": torch.arange(6.0).view(2, 3), "b": torch.zeros(6)}
    write_tensors(path, tensors, {"step": 3})
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    renamed = dict(header)
    renamed["a2"] = renamed.pop("a")
    reshaped = {**header, "a": {**header["a"], "shape": [3, 2]}}
    retyped = {**header, "a": {**header["a"], "dtype": "I32"}}
    for other in (renamed, reshaped, retyped):
        text = json.dumps(other).encode()
        length = len(text).to_bytes(8, "little")
        path.write_bytes(length + text + content[start:])
        with pytest.raises(HeadwayError, match="does not match its checksum"):
            read_tensors(path)


@pytest.mark.parametrize("device", ["cuda", "cuda:3", "mps"])
def test_a_run_of_another_machine_is_sound_here(run, device):
    run.write("config.json", {**run.read("config.json"), "device": device})
    assert Run.open(run.folder).device in ("cpu", device)
    assert faults_of(run.folder) == []


def test_what_goes_wrong_in_building_is_no_damage(run, monkeypatch):
    """An error of the machine, such as too little memory, is not put down to the
    file.
    """

    def failing(*_):
        raise RuntimeError("out of memory")

    monkeypatch.setattr("headway.training.loop.Optimisers", failing)
    with pytest.raises(RuntimeError, match="out of memory"):
        faults_of(run.folder)


@pytest.mark.parametrize("how", [{"checkpoint_every": 3}, {"checkpoint_every": 0}])
@pytest.mark.parametrize("checkpoints", ["linear", "log"])
@pytest.mark.parametrize("is_done", [False, True])
def test_the_schedule_is_that_of_the_loop(how, checkpoints, is_done):
    config = TrainingConfig(
        steps=40, train_examples=None, checkpoints=checkpoints, **how
    )
    for last in (0, 1, 8, 9, 20):
        end = last if is_done else 40
        states = [State(step, end) for step in range(last + is_done)]
        kept = [state.step for state in states if state.is_checkpoint(config)]
        assert [*scheduled(config, last, is_done)] == kept


def test_a_schedule_of_very_many_steps_is_not_written_out(run):
    config = run.read("config.json")
    config["training"] |= {"steps": 10**12, "checkpoint_every": 1}
    run.write("config.json", config)
    (run.folder / "outcome.json").unlink()
    last = Run.open(run.folder).metrics()[-1]
    run.append_metrics({**last, "step": 10**11})
    told = "\n".join(faults_of(run.folder))
    assert "the checkpoints of steps 1, 2, 3, 5, 6, … are missing" in told
