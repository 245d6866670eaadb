"""What it costs that files outlive a power cut: steps of `fast` with their flushes to disk.

    python benchmarks/durability.py --folder . --steps 200

Told is the time by the clock that steps wait for flushes, beside their processor time; quoted is
the median of the ratios round by round, with its quartiles.
"""

import os
import shutil
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from frame import options, write
from headway.training import fast, train


def flushing(place: Path, steps: int) -> float:
    """A step of `fast` with what waiting for flushes adds, over its processor time."""
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

    with patch.object(os, "fsync", timed):
        train(config, place, watch)
    shutil.rmtree(place)
    (start, first), (end, last) = marks
    waited = sum(waits[first:last])
    print(f"{1e3 * (end - start) / (steps - 1):.1f} ms a step; in {steps} steps {last - first}"
          f" flushes took {1e3 * waited:.0f} ms")  # fmt: skip
    return 1 + waited / (end - start)


def main() -> None:
    given = options(__doc__, folder=Path("."), steps=200, rounds=11)
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        _, *ratios = (flushing(Path(name) / "run", given.steps) for _ in range(given.rounds + 1))
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(f"with flushes against without: {middle:.3f} (quartiles {low:.3f} to {high:.3f})")
    write(given, {"ratio": middle, "quartiles": [low, high], "rounds": given.rounds})


if __name__ == "__main__":
    main()
