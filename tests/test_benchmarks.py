"""Every benchmark runs, at the smallest size that means something."""

import importlib
import io
import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from headway.models import TransformerConfig
from headway.tasks import Retrieval
from headway.training import Run, fast
from headway.training.run import flushes_subnormals
from in_process import InThisProcess

ROOT = Path(__file__).parent.parent
NO_PROGRAMS = {"counting"}
"""What other benchmarks import."""


@pytest.fixture
def bench(monkeypatch, capsys):
    """Runs a script's `main` with arguments; gives what it printed."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    threads = torch.get_num_threads()

    def run(name: str, *words: object) -> str:
        monkeypatch.setattr(sys, "argv", [name, *map(str, words)])
        importlib.import_module(name).main()
        return capsys.readouterr().out

    yield run
    torch.set_num_threads(threads)


def small(config, **training):
    """A config of one narrow layer that is trained for two steps."""
    shape = replace(config.model, n_layers=1, d_model=8)
    short = {"steps": 2, "cooldown_steps": 0, "warmup_steps": 0, "eval_examples": 8}
    training = replace(config.training, **short | {"batch_size": 4} | training)
    return replace(config, model=shape, training=training)


@pytest.fixture
def small_fast(monkeypatch):
    """What the scripts take for the recipe `fast` is small."""

    def change(name: str) -> None:
        module = importlib.import_module(name)
        monkeypatch.setattr(module, "fast", lambda *_, **fields: small(fast(1, **fields)))

    return change


def test_no_benchmark_is_left_out():
    scripts = {script.stem for script in (ROOT / "benchmarks").glob("*.py")}
    text = Path(__file__).read_text()
    assert all(f'bench("{name}"' in text for name in scripts - NO_PROGRAMS)


def test_ablations(bench, solved, tmp_path):
    out = tmp_path / "ablations.json"
    told = bench("ablations", solved.folder, "--sequences", 16, "--out", out)
    assert "resample  faithful" in told
    assert next(row["jaccard"] for row in json.loads(out.read_text())) == 1


def test_circuit_search(bench, solved, tmp_path):
    file, sizes = tmp_path / "found.json", ("--sequences", 8, "--rounds", 1, "--threads", 1)
    said = bench("circuit_search", solved.folder, *sizes, "--file", file)
    (row,) = json.loads(file.read_text())
    assert row["reference_paths_jaccard"] == 1
    assert row["reference_forward_passes"] > row["forward_passes"]
    assert "ratio" in said


def test_search_on_protocol(bench, solved):
    said = bench("search_on_protocol", solved.folder, "--sequences", 8)
    assert "the same circuit in 1 of 1" in said


def test_hypotheses(bench, solved, tmp_path):
    out, few = tmp_path / "tested.json", ("--sequences", 8, "--random-circuits", 29)
    shutil.copytree(solved.folder, tmp_path / "run")
    circuit = {"L0.H0": ["s2←s1"], "L1.H0": ["s0←s2"], "L2.H0": "uniform"}
    (tmp_path / "run/circuit.json").write_text(json.dumps(circuit))
    said = bench("hypotheses", tmp_path / "run", "--compiled", 1, *few, "--out", out)
    assert "compiled: of 1 pass: equivalence 1  independence" in said
    assert [row["paths"] for row in json.loads(out.read_text())] == [2, 2]


def test_free_rows(bench, solved, tmp_path):
    out, paths = tmp_path / "rows.json", ("L0.H0 s2←s1", "L1.H0 s0←s2")
    words = ("--circuit", *paths, "--add", "L0.H0 s0←s2", "--sequences", 8, "--out", out)
    assert "L0.H0 s0←s2      own      replaced" in bench("free_rows", solved.folder, *words)
    (row,) = json.loads(out.read_text())
    assert {len(losses) for losses in row["losses"].values()} == {5}


def test_subnormal(bench, solved, tmp_path):
    out = tmp_path / "subnormal.json"
    said = bench("subnormal", solved.folder, "--steps", 2, "--rounds", 2, "--out", out)
    assert '"same_losses": true' in said
    found = json.loads(out.read_text())
    assert len(found["rounds"]) == 2
    assert 0 < found["seconds_zero"] < 10
    assert not flushes_subnormals()


def test_clamped_step(bench, small_fast):
    small_fast("clamped_step")
    said = bench("clamped_step", "--depths", 1, "--rounds", 2, "--repeats", 1)
    assert "D=1: a step free" in said


def test_durability(bench, small_fast, monkeypatch, tmp_path):
    small_fast("durability")

    outside = subprocess.run

    def inside(command, **how):
        if command[0] != sys.executable:
            return outside(command, **how)
        said = io.StringIO()
        monkeypatch.setattr(sys, "argv", ["-c", *command[3:]])
        with redirect_stdout(said):
            exec(command[2], {})
        return subprocess.CompletedProcess(command, 0, said.getvalue())

    monkeypatch.setattr(subprocess, "run", inside)
    sizes = ("--steps", 2, "--rounds", 2, "--repeats", 1, "--checkpoints", 3)
    said = bench("durability", "--folder", tmp_path, "--against", ROOT / "src", *sizes)
    assert "opening 3 checkpoints" in said
    assert said.count("ratio") == 2


def test_fast_recipe(bench, solved, monkeypatch, tmp_path):
    shutil.copytree(solved.folder, tmp_path / "D3-fast-s7")
    script = importlib.import_module("fast_recipe")
    monkeypatch.setattr(script, "fast", lambda *_, **__: Run.open(solved.folder).config)
    monkeypatch.setattr(script, "ProcessPoolExecutor", lambda *_, **__: ThreadPoolExecutor(1))
    said = bench("fast_recipe", "--seeds", 7, 7, "--folder", tmp_path)
    assert "all heads replaced, MSE < 0.05: 1 of 1 circuits" in said


def test_prompts(bench):
    assert "all, in equal parts" in bench("prompts", "--count", 2, "--rounds", 1)


def test_report_page(bench, monkeypatch):
    script = importlib.import_module("report_page")
    monkeypatch.setattr(script, "CHECKPOINTS", 2)
    monkeypatch.setattr(script, "PATHS", {0: {"s2←s1"}, 1: {"s0←s2"}})
    monkeypatch.setattr(script, "Retrieval", lambda **_: Retrieval(depth=2, n_chains=2))
    monkeypatch.setattr(script, "TransformerConfig", lambda **_: TransformerConfig(2, d_model=8))
    monkeypatch.setattr(script, "in_browser", lambda _: {})  # tests/report has browsers enough
    monkeypatch.setattr("headway.report.findings.SEQUENCES", 1)
    assert "| size |" in bench("report_page")


def test_serve(bench, solved):
    sizes = ("--runs", 2, "--evaluations", 3, "--rounds", 1)
    said = bench("serve", *sizes, "--page", solved.folder)
    assert "page after an evaluation" in said


def test_stacked_replicas(bench, monkeypatch):
    script = importlib.import_module("stacked_replicas")
    monkeypatch.setattr(script, "RECIPES", {"fast": lambda: small(fast(1))})
    one = ("--rounds", 1, "--repeats", 1, "--whole", 2, "--losses", 2, "--seeds", 2)
    said = bench("stacked_replicas", "--replicas", 2, *one)
    assert "over 2 seeds, 2 steps" in said


def test_sweep_workers(bench, small_fast, monkeypatch):
    small_fast("sweep_workers")
    monkeypatch.setattr(importlib.import_module("sweep_workers"), "LocalEngine", InThisProcess)
    sizes = ("--runs", 2, "--steps", 2, "--rounds", 1)
    assert "two workers / one worker" in bench("sweep_workers", *sizes, "--engines", "one", "two")


def test_time_to_solved(bench, monkeypatch, small_fast, tmp_path):
    small_fast("time_to_solved")
    monkeypatch.setattr(importlib.import_module("time_to_solved"), "LocalEngine", InThisProcess)
    sizes = ("--depths", 1, "--seeds", 1, 2, "--variants", "fast", "--folder", tmp_path / "runs")
    assert "| fast | 1 | 0 of 2 |" in bench("time_to_solved", *sizes)


def test_training_step(bench, monkeypatch):
    script = importlib.import_module("training_step")
    monkeypatch.setattr(script, "fast", lambda: small(fast(1)))
    sizes = ("--shape", "fast", "--threads", 1, "--rounds", 1, "--repeats", 1)
    assert "headway, Muon" in bench("training_step", *sizes)
