"""A run of a task that is defined in a file of the user's."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from interrupts import InterruptError, stop_at

from headway import userfile
from headway.errors import HeadwayError
from headway.tasks.registry import KINDS, task_in
from headway.training import (
    Run,
    RunConfig,
    TrainingConfig,
    from_dict,
    own,
    resume,
    resume_stacked,
    to_dict,
    train,
)

FILE = '''
from dataclasses import dataclass
import torch
import headway.tasks as tasks

@dataclass(frozen=True)
class {name}(tasks.Task):
    """The token before the last."""

    length: int = 5

    @property
    def vocabulary(self):
        return 6

    @property
    def roles(self):
        return ("last", "before")

    def draw(self, count, generator):
        return (torch.randint(6, (count, self.length), generator=generator),)

    def assemble(self, draws):
        (tokens,) = draws
        at = torch.tensor([self.length - 1, self.length - 2]).expand(len(tokens), -1)
        return tasks.Batch(tokens, tokens[:, -2:-1, None], at[..., None])
'''


def written(folder: Path, name: str, more: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name.lower()}.py"
    path.write_text(FILE.format(name=name) + more)
    return path


def config_of(file: Path) -> RunConfig:
    training = TrainingConfig(
        steps=4, batch_size=4, train_examples=None, eval_every=1, eval_examples=8, save_every=1
    )
    return RunConfig(task_in(str(file))(), training=training)


def forget(file: Path) -> None:
    """Makes this process one that never executed a file."""
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) == str(file):
            del sys.modules[name]
            for kind in [kind for kind, cls in KINDS.items() if cls.__module__ == name]:
                del KINDS[kind]
    userfile._loaded.clear()


OPEN = "import sys; from headway.training import Run; print(Run.open(sys.argv[1]).task)"


def test_a_run_finds_its_task_again(tmp_path):
    run = train(config_of(written(tmp_path, "BeforeLast")), tmp_path / "runs" / "one")
    assert Run.open(run.folder) == run
    assert run.changed is None
    assert from_dict(json.loads(json.dumps(to_dict(run.config)))) == run.config
    command = [sys.executable, "-c", OPEN, str(run.folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "BeforeLast(length=5)\n"


def test_a_run_whose_task_changed_tells_and_is_not_resumed_unless_asked_for(tmp_path):
    file, folder = written(tmp_path, "ChangedTask"), tmp_path / "runs" / "one"
    with pytest.raises(InterruptError):
        train(config_of(file), folder, stop_at(2))
    forget(file)
    written(tmp_path, "ChangedTask", "# something else\n")
    run = Run.open(folder)
    assert f"{file} has changed since" in str(run.changed)
    assert run.task.kind == "changed_task"
    with pytest.raises(HeadwayError, match=rf"^{folder}: {file} has changed .* changed_task"):
        resume(folder)
    assert resume(folder, changed_task=True).status == "done"
    first, last = run.read("environment.json") or []
    assert "task_changed" not in first
    assert "has changed since" in last["task_changed"]


def test_stacked_runs_whose_task_changed_are_not_resumed_unless_asked_for(tmp_path):
    file = written(tmp_path, "ChangedStack")
    folders = [tmp_path / "runs" / name for name in ("one", "two")]
    for folder in folders:
        Run.create(folder, config_of(file))
    forget(file)
    written(tmp_path, "ChangedStack", "# something else\n")
    with pytest.raises(HeadwayError, match="has changed since"):
        resume_stacked(folders)
    assert {run.status for run in resume_stacked(folders, changed_task=True)} == {"done"}


def test_a_run_whose_task_is_gone_is_one_line(tmp_path):
    file = written(tmp_path, "GoneTask")
    run = Run.create(tmp_path / "runs" / "one", config_of(file))
    forget(file)
    file.unlink()
    with pytest.raises(HeadwayError, match=r"'gone_task': its file .* is not there$") as error:
        Run.open(run.folder)
    assert "\n" not in str(error.value)


EVIL = 'open({mark!r}, "w").close()\n'


@pytest.mark.parametrize("place", ["run/evil.py", "evil.py", "other/evil.py", "run/../evil.py"])
def test_a_file_that_came_with_a_run_is_not_executed(tiny, tmp_path, place):
    folder = Run.create(tmp_path / "downloaded" / "run", tiny).folder
    file, mark = folder.parent / place, tmp_path / "executed"
    file.parent.mkdir(exist_ok=True)
    file.write_text(EVIL.format(mark=str(mark)))
    data = json.loads((folder / "config.json").read_text())
    data["task"]["kind"] = "evil"
    for named in (str(file), "downloaded/evil.py"):
        data["task"]["defined"] = {"file": named, "sha256": "0"}
        (folder / "config.json").write_text(json.dumps(data))
        with pytest.raises(HeadwayError, match=r"not executed|must be a whole path") as error:
            Run.open(folder)
        assert "\n" not in str(error.value)
    assert not mark.exists()


@pytest.mark.parametrize("name", ["x" * 300, "x\0", "\ud800"])
def test_a_file_whose_name_none_can_have_is_not_there(tiny, tmp_path, name):
    folder = Run.create(tmp_path / "run", tiny).folder
    data = json.loads((folder / "config.json").read_text())
    data["task"] |= {"kind": "odd", "defined": {"file": f"/{name}", "sha256": "0"}}
    (folder / "config.json").write_text(json.dumps(data))
    with pytest.raises(HeadwayError) as error:
        Run.open(folder)
    assert "\n" not in str(error.value)


def test_a_link_does_not_hide_where_a_file_is(tiny, tmp_path):
    folder = Run.create(tmp_path / "downloaded" / "run", tiny).folder
    mark = tmp_path / "executed"
    (folder / "evil.py").write_text(EVIL.format(mark=str(mark)))
    (tmp_path / "harmless.py").symlink_to(folder / "evil.py")
    data = json.loads((folder / "config.json").read_text())
    data["task"] |= {"kind": "evil", "defined": {"file": str(tmp_path / "harmless.py")}}
    (folder / "config.json").write_text(json.dumps(data))
    with pytest.raises(HeadwayError, match="is not executed"):
        Run.open(folder)
    assert not mark.exists()


def test_a_task_that_is_known_already_needs_no_file(tmp_path):
    file = written(tmp_path, "KnownTask")
    run = Run.create(tmp_path / "run", config_of(file))
    assert Run.open(run.folder) == run
    forget(file)
    with pytest.raises(HeadwayError, match="is not executed"):
        Run.open(run.folder)


def test_the_recipe_for_any_task_takes_it(tmp_path):
    config = own(task_in(str(written(tmp_path, "AnyTask")))(), seed=3)
    assert (config.model.n_layers, config.seed) == (3, 3)
    assert from_dict(to_dict(config)) == config
