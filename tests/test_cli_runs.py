"""Runs on the command line: trained, looked at, interrupted, without room."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from commands import TINY, headway, refused
from headway.recipes import config_asked_for
from headway.terminal import cli
from headway.training import fast


def test_an_interrupted_run_can_be_resumed(tmp_path, monkeypatch, capsys):
    args = [*TINY[:4], *TINY[5:], "training.steps=100000", "--folder", "a"]
    command = [sys.executable, "-m", "headway", "train", "fast", *args]
    running = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    state = tmp_path / "a" / "state.safetensors"
    deadline = time.monotonic() + 60
    while not state.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    running.send_signal(signal.SIGTERM)  # as Ctrl-C does: sweeps are stopped so
    _, complaint = running.communicate(timeout=60)
    assert running.returncode == 130
    assert (
        complaint == "headway: interrupted; continue with: headway train --resume a\n"
    )
    monkeypatch.chdir(tmp_path)
    cli.main(["runs", "."])
    assert "stopped" in capsys.readouterr().out
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
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", size, "none", disk], check=False
    ).returncode:
        pytest.skip("mounting a small disk is not permitted here")
    try:
        words = [*TINY[:3], *TINY[4:], "model.d_model=64", "--folder", str(disk / "a")]
        assert "No space left on device" in refused("train", "fast", *words)
        assert not list((disk / "a").rglob("*draft*"))
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_run_named_like_a_recipe_does_not_hide_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("fast", "my run"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
    assert (
        config_asked_for(["depth=1"])
        == config_asked_for(["fast", "depth=1"])
        == fast(1)
    )
    for words, complaint in (
        (["train", "my run"], "or --resume RUN"),
        (["report", "."], "no run in it can be read"),
    ):
        assert complaint in refused(*words)


def test_train_then_look(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    cli.main(["train", "fast", *TINY, "--folder", "runs/a"])
    trained = capsys.readouterr().out
    assert "step      2/6" in trained
    assert "done: validation MSE" in trained
    config = json.loads((tmp_path / "runs/a/config.json").read_text())
    assert config["task"]["depth"] == 1
    assert config["training"]["steps"] == 6

    def shown(*args: str) -> str:
        cli.main(list(args))
        told, complained = capsys.readouterr()
        assert complained == ""
        assert max(map(len, told.splitlines())) <= 80
        return told

    assert "runs/a exists already" in refused(
        "train", "fast", *TINY, "--folder", "runs/a"
    )
    listed = shown("runs").splitlines()[1:]
    assert [line.split()[:3] for line in listed] == [["a", "done", "6"]]
    some = ("runs", "--where", "status=done", "--where", "seed=0..3", "depth=1")
    assert "a.csv" in shown(*some, "--table", "a.csv")
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 2

    assert "no circuit yet" in refused("emergence", "runs/a")
    assert "no circuit to find" in refused("circuit", "runs/a")
    assert "or --resume RUN" in refused("train", "runs/a")
    shown("circuit", "runs/a", "--threshold", "10")
    same = shown("emergence", "runs/a", "--circuit", "runs/a/circuit.json")
    assert shown("emergence", "runs/a") == same
    shown("report", "runs/a")
    assert (tmp_path / "runs/a/report.html").stat().st_size > 10_000
    both = shown("circuit", "runs/a", "runs/a", "--threshold", "10")
    assert "written to runs/a/circuit.json" in both
    assert "headway report runs/a" in both
    assert "mean Jaccard index of two runs' relations: 1.00" in both


@pytest.mark.parametrize(("below", "early"), [("100", True), ("0", False)])
def test_training_that_stops_early_says_so(below, early, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    cli.main(["train", "fast", *TINY, f"training.stop_below={below}", "--folder", "a"])
    last = [
        line for line in capsys.readouterr().out.splitlines() if line.startswith("step")
    ][-1]
    assert last.endswith("stopped early") is early


def test_a_fill_that_is_not_known_is_one_line(solved):
    said = refused("circuit", solved.folder, "--ablation", "none")
    assert "ablation = 'none' is not allowed: it must be one of zero" in said
