"""A task that cannot be used ends every way of using it in the line that `check` says, too."""

import json
import subprocess
import sys

import pytest
from wrong_tasks import GOOD, WRONG

PROGRAM = """
import contextlib, io, json, os, sys
from headway.cli import main
told = {}
for name, (folder, words) in json.load(sys.stdin).items():
    os.chdir(folder)
    said, code = io.StringIO(), 0
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try:
            main(words)
        except SystemExit as end:
            code = end.code
        except BaseException as error:
            code = repr(error)
    told[name] = code, said.getvalue(), sorted(set(os.listdir(".")) - {"mine.py", "__pycache__"})
print(json.dumps(told))
"""

RECIPE = """
def recipe(seed: int = 0):
    from headway import RunConfig, TransformerConfig, TrainingConfig
    return RunConfig(Pairs(), TransformerConfig(), TrainingConfig(), seed)
"""
PLAN = f"""{RECIPE}
def plan():
    return [recipe()]
"""
SOME = ["targets without hops", "draw raises", "draw returns None"]
VERBS = {"train": "", "sweep": "", "demo": "", "train a recipe": RECIPE, "sweep a plan": PLAN}


def written(folder, changes, more=""):
    text = GOOD
    for old, new in changes:
        text = text.replace(old, new)
    folder.mkdir()
    (folder / "mine.py").write_text(text + more)
    return str(folder)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What is said of some tasks, by every verb."""
    top, tried = tmp_path_factory.mktemp("tasks"), {}
    for name in SOME:
        for verb, more in VERBS.items():
            folder = written(top / f"{verb} {name}", WRONG[name][1], more)
            tried[f"{verb} {name}"] = folder, [verb.split()[0], "mine.py"]
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        command, input=json.dumps(tried), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", SOME)
def test_every_verb_says_it_in_one_line_and_writes_nothing(told, name, verb):
    code, said, left = told[f"{verb} {name}"]
    (line,) = said.splitlines()
    assert WRONG[name][0].removeprefix("error ").partition(": ")[2] in line
    assert "Pairs." in line
    assert (code, left) == (2, [])


LIBRARY = """
import torch
import headway
from headway.tasks import task_in
task = task_in("mine.py")()
settings = headway.TransformerConfig(), headway.TrainingConfig()
for use in (
    lambda: headway.train(headway.RunConfig(task, *settings), "run"),
    lambda: headway.Recorder("run", torch.nn.Linear(1, 1), task),
    lambda: headway.discover(torch.nn.Linear(1, 1), task),
):
    try:
        use()
    except headway.HeadwayError as error:
        print(error)
"""


def test_the_library_says_it_likewise(tmp_path):
    folder = written(tmp_path / "one", WRONG["targets None"][1])
    command = [sys.executable, "-c", LIBRARY]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("Pairs.assemble: targets are None: they must be") for line in lines)
    assert not (tmp_path / "one" / "run").exists()
