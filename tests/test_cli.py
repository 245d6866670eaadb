"""The command line as a user meets it: verbs, and one clear line for bad input."""

import ast
import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

import headway as package
from headway import cli, notebook
from headway.arguments import config_asked_for, options_and_words
from headway.changes import annotations, changed
from headway.training import fast
from headway.training.recipes import RECIPES, composition
from headway.verbs import learning

TINY = [
    *("depth=1", "task.n_chains=2", "model.n_layers=2", "model.d_model=16"),
    *("training.steps=6", "training.eval_examples=16", "training.eval_every=2"),
    *("training.checkpoint_every=2", "training.cooldown_steps=0", "training.cooldown_below=0"),
]
TASK = Path(__file__).parent / "outside" / "assignments.py"


def headway(*args: str, cwd: Path, **more) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "headway", *args]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, **more)


@pytest.mark.parametrize(
    ("words", "config"),
    [
        ([], fast()),
        (["depth=2"], fast(2)),
        (["fast", "depth=4", "n_heads=2"], changed(fast(4), {"model.n_heads": 2})),
        (["seed=4", "composition", "asked=1,2"], composition((1, 2), seed=4)),
    ],
)
def test_words_ask_for_a_config(words, config):
    assert config_asked_for(words) == config


def test_options_may_stand_among_words():
    options = ["--folder", "a=b", "--changed-task", "--resume=c"]
    words = ["fast", "depth=4", "seed=3"]
    mixed = ["fast", *options[:2], "depth=4", options[2], "seed=3", options[3]]
    assert options_and_words(learning.train, mixed) == (options, words)


def test_what_follows_a_change_is_told_beside_the_results(capsys):
    config_asked_for(["training.steps=400"])
    told, noted = capsys.readouterr()
    assert told == ""
    line = "training.cooldown_steps = 170 (was 1700), as training.steps = 400"
    assert noted == f"headway: {line}\n"


def test_help_lists_the_verbs(tmp_path):
    shown = headway(cwd=tmp_path)
    assert shown.returncode == 0
    for verb in cli.VERBS:
        assert f"\n  {verb}" in shown.stdout
    for recipe in RECIPES:
        assert re.search(rf"\b{recipe}[,)]", shown.stdout)
    assert max(map(len, shown.stdout.splitlines())) <= 80


def test_nothing_waits_for_torch_that_does_not_need_it(tmp_path):
    code = (
        "import contextlib, io, sys, headway\n"
        "from headway import cli\n"
        "def main(*words):\n"
        "    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "        cli.main(list(words))\n"
        "main('--help'); main('--version'); main()\n"
        "with contextlib.redirect_stderr(io.StringIO()): main('dance')\n"
        "print([name for name in ('torch', 'tyro', 'pydantic', 'rich') if name in sys.modules])\n"
        "for verb in cli.VERBS: main(verb, '--help')\n"
        "print([name for name in ('torch', 'matplotlib') if name in sys.modules])\n"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n[]\n", shown.stderr


def test_everything_offered_is_there_and_known_to_type_checkers():
    tree = ast.parse(Path(package.__file__).read_text())
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {
        (node.module, alias.name)
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == {(room, name) for room, names in package.OFFERED.items() for name in names}
    for name in package.__all__:
        assert getattr(package, name) is not None
        assert name in dir(package)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        package.nothing  # noqa: B018
    assert package.tasks.Retrieval is package.Retrieval


def test_what_shows_itself_is_named_as_it_is_defined():
    for name, module in notebook.SHOWN.items():
        assert getattr(import_module(module), name) is getattr(package, name)
        assert getattr(package, name).__module__ == module


@pytest.mark.parametrize("verb", cli.VERBS)
def test_every_verb_has_help(verb, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main([verb, "--help"])
    assert stop.value.code == 0
    assert "usage: headway " + verb in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["sweep", "--grid"], "Missing value for argument '--grid': FIELD=VALUES …"),
        (["trian"], "(did you mean train?)"),
        (["dance"], "verb = 'dance' is not allowed: it must be one of demo, train,"),
        (
            ["check", "slow"],
            "what to check = 'slow' is not allowed: it must be the folder",
        ),
        (["train", "slow"], "recipe = 'slow' is not allowed: it must be one of fast,"),
        (["train", "task.dept=3"], "task.dept is not a field: did you mean task.depth"),
        (["train", "task.depth=x"], "task.depth = 'x' is not allowed: it must be a whole number"),
        (["train", "task.depth=0"], "task.depth = 0 is not allowed: it must be a whole"),
        (["train", "d_token=3"], "task.d_token = 3 is not allowed: it must be a whole number of"),
        (["train", "model.d_head=0"], "model.d_head = 0 is not allowed"),
        (["train", "model.n_heads=3"], "model.n_heads = 3 is not allowed: it must be a div"),
        (["train", "task.order=up"], "task.order = 'up' is not allowed: it must be one of deep-f"),
        (["train", "learning_rate=-1"], "training.learning_rate = -1 is not allowed: it must be"),
        (["train", "device=tpu"], "device = 'tpu' is not allowed: it must be cpu, cuda"),
        (["train", "--model.n-heads", "2"], "a field is written without dashes, model.n_heads="),
        (["train", "--seed", "3"], "--seed is no option: a field is written without dashes, seed="),
        (["train", "fast", "depth", "4"], "fast and depth and 4 are 3 recipes or files: it must"),
        (["train", "no.py"], "no.py: No such file or directory"),
        (["train", "--folder"], "Missing value for argument '--folder'"),
        (["train", "fast", "--resume", "nowhere"], "--resume continues a run as it was begun"),
        (["check"], "Missing from headway check: FILE"),
        (["check", "no.py"], "no.py: No such file or directory"),
        (["check", str(TASK), "dept=1"], "dept is not a field: did you mean depth?"),
        (["check", str(TASK), "depth=x"], "depth = 'x' is not allowed: it must be a whole number"),
        (["train", "--resume", "nowhere"], "nowhere: there is no run folder here"),
        (["train", "--resume"], "Missing value for argument '--resume'"),
        (["circuit", "nowhere"], "nowhere: there is no run folder here"),
        (["circuit"], "Missing from headway circuit"),
        (["circuit", "nowhere", "--threshold", "-1"], "threshold = -1.0 is not allowed: it must"),
        (["circuit", "nowhere", "--ablation", "none"], "headway circuit: "),
        (["circuit", "nowhere", "--circuit", "no.json"], "no.json"),
        (["truth", "--planted", "0", "--depth", "0"], "planted = 0 is not allowed"),
        (["truth", "--first", "-1", "--depth", "0"], "first = -1 is not allowed"),
        (["emergence", "nowhere"], "nowhere: there is no run folder here"),
        (["report", "nowhere"], "nowhere: there is no run folder here"),
        (["truncate"], "takes RUN, the folder of a run, or --model with a language model"),
        (["truncate", "nowhere"], "nowhere: there is no run folder here"),
        (["runs", "nowhere"], "nowhere: there is no such folder"),
        (["serve"], "runs: there is no such folder"),
        (["serve", "nowhere"], "nowhere: there is no such folder"),
        (["serve", ".", "--port", "65536"], "port = 65536 is not allowed: it must be a whole"),
        (["serve", ".", "--port", "some"], "headway serve: "),
        (["runs", ".", "--where", "bogus=1"], "bogus is not a field: there are task.*"),
        (["runs", ".", "--table", "a.txt"], "table = 'a.txt' is not allowed: it must be a file"),
        (["sweep", "fats"], "plan = 'fats' is not allowed: it must be one of fast, conditional"),
        (["sweep", "no.py"], "no.py: No such file or directory"),
        (["sweep", "--grid", "seed"], "'seed' is not FIELD=VALUE"),
        (["sweep", "--grid", "seed=1", "--grid", "seed=2"], "seed is named twice"),
        (["sweep", "--grid", "model.n_heads=1..4"], "in the grid's cell n_heads=3: model.n_heads"),
        (["sweep", "--workers", "0"], "workers = 0 is not allowed: it must be a whole number"),
        (["sweep", "--stack", "0"], "stack = 0 is not allowed: it must be a whole number of at"),
        (["sweep", "--stack", "some"], "headway sweep: "),
        (["sweep", "--engine", "slurm"], "headway sweep: "),
        (["sweep", "--bring-home"], "--bring-home is an option of --engine ray"),
        (["sweep", "--engine", "ray", "--address", "x"], "address = 'x' is not allowed: it must"),
        (
            ["sweep", "--engine", "ray", "--address", "127.0.0.1:9"],
            "no Ray cluster can be reached at 127.0.0.1:9: Connection refused",
        ),
        (["demo", "depth=0"], "depth = 0 is not allowed: it must be a whole"),
        (
            ["demo", "--depth", "0"],
            "--depth is no option: a field is written without dashes, dep",
        ),
        (["theory", "--depth", "0"], "depth = 0 is not allowed: it must be "),
        (["prompts", "equations", "--depth", "0"], "depth = 0 is not allowed: it must be "),
        (["truth", "--depth", "-1"], "depth = -1 is not allowed: it must be from 0 to 16"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, args, complaint, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        cli.main(list(args))
    assert stop.value.code == 2
    told, complained = capsys.readouterr()
    assert told == ""
    assert complained.startswith("headway: ")
    assert complained.count("\n") == 1
    assert complaint in complained
    assert list(tmp_path.iterdir()) == []


def test_bad_input_ends_the_program_too(tmp_path):
    shown = headway("dance", cwd=tmp_path)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr.startswith("headway: verb = 'dance'")


def test_train_then_look(tmp_path, monkeypatch, capsys):
    trained = headway("train", "fast", *TINY, "--folder", "runs/a", cwd=tmp_path)
    assert trained.returncode == 0, trained.stderr
    assert "step      2/6" in trained.stdout
    assert "done: validation MSE" in trained.stdout
    config = json.loads((tmp_path / "runs/a/config.json").read_text())
    assert config["task"]["depth"] == 1
    assert config["training"]["steps"] == 6

    monkeypatch.chdir(tmp_path)

    def shown(*args: str) -> str:
        cli.main(list(args))
        told, complained = capsys.readouterr()
        assert complained == ""
        assert max(map(len, told.splitlines())) <= 80
        return told

    def refused(*args: str) -> str:
        with pytest.raises(SystemExit):
            cli.main(list(args))
        return capsys.readouterr().err

    assert "runs/a exists already" in refused("train", "fast", *TINY, "--folder", "runs/a")
    listed = shown("runs").splitlines()[1:]
    assert [line.split()[:3] for line in listed] == [["a", "done", "6"]]
    some = ("runs", "--where", "status=done", "--where", "seed=0..3", "depth=1")
    assert "a.csv" in shown(*some, "--table", "a.csv")
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 2

    assert "no circuit yet" in refused("emergence", "runs/a")
    assert "no circuit to find" in refused("circuit", "runs/a")
    assert "headway train --resume runs/a goes on with it" in refused("train", "runs/a")
    shown("circuit", "runs/a", "--threshold", "10")
    shown("emergence", "runs/a")
    shown("report", "runs/a")
    assert (tmp_path / "runs/a/report.html").stat().st_size > 10_000
    both = shown("circuit", "runs/a", "runs/a", "--threshold", "10")
    assert "written to runs/a/circuit.json" in both
    assert "headway report runs/a" in both
    assert "mean Jaccard index of two runs' relations: 1.00" in both


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        ("tapped(3)", "module = 3 is not allowed: it must be a torch.nn.Module"),
        ("emergence('x', None)", "circuit = None is not allowed: it must be a Circuit, or what"),
    ],
)
def test_what_python_is_given_is_looked_at_without_a_type_checker_too(call, complaint):
    code = f"import headway; headway.{call}"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert f"headway.errors.HeadwayError: {complaint}" in shown.stderr


@pytest.mark.parametrize(("below", "early"), [("100", True), ("0", False)])
def test_training_that_stops_early_says_so(below, early, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    cli.main(["train", "fast", *TINY, f"training.stop_below={below}", "--folder", "a"])
    last = [line for line in capsys.readouterr().out.splitlines() if line.startswith("step")][-1]
    assert last.endswith("stopped early") is early


def test_tokens_are_trained_and_taken_apart_too(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    small = ("asked=1", "n_places=8", "d_model=8", "training.steps=4")
    cli.main(["train", "hops", *small, "--folder", "a"])
    assert "done: validation cross-entropy" in capsys.readouterr().out
    cli.main(["circuit", "a", "--threshold", "10"])
    cli.main(["emergence", "a"])
    cli.main(["runs", "."])
    told = capsys.readouterr().out
    assert "no theory of information flow for this task" in told
    assert "partial loss below 0.5 at step:  hop 1 never" in told
    cli.main(["report", "a"])
    assert (tmp_path / "a" / "report.html").stat().st_size > 10_000
    capsys.readouterr()
    with pytest.raises(SystemExit):
        cli.main(["theory", "a"])
    assert capsys.readouterr().err == "headway: a: how information flows in its task is not known\n"


def test_a_task_of_ones_own_goes_through_the_verbs(tmp_path, kinds, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "chains.py"
    file.write_text(TASK.read_text().replace("Assignments", "Chains"))
    cli.main(["check", "chains.py", "depth=1"])
    told = capsys.readouterr().out
    assert told.startswith("chains.py: nothing is wrong\n")
    assert re.search(r"^roles +s0, s1, s2; chains: 1$", told, re.MULTILINE)
    assert re.search(r"^vocabulary +9 tokens$", told, re.MULTILINE)
    assert re.search(r"^flow +not known$", told, re.MULTILINE)
    small = ("depth=1", "d_model=8", "training.steps=4", "training.cooldown_steps=0")
    cli.main(["train", "chains.py", *small, "seed=3", "--folder", "elsewhere/a"])
    config = json.loads((tmp_path / "elsewhere/a/config.json").read_text())
    assert (config["task"]["kind"], config["task"]["depth"], config["seed"]) == ("chains", 1, 3)
    cli.main(["circuit", "elsewhere/a", "--threshold", "10"])
    cli.main(["emergence", "elsewhere/a"])
    cli.main(["runs", "elsewhere", "--where", "depth=1", "n_letters=8"])
    told, noted = capsys.readouterr()
    assert re.search(r"^a +done +4", told, re.MULTILINE)
    assert noted == ""

    file.write_text(file.read_text() + "\n")
    del kinds["chains"]  # as in another process
    cli.main(["emergence", "elsewhere/a"])
    assert "has changed since" in capsys.readouterr().err
    for words in (["circuit", "elsewhere/a"], ["train", "--resume", "elsewhere/a"]):
        with pytest.raises(SystemExit):
            cli.main(words)
        complained = capsys.readouterr().err
        assert complained.count("\n") == 1
        assert "has changed since" in complained
        assert "--changed-task" in complained
        more = ["--threshold", "10"] if words[0] == "circuit" else []
        cli.main([*words, "--changed-task", *more])
        assert "has changed since" in capsys.readouterr().err


def test_what_is_wrong_with_a_task_is_a_line_each(tmp_path, kinds, capsys):
    file = tmp_path / "wrong.py"
    text = TASK.read_text().replace("Assignments", "Wrong")
    file.write_text(text.replace("self.n_letters + 1", "self.n_letters"))
    with pytest.raises(SystemExit) as stop:
        cli.main(["check", str(file)])
    assert stop.value.code == 1
    assert capsys.readouterr().out == "error  assemble: inputs hold 0 to 8: it must be 0 to 7\n"


def test_an_error_in_a_task_of_ones_own_is_told_by_its_line(tmp_path, kinds, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = TASK.read_text().replace("Assignments", "Failing")
    before = text.partition("    def assemble(self, draws):\n")[0]
    assert before != text
    file = tmp_path / "failing.py"
    file.write_text(f"{before}    def assemble(self, draws):\n        return draws[7]\n")
    with pytest.raises(SystemExit) as stop:
        cli.main(["train", "failing.py"])
    assert stop.value.code == 2
    line = len(file.read_text().splitlines())
    told = f"headway: {file}, line {line}: IndexError: tuple index out of range\n"
    assert capsys.readouterr().err == told
    assert list(tmp_path.iterdir()) == [file]


def test_an_error_of_no_file_of_the_users_is_not_hidden(monkeypatch):
    def fails(args):
        raise IndexError("ours")

    monkeypatch.setattr(cli, "dispatch", fails)
    with pytest.raises(IndexError, match="ours"):
        cli.main(["train"])


def test_the_fields_of_a_recipe_are_listed(capsys):
    with pytest.raises(SystemExit):
        cli.main(["train", "fast", "--help"])
    told = capsys.readouterr().out
    for name in annotations(fast()):
        assert f"\n  {name}" in told
    assert "\n  training.cooldown_steps=1700  (a whole number of at least 0)\n" in told
    assert "\n  mixture  (true or false)\n      whether batches are of all depths in turn" in told


def test_known_circuits_are_scored(tmp_path):
    shown = headway(
        "truth", "--planted", "1", "--depth", "1", "--file", "scores.json", cwd=tmp_path
    )
    assert shown.returncode == 0, shown.stderr
    scores = json.loads((tmp_path / "scores.json").read_text())
    assert [score["name"] for score in scores] == ["doubling D=1", "sequential D=1", "planted 0"]
    assert all(score["exact"] for score in scores)
    assert shown.stdout.count("exact") == 4


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_can_be_resumed(tmp_path, how):
    args = [*TINY[:4], *TINY[5:], "training.steps=100000", "--folder", "a"]
    command = [sys.executable, "-m", "headway", "train", "fast", *args]
    running = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    state = tmp_path / "a" / "state.safetensors"
    deadline = time.monotonic() + 60
    while not state.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    running.send_signal(how)
    _, complaint = running.communicate(timeout=60)
    assert running.returncode == 130
    assert complaint == "headway: interrupted; continue with: headway train --resume a\n"
    assert "stopped" in headway("runs", ".", cwd=tmp_path).stdout
    assert not list((tmp_path / "a").glob(".*draft*"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_no_permission_is_one_line(tmp_path):
    tmp_path.chmod(0o500)
    shown = headway("train", "fast", *TINY, "--folder", "a", cwd=tmp_path)
    tmp_path.chmod(0o700)
    assert shown.returncode == 2
    assert shown.stderr == "headway: cannot make a: Permission denied\n"


def test_a_real_full_disk_is_one_line(tmp_path, monkeypatch):
    disk = tmp_path / "disk"
    disk.mkdir()
    size = "size=64k"
    if subprocess.run(["mount", "-t", "tmpfs", "-o", size, "none", disk], check=False).returncode:
        pytest.skip("mounting a small disk is not permitted here")
    try:
        wide = [*TINY[:3], *TINY[4:], "model.d_model=64"]
        shown = headway("train", "fast", *wide, "--folder", "disk/a", cwd=tmp_path)
        assert "checkpoints would take about" in shown.stderr
        assert not list(disk.iterdir())
        monkeypatch.setenv("HEADWAY_LIMITS", "off")
        shown = headway("train", "fast", *wide, "--folder", "disk/a", cwd=tmp_path)
        assert shown.returncode == 2
        assert "No space left on device" in shown.stderr
        assert shown.stderr.count("\n") == 1
        assert not list((disk / "a").rglob("*draft*"))
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_page_about_a_folder_of_tokens(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    small = ("asked=1", "n_places=8", "d_model=8", "training.steps=2")
    for seed in ("0", "1"):
        cli.main(["train", "hops", *small, f"seed={seed}", "--folder", f"runs/{seed}"])
    cli.main(["report", "runs"])
    assert "hops problem" in (tmp_path / "runs/report.html").read_text()
    for seed in ("0", "1"):
        (tmp_path / f"runs/{seed}/config.json").write_text("{")
    with pytest.raises(SystemExit):
        cli.main(["report", "runs"])
    assert "no run in it can be read" in capsys.readouterr().err
