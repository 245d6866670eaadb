"""`make gpu`, at the size of a smoke test and on the CPU."""

import json
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_every_part_leaves_its_results(tmp_path):
    command = [sys.executable, "gpu.py", "--smoke", "--device", "cpu", "--workers", "2"]
    subprocess.run([*command, "--out", tmp_path], cwd=BENCHMARKS, check=True, timeout=280)
    found = {path.stem: json.loads(path.read_text())["found"] for path in tmp_path.glob("*.json")}
    assert found.keys() == {"speed", "right", "cpu", "figure4", "first-steps", "abc"}
    assert found["right"]["same_bits"]["same"]
    assert {run["status"] for run in found["figure4"].values()} == {"done"}
    assert found["speed"]["fast"]["steps"]["headway, Muon"]["gflops"] > 0
