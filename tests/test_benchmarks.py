"""Benchmarks run, at the smallest size that means something; large ones can be
called.
"""

import importlib
import json
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType

import pytest
import torch

from headway.sweeps import sweep
from in_process import InThisProcess

ROOT = Path(__file__).parent.parent
BENCHMARKS = ROOT / "benchmarks"
SCRIPTS = {script.stem for script in BENCHMARKS.glob("*.py")} - {"frame"}
"""All but what other benchmarks import."""

FOUND = {"L0.H0": ["s2←s1"], "L1.H0": ["s0←s2"], "L2.H0": "uniform"}
FEW = "--sequences 8"
RUNS = {
    "circuit_search": (
        f"RUN {FEW} --rounds 1 --by own tap mean --out OUT",
        "times the processor time  the same paths in 1  Jaccard 1.00",
    ),
    "search_against_exhaustion": ("--runs RUN", '"any_serves": true, "serves": true'),
    "free_rows": (
        f"RUN --circuit L0.H0_s2←s1 L1.H0_s0←s2 --add L0.H0_s0←s2 {FEW} --out OUT",
        "L0.H0 s0←s2      own      replaced",
    ),
}
"""Of benchmarks that can be small, arguments and what is printed; `_` stands for a
space.
"""


@pytest.fixture
def bench(monkeypatch):
    """Runs a script's `main` with arguments."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    threads = torch.get_num_threads()

    def run(name: str, *words: str) -> None:
        monkeypatch.setattr(sys, "argv", [name, *words])
        importlib.import_module(name).main()

    yield run
    torch.set_num_threads(threads)


@pytest.mark.parametrize("name", RUNS)
def test_a_small_benchmark_runs(bench, solved, tmp_path, capsys, name):
    run = shutil.copytree(solved.folder, tmp_path / "run")
    out = tmp_path / "out.json"
    (run / "circuit.json").write_text(json.dumps(FOUND))
    words, printed = RUNS[name]
    files = {"RUN": str(run), "OUT": str(out)}
    bench(name, *(files.get(word, word.replace("_", " ")) for word in words.split()))
    assert printed in capsys.readouterr().out
    assert "OUT" not in words or json.loads(out.read_text())


@pytest.mark.parametrize("name", sorted(SCRIPTS - RUNS.keys()))
def test_a_large_benchmark_can_be_called(bench, capsys, name):
    with pytest.raises(SystemExit) as stop:
        bench(name, "--help")
    assert stop.value.code == 0
    assert "usage" in capsys.readouterr().out


class Threads(ThreadPoolExecutor):
    """A pool of threads that is asked for as one of processes."""

    _processes = MappingProxyType({})

    def __init__(self, workers, _):
        super().__init__(workers)


def swept(plan, folder, _, watch):
    return sweep(plan, folder, InThisProcess(), watch=watch)


@pytest.mark.slow
def test_every_part_leaves_its_results(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    gpu = importlib.import_module("gpu")
    monkeypatch.setattr(gpu, "sweep", swept)
    monkeypatch.setattr(gpu, "ProcessPoolExecutor", Threads)
    words = [
        "gpu.py",
        "--smoke",
        "--device",
        "cpu",
        "--workers",
        "2",
        "--out",
        str(tmp_path),
    ]
    monkeypatch.setattr(sys, "argv", words)
    gpu.main()
    found = {
        path.stem: json.loads(path.read_text())["found"]
        for path in tmp_path.glob("*.json")
    }
    assert found.keys() == {"speed", "right", "cpu", "figure4", "first-steps", "abc"}
    assert found["right"]["same_bits"]["same"]
    assert {run["status"] for run in found["figure4"].values()} == {"done"}
    assert found["speed"]["fast"]["steps"]["headway, Muon"]["gflops"] > 0
