"""The command line as a user meets it: verbs, and one clear line for bad input."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headway import cli
from headway.arguments import training_asked_for
from headway.errors import HeadwayError
from headway.training import fast
from headway.training.recipes import RECIPES, composition, paper

VERBS = ("train", *cli.VERBS)
TINY = [
    *("--task.depth", "1", "--task.n-chains", "2", "--model.n-layers", "2"),
    *("--model.d-model", "16", "--training.steps", "6", "--training.eval-examples", "16"),
    *("--training.eval-every", "2", "--training.checkpoint-every", "2"),
    *("--training.cooldown-steps", "0", "--training.cooldown-below", "0"),
    *("--training.depths", "full"),
]


def headway(*args: str, cwd: Path, **more) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "headway", *args]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, **more)


@pytest.mark.parametrize(
    ("words", "config"),
    [
        (["fast"], fast()),
        (["fast", "depth=4", "seed=3"], fast(4, 3)),
        (["fast", "mixture=false", "--seed", "2"], fast(3, 2, mixture=False)),
        (["paper", "depth=2"], paper(2)),
        (["composition", "asked=1:2:4:8", "--seed", "4"], composition((1, 2, 4, 8), seed=4)),
    ],
)
def test_a_recipe_is_given_arguments_of_its_own(words, config):
    assert training_asked_for(words) == (config, None)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["fast", "depth=1..2"], "depth=1..2: one value each, as one run is trained"),
        (["fast", "deep=1"], "deep is not a field"),
        (["fast", "depth=x"], "depth = 'x' is not allowed: it must be a whole number"),
        (["fast", "--task.depth", "1"], "headway train fast mixture=false does not"),
        (["fast", "--training.targets", "random"], "headway train fast mixture=false does not"),
    ],
)
def test_what_a_recipe_cannot_be_is_told(words, complaint):
    with pytest.raises(HeadwayError, match=re.escape(complaint)):
        training_asked_for(words)


def test_help_lists_the_verbs(tmp_path):
    shown = headway(cwd=tmp_path)
    assert shown.returncode == 0
    for verb in VERBS:
        assert f"\n  {verb}" in shown.stdout
    for recipe in RECIPES:
        assert re.search(rf"\b{recipe}[,)]", shown.stdout)
    assert max(map(len, shown.stdout.splitlines())) <= 80


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main([verb, "--help"])
    assert stop.value.code == 0
    assert "usage: headway " + verb in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["sweep", "--grid"], "Missing value for argument '--grid': FIELD=VALUES …"),
        (["dance"], "verb = 'dance' is not allowed: it must be one of train, demo,"),
        (["train", "slow"], "recipe = 'slow' is not allowed: it must be one of fast,"),
        (["train", "--task.dept", "3"], "--task.dept, 3 (did you mean --task.depth?)"),
        (["train", "--task.depth", "x"], "--task.depth: invalid literal for int()"),
        (["train", "--task.depth", "0"], "task.depth = 0 is not allowed: it must be a whole"),
        (["train", "--task.d-token", "3"], "task.d_token = 3 is not allowed: it must be an even"),
        (["train", "--model.d-head", "0"], "model.d_head = 0 is not allowed"),
        (["train", "--model.n-heads", "3"], "model.n_heads = 3 is not allowed: it must be a div"),
        (["train", "--task.order", "up"], "'--task.order'. Expected one of ('deep-first',"),
        (["train", "--training.learning-rate", "-1"], "training.learning_rate = -1.0 is not al"),
        (["train", "--device", "tpu"], "device = 'tpu' is not allowed: it must be cpu, cuda"),
        (["train", "--resume", "nowhere"], "nowhere: there is no run folder here"),
        (["train", "--resume"], "Missing from headway train --resume"),
        (["circuit", "nowhere"], "nowhere: there is no run folder here"),
        (["circuit"], "Missing from headway circuit"),
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
        (["runs", ".", "--where", "bogus=1"], "bogus is not a field: there are task.kind"),
        (["runs", ".", "--table", "a.txt"], "table = 'a.txt' is not allowed: it must be a file"),
        (["sweep", "fats"], "plan = 'fats' is not allowed: it must be one of fast, conditional"),
        (["sweep", "no.py"], "no.py: there is no such file"),
        (["sweep", "--grid", "seed"], "'seed' is not FIELD=VALUES"),
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
        (["demo", "--depth", "0"], "task.depth = 0 is not allowed"),
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


def test_train_then_look(tmp_path):
    trained = headway("train", "fast", *TINY, "--folder", "runs/a", cwd=tmp_path)
    assert trained.returncode == 0, trained.stderr
    assert "step      2/6" in trained.stdout
    assert "done: validation MSE" in trained.stdout
    config = json.loads((tmp_path / "runs/a/config.json").read_text())
    assert config["task"]["depth"] == 1
    assert config["training"]["steps"] == 6

    again = headway("train", "fast", *TINY, "--folder", "runs/a", cwd=tmp_path)
    assert again.returncode == 2
    assert "runs/a exists already" in again.stderr

    listed = headway("runs", cwd=tmp_path)
    assert listed.returncode == 0
    assert [line.split()[:3] for line in listed.stdout.splitlines()[1:]] == [["a", "done", "6"]]

    some = ("runs", "--where", "status=done", "--where", "seed=0..3", "task.depth=1")
    assert "a.csv" in headway(*some, "--table", "a.csv", cwd=tmp_path).stdout
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 2

    assert "no circuit yet" in headway("emergence", "runs/a", cwd=tmp_path).stderr
    assert "no circuit to find" in headway("circuit", "runs/a", cwd=tmp_path).stderr
    for verb in ("circuit", "emergence", "report"):
        extra = ["--threshold", "10"] if verb == "circuit" else []
        shown = headway(verb, "runs/a", *extra, cwd=tmp_path)
        assert shown.returncode == 0, shown.stderr
        assert max(map(len, shown.stdout.splitlines())) <= 80
    assert (tmp_path / "runs/a/report.html").stat().st_size > 10_000
    both = headway("circuit", "runs/a", "runs/a", "--threshold", "10", cwd=tmp_path)
    assert "written to runs/a/circuit.json" in both.stdout
    assert "headway report runs/a" in both.stdout
    assert "mean Jaccard index of two runs' relations: 1.00" in both.stdout


def test_tokens_are_trained_and_taken_apart_too(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    small = ("--task.hops", "1", "--task.n-places", "8", "--model.d-model", "8")
    short = ("--training.steps", "4", "--training.cooldown-steps", "2")
    cli.main(["train", "hops", *small, *short, "--folder", "a"])
    assert "done: validation cross-entropy" in capsys.readouterr().out
    cli.main(["circuit", "a", "--threshold", "10"])
    cli.main(["emergence", "a"])
    cli.main(["runs", "."])
    told = capsys.readouterr().out
    assert "no theory of information flow for this task" in told
    assert "partial loss below 0.5 at step:  hop 1 never" in told
    for verb in ("report", "theory"):
        with pytest.raises(SystemExit):
            cli.main([verb, "a"])
        complained = capsys.readouterr().err
        assert "task.kind = 'hops'" in complained
        assert complained.count("\n") == 1


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
    args = [*TINY, "--training.steps", "100000", "--folder", "a"]
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


def test_a_real_full_disk_is_one_line(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    size = "size=64k"
    if subprocess.run(["mount", "-t", "tmpfs", "-o", size, "none", disk], check=False).returncode:
        pytest.skip("mounting a small disk is not permitted here")
    try:
        wide = [*TINY, "--model.d-model", "64"]
        shown = headway("train", "fast", *wide, "--folder", "disk/a", cwd=tmp_path)
        assert shown.returncode == 2
        assert "No space left on device" in shown.stderr
        assert shown.stderr.count("\n") == 1
        assert not list((disk / "a").rglob("*draft*"))
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_page_about_a_folder_of_tokens(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    small = ("--task.hops", "1", "--task.n-places", "8", "--model.d-model", "8")
    short = ("--training.steps", "2", "--training.cooldown-steps", "1")
    for seed in ("0", "1"):
        cli.main(["train", "hops", *small, *short, "--seed", seed, "--folder", f"runs/{seed}"])
    cli.main(["report", "runs"])
    assert "hops problem" in (tmp_path / "runs/report.html").read_text()
    for seed in ("0", "1"):
        (tmp_path / f"runs/{seed}/config.json").write_text("{")
    with pytest.raises(SystemExit):
        cli.main(["report", "runs"])
    assert "no run in it can be read" in capsys.readouterr().err
