"""`make gpu`, at the size of a smoke test, on the CPU and as far as may be in this process."""

import importlib
import json
import sys
from concurrent.futures import Executor, Future
from pathlib import Path

from headway.sweeps import sweep
from in_process import InThisProcess

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


class CalledHere(Executor):
    """A pool of no processes: what is submitted is called at once."""

    def __init__(self, *_):
        self._processes = {}

    def submit(self, work, /, *given):
        done = Future()
        try:
            done.set_result(work(*given))
        except Exception as error:
            done.set_exception(error)
        return done


def swept(plan, folder, _, watch):
    return sweep(plan, folder, InThisProcess(), watch=watch)


def test_every_part_leaves_its_results(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    gpu = importlib.import_module("gpu")
    monkeypatch.setattr(gpu, "sweep", swept)
    monkeypatch.setattr(gpu, "ProcessPoolExecutor", CalledHere)
    words = ["gpu.py", "--smoke", "--device", "cpu", "--workers", "2", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", words)
    gpu.main()
    found = {path.stem: json.loads(path.read_text())["found"] for path in tmp_path.glob("*.json")}
    assert found.keys() == {"speed", "right", "cpu", "figure4", "first-steps", "abc"}
    assert found["right"]["same_bits"]["same"]
    assert {run["status"] for run in found["figure4"].values()} == {"done"}
    assert found["speed"]["fast"]["steps"]["headway, Muon"]["gflops"] > 0
