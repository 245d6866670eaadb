"""A task of one's own on the command line, and what is wrong with it."""

import re
from pathlib import Path

import pytest
import torch

import headway
from commands import refused, refusing
from headway.tasks import task_in
from headway.terminal import cli
from in_process import forget_files

RECIPE = """
def recipe(seed: int = 0):
    from headway import RunConfig, TransformerConfig, TrainingConfig
    return RunConfig(Wrong(), TransformerConfig(), TrainingConfig(), seed)
"""
PLAN = f"""{RECIPE}
def plan():
    return {{"one": recipe()}}
"""
TASK = Path(__file__).parent / "outside" / "assignments.py"


def test_a_task_of_ones_own_goes_through_the_verbs(
    tmp_path, kinds, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "chains.py"
    file.write_text(TASK.read_text().replace("Assignments", "Chains"))
    cli.main(["check", "chains.py", "depth=1"])
    told = capsys.readouterr().out
    assert told.startswith(
        "doubt  roles: 43% of the positions play no role and no path leads to"
    )
    assert told.count("doubt") == 1
    assert re.search(r"^roles +s0, s1, is1, s2; chains: 1$", told, re.MULTILINE)
    assert re.search(
        r"^sequence .* of one of 9 tokens; the last 1 ask", told, re.MULTILINE
    )
    assert re.search(r"^flow +not known$", told, re.MULTILINE)
    small = ("depth=1", "d_model=8", "training.steps=4", "training.cooldown_steps=0")
    cli.main(["train", "chains.py", *small, "--folder", "elsewhere/a"])
    cli.main(["circuit", "elsewhere/a", "--threshold", "10", "--ablation", "zero"])
    file.write_text(file.read_text() + "\n")
    forget_files()
    complained = refused("emergence", "elsewhere/a")
    assert "is not executed: as it is now, it is not on your list" in complained
    assert complained.endswith(f"headway --trust {file} VERB …\n")
    capsys.readouterr()
    cli.main(["--trust", "chains.py", "emergence", "elsewhere/a"])
    assert "has changed since" in capsys.readouterr().err
    Path("elsewhere/a/outcome.json").unlink()
    for words in (["circuit", "elsewhere/a"], ["train", "--resume", "elsewhere/a"]):
        complained = refused(*words)
        assert "has changed since" in complained
        assert "--changed-task" in complained
        asked = ["--threshold", "10", "--ablation", "zero"]
        more = asked if words[0] == "circuit" else []
        cli.main([*words, "--changed-task", *more])
        assert "has changed since" in capsys.readouterr().err
    run = headway.Run.open("elsewhere/a")
    first, last = run.read("environment.json")
    assert "task_changed" not in first
    assert "has changed since" in last["task_changed"]
    assert run.status == "done"


def test_what_is_wrong_with_a_task_is_a_line_each(tmp_path, kinds, capsys):
    file = tmp_path / "wrong.py"
    text = TASK.read_text().replace("Assignments", "Wrong")
    file.write_text(text.replace("self.n_letters + 1", "self.n_letters"))
    with pytest.raises(SystemExit) as stop:
        cli.main(["check", str(file)])
    assert stop.value.code == 1
    assert (
        capsys.readouterr().out
        == "error  assemble: inputs hold 0 to 8: it must be 0 to 7\n"
    )
    told = "headway: Wrong.assemble: inputs hold 0 to 8: it must be 0 to 7\n"
    for more, verbs in (
        ("", ("demo", "train", "sweep")),
        (RECIPE, ("train",)),
        (PLAN, ("sweep",)),
    ):
        file.write_text(text.replace("self.n_letters + 1", "self.n_letters") + more)
        for verb in verbs:
            forget_files()
            assert refused(verb, file, "--folder", tmp_path / "made") == told
    task = task_in(str(file))()
    module = torch.nn.Linear(1, 1)
    settings = (headway.TransformerConfig(), headway.TrainingConfig())
    for use in (
        lambda: headway.train(headway.RunConfig(task, *settings), tmp_path / "run"),
        lambda: headway.Recorder(tmp_path / "run", module, task),
        lambda: headway.discover(module, task),
    ):
        with refusing("Wrong.assemble: inputs hold 0 to 8"):
            use()
    assert list(tmp_path.iterdir()) == [file]


def test_an_error_of_no_file_of_the_users_is_not_hidden(monkeypatch):
    def fails(args):
        raise IndexError("ours")

    monkeypatch.setattr(cli, "dispatch", fails)
    with pytest.raises(IndexError, match="ours"):
        cli.main(["train"])
