"""A run of a task that is defined in a file of the user's."""

import json
from pathlib import Path

import pytest
from interrupts import InterruptError, stop_at

from headway import userfile
from headway.errors import HeadwayError
from headway.tasks import task_in
from headway.training import Run, RunConfig, TrainingConfig, from_dict, resume, to_dict, train
from in_process import forget_files

FILE = Path(__file__).parents[1] / "outside" / "assignments.py"


def written(folder: Path, name: str, more: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name.lower()}.py"
    path.write_text(FILE.read_text().replace("Assignments", name) + more)
    return path


def config_of(file: Path) -> RunConfig:
    training = TrainingConfig(
        steps=4, batch_size=4, train_examples=None, eval_every=1, eval_examples=8, save_every=1
    )
    return RunConfig(task_in(str(file))(), training=training)


def test_a_run_finds_its_task_again(tmp_path):
    run = train(config_of(written(tmp_path, "BeforeLast")), tmp_path / "runs" / "one")
    assert Run.open(run.folder) == run
    assert run.changed is None
    assert from_dict(json.loads(json.dumps(to_dict(run.config)))) == run.config
    forget_files()
    assert str(Run.open(run.folder).task) == "BeforeLast(depth=2, n_chains=2, n_letters=8)"


def test_a_run_whose_task_changed_tells_and_is_not_resumed_unless_asked_for(tmp_path):
    file, folder = written(tmp_path, "ChangedTask"), tmp_path / "runs" / "one"
    with pytest.raises(InterruptError):
        train(config_of(file), folder, stop_at(2))
    forget_files()
    written(tmp_path, "ChangedTask", "# something else\n")
    with pytest.raises(HeadwayError, match=rf"{file} VERB …$") as refusal:
        Run.open(folder)
    assert "it has changed since you trusted it" in str(refusal.value)
    userfile.trust(file)
    run = Run.open(folder)
    assert f"{file} has changed since" in str(run.changed)
    assert run.task.kind == "changed_task"
    with pytest.raises(HeadwayError, match=rf"^{folder}: {file} has changed .* changed_task"):
        resume(folder)
    assert resume(folder, changed_task=True).status == "done"
    first, last = run.read("environment.json") or []
    assert "task_changed" not in first
    assert "has changed since" in last["task_changed"]
