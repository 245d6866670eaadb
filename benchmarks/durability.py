"""What it costs that files outlive a power cut, and that they are checked when they are read.

    python benchmarks/durability.py --folder . --against ../older/src

What flushes to disk add to the steps of `fast`: the time by the clock that they wait for them,
beside their processor time. And opening a folder with 1,000 checkpoints and evaluations, against
the code of another checkout, each in a process of its own, turn by turn, in processor time. Quoted
are medians of the ratios round by round, with their quartiles.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import headway
from headway.training import fast, train
from headway.training.environment import describe_environment

MAKE = """
import sys
from dataclasses import replace
from pathlib import Path
from headway.training import fast, train
config, steps = fast(1), int(sys.argv[2])
training = replace(config.training, steps=steps, batch_size=4, train_examples=None, eval_every=1,
                   eval_examples=4, checkpoint_every=1, save_every=1000, warmup_steps=0,
                   cooldown_steps=0, cooldown_below=0.0, stop_below=0.0, patience=0)
model = replace(config.model, n_layers=1, d_model=8)
train(replace(config, model=model, training=training), Path(sys.argv[1]))
"""
"""Words that both versions know."""
OPEN = """
import sys, time
from headway.report import Findings
from headway.training import Run
def opened():
    run = Run.open(sys.argv[1])
    steps = int(sys.argv[2])
    assert len(run.checkpoint_steps()) == steps + 1 and len(run.metrics()) == steps
    run.status
    Findings.of(run)
opened()
took = []
for _ in range(int(sys.argv[3])):
    start = time.process_time()
    opened()
    took.append(time.process_time() - start)
print(sorted(took)[len(took) // 2])
"""


def told(what: str, ratios: Sequence[float], bar: float) -> dict[str, Any]:
    """Prints a ratio beside its bar."""
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(f"{what}: ratio {middle:.3f} (quartiles {low:.3f} to {high:.3f}), bar {bar}")
    return {"what": what, "ratio": middle, "quartiles": [low, high], "rounds": len(ratios)}


def flushing(place: Path, steps: int, rounds: int) -> dict[str, Any]:
    """A step of `fast` with what waiting for flushes adds to its processor time."""
    shorter = {"steps": steps, "cooldown_steps": 0, "warmup_steps": 0, "stop_below": 0.0}
    config = replace(fast(2), training=replace(fast(2).training, **shorter))
    waits: list[float] = []
    flush = os.fsync

    def timed(file: int) -> None:
        start = time.perf_counter()
        flush(file)
        waits.append(time.perf_counter() - start)

    marks: list[tuple[float, int]] = []

    def watch(_run: object, step: int, end: int, _metrics: object) -> None:
        if step in (1, end):
            marks.append((time.process_time(), len(waits)))

    ratios: list[float] = []
    for number in range(-1, rounds):
        waits.clear()
        marks.clear()
        with patch.object(os, "fsync", timed):
            train(config, place / f"{number}", watch)
        shutil.rmtree(place / f"{number}")
        (start, first), (end, last) = marks
        inside = sum(waits[first:last])
        if number >= 0:
            ratios.append(1 + inside / (end - start))
            print(
                f"{1e3 * (end - start) / (steps - 1):.1f} ms a step; {1e3 * inside:.0f} ms for"
                f" {last - first} flushes in {steps} steps, and"
                f" {1e3 * (sum(waits) - inside):.0f} ms for {len(waits) + first - last} beside"
            )
    return told("a step with flushes against one without", ratios, 1.01)


def opening(
    place: Path, against: Path, checkpoints: int, rounds: int, repeats: int
) -> dict[str, Any]:
    """Opening a folder with many checkpoints, here and there."""
    ours = Path(headway.__file__).parents[1]
    sources = {"here": ours, "there": against.absolute()}

    def python(name: str, code: str, *words: object) -> str:
        env = {**os.environ, "PYTHONPATH": str(sources[name])}
        command = [sys.executable, "-c", code, *map(str, words)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        return done.stdout

    for name in sources:
        python(name, MAKE, place / name, checkpoints)
    took: dict[str, list[float]] = {name: [] for name in sources}
    for number in range(rounds):
        for name in sorted(sources, reverse=number % 2 == 0):
            took[name].append(float(python(name, OPEN, place / name, checkpoints, repeats)))
    middle = {name: 1e3 * statistics.median(times) for name, times in took.items()}
    here, there = middle["here"], middle["there"]
    print(f"opening {checkpoints:,} checkpoints: {here:.1f} ms, there {there:.1f} ms")
    ratios = [a / b for a, b in zip(took["here"], took["there"], strict=True)]
    return told("opening a folder against the other checkout", ratios, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description="What durability costs.")
    parser.add_argument("--folder", type=Path, default=Path("."), help="on the disk to write to")
    parser.add_argument("--against", type=Path, help="the sources of another checkout")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--checkpoints", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    sizes = options.checkpoints, options.rounds, options.repeats
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        found = [flushing(Path(name), options.steps, options.rounds)]
        if options.against is not None:
            found += [opening(Path(name), options.against, *sizes)]
    if options.out is not None:
        about = describe_environment("cpu", 1)
        options.out.write_text(json.dumps({"environment": about, "costs": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
