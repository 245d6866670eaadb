"""Files reported as kept survive a power cut, and lost ones are not passed over."""

import os
from pathlib import Path

import pytest
from interrupts import InterruptError, stop_at

from headway.errors import HeadwayError
from headway.terminal import cli
from headway.training import Run, resume, train
from headway.training.files import draft_of, read_tensors, write_tensors


@pytest.fixture
def synced(monkeypatch):
    """The paths that were flushed to disk, in order."""
    paths: list[str] = []
    real = os.fsync

    def fsync(file: int) -> None:
        paths.append(os.readlink(f"/proc/self/fd/{file}"))
        real(file)

    monkeypatch.setattr(os, "fsync", fsync)
    return paths


def test_an_evaluation_is_flushed_before_what_depends_on_it(tiny, tmp_path, synced):
    train(tiny, tmp_path / "run")
    names = [Path(path).name.split(".draft")[0] for path in synced]
    assert names.count("metrics.jsonl") == 6
    assert names.index("metrics.jsonl") < names.index(".state.safetensors")
    assert names.index(".outcome.json") > len(names) - 1 - names[::-1].index(
        "metrics.jsonl"
    )
    assert names.index("checkpoints") < names.index(".state.safetensors")
    assert str(tmp_path) in synced, "the folder that holds the run's"


def test_a_first_evaluation_is_flushed_with_its_folder(tiny, tmp_path, synced):
    run = Run.create(tmp_path / "run", tiny)
    synced.clear()
    run.append_metrics({"step": 2})
    run.append_metrics({"step": 4})
    assert [Path(path).name for path in synced] == ["metrics.jsonl", "run"] * 2


def stopped(config, folder: Path, step: int) -> Run:
    with pytest.raises(InterruptError):
        train(config, folder, stop_at(step))
    return Run.open(folder)


def cut(run: Run, lines: int) -> None:
    path = run.folder / "metrics.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:lines]))


@pytest.mark.parametrize("lines", [0, 3])
def test_lost_evaluations_of_a_run_that_is_done_are_told(tiny, tmp_path, lines):
    run = train(tiny, tmp_path / "run")
    cut(run, lines)
    for look in (run.metrics, lambda: resume(run.folder)):
        with pytest.raises(HeadwayError, match="evaluations were lost or changed"):
            look()


@pytest.mark.parametrize(
    ("step", "lines", "told"),
    [(7, 0, "3 of 3 evaluations, of step 2"), (7, 1, "2 of 3 evaluations, of step 4"),
     (None, 3, "3 of 6 evaluations, of step 8")],
)  # fmt: skip
def test_lost_evaluations_of_a_run_that_goes_on_are_told(
    tiny, tmp_path, step, lines, told
):
    folder = tmp_path / "run"
    run = train(tiny, folder) if step is None else stopped(tiny, folder, step)
    run.remove("outcome.json")
    cut(run, lines)
    with pytest.raises(HeadwayError, match=f"metrics.jsonl lacks {told} on"):
        resume(folder)
    assert run.outcome() is None


def test_what_was_torn_after_the_saved_state_is_mended(tiny, tmp_path):
    whole = train(tiny, tmp_path / "whole")
    run = stopped(tiny, tmp_path / "run", 7)
    with open(run.folder / "metrics.jsonl", "ab") as file:
        file.write(b"\0\0\0\0\n\0\0")
    assert (
        resume(run.folder).metrics()[-1]["val_loss"] == whole.metrics()[-1]["val_loss"]
    )


def test_a_last_checkpoint_that_is_missing_is_told(tiny, tmp_path):
    run = train(tiny, tmp_path / "run")
    run.drop_checkpoint(12)
    with pytest.raises(HeadwayError, match=r"step_0000012\.safetensors: No such file"):
        run.model()


def test_a_state_that_holds_no_numbers_is_refused(tiny, tmp_path):
    run = stopped(tiny, tmp_path / "run", 7)
    path = run.folder / "state.safetensors"
    tensors, about = read_tensors(path)
    name = next(name for name, tensor in tensors.items() if tensor.is_floating_point())
    write_tensors(path, {**tensors, name: tensors[name] * float("nan")}, about)
    with pytest.raises(HeadwayError, match="holds a value that is no finite number"):
        resume(run.folder)
    write_tensors(path, tensors, {**about, "step": "6"})
    with pytest.raises(
        HeadwayError, match=r"state\.safetensors: step = '6' is not allowed"
    ):
        resume(run.folder)


def test_what_a_killed_writer_left_goes_at_the_next_start(tiny, tmp_path):
    for name in (draft_of(tmp_path / "run").name, ".run.draft-7", ".other.draft-7"):
        (tmp_path / name / "checkpoints").mkdir(parents=True)
    run = stopped(tiny, tmp_path / "run", 7)
    for name in (
        ".outcome.json.draft-1",
        ".report.html.draft-2",
        "checkpoints/.x.draft-3",
    ):
        (run.folder / name).write_text("")
    resume(run.folder)
    assert [path.name for path in tmp_path.rglob("*draft*")] == [".other.draft-7"]


def test_whether_a_run_is_whole(tiny, tmp_path, capsys):
    run = train(tiny, tmp_path / "run")
    cli.main(["check", str(run.folder)])
    assert capsys.readouterr().out == f"{run.folder}: nothing is wrong\n"
    stopped(tiny, tmp_path / "stopped", 7)
    cli.main(["check", str(tmp_path / "stopped")])
    cut(run, 3)
    (run.folder / "circuit.json").write_text("{}")
    run.drop_checkpoint(8)
    content = bytearray(run.checkpoint_path(4).read_bytes())
    content[-1] ^= 1
    run.checkpoint_path(4).write_bytes(content)
    (run.folder / ".x.json.draft-1").write_text("")
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        cli.main(["check", str(run.folder)])
    assert stop.value.code == 1
    out = capsys.readouterr().out
    for fault in (
        "evaluations were lost",
        "circuit.json: ",
        "4.safetensors is trunc",
        "left",
    ):
        assert fault in out
    cli.main(["check", str(train(tiny, tmp_path / "b").folder)])
    Run.open(tmp_path / "b").drop_checkpoint(8)
    with pytest.raises(SystemExit):
        cli.main(["check", str(tmp_path / "b")])
    assert "the checkpoints of steps 8 are missing" in capsys.readouterr().out
