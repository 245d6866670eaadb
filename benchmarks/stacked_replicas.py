"""Examples a second of R stacked replicas against the plain single loop, in turn on one device.

    python benchmarks/stacked_replicas.py [--device cuda] [--recipe paper] [--replicas 1 4 16 64]
        [--precision float32 tf32 bfloat16] [--whole 100]

Timed is a step with its data: draws, loss, gradient, optimisers. Quoted are medians over rounds and
the median of the ratios round by round. `--whole N` times N steps of `train_stacked` against those
of `train`, with every evaluation, checkpoint and save that the recipe asks for.

Counted are the floating-point operations of the matrix products of a step (`counting.py`).
"""

import dataclasses
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from counting import step_operations, steps_of
from frame import in_turn, options, ratio, seconds, write
from headway.training import RECIPES, Run, RunConfig, train, train_stacked
from headway.training.loop import Trainer
from headway.training.run import require_device
from headway.training.stacked import Stack, joined
from headway.training.state import State

RUNS = 128


def one_step(config: RunConfig, replicas: int) -> Callable[[], Any]:
    """A step of replicas of different seeds, as the loop makes it; of none: of the single loop."""
    if not replicas:
        return steps_of(config)
    runs = [Run(Path(), dataclasses.replace(config, seed=seed)) for seed in range(replicas)]
    members = [Trainer(run, State.at_start(config.training)) for run in runs]
    stack = Stack(members)

    def step() -> None:
        stack.step(joined(members), [1.0] * replicas)
        for member in members:
            member.state.step += 1

    return step


def compare(config: RunConfig, replicas: list[int], rounds: int, repeats: int) -> list[dict]:
    """Steps of stacks of several sizes, and of the single loop, in turn."""
    steps = {str(r or "single"): one_step(config, r) for r in (0, *replicas)}
    times = in_turn(steps, rounds, repeats, time.perf_counter)
    work, rows = step_operations(config), []
    for name, series in times.items():
        count = 1 if name == "single" else int(name)
        median = statistics.median(series)
        row = {
            "replicas": name,
            "precision": config.training.precision,
            "milliseconds": 1000 * median,
            "examples_per_second": count * config.training.batch_size / median,
            "ratio": count * ratio(times["single"], series),
            "teraflops": count * work / median / 1e12,
            "hours_for_all": RUNS * config.training.steps * median / count / 3600,
        }
        words = f"  {row['replicas']:>8} {row['precision']:>9} {row['milliseconds']:9.2f} ms"
        words += f" {row['examples_per_second']:12.0f} ex/s {row['ratio']:7.2f} ×"
        words += f" {row['teraflops']:8.4f} Tflop/s {row['hours_for_all']:9.2f} h"
        print(words, flush=True)
        rows.append(row)
    return rows


def whole(config: RunConfig, replicas: list[int], steps: int) -> list[dict]:
    """Runs of so many steps, files and evaluations and all."""
    config = shortened(config, steps)
    rows = []
    for r in (0, *replicas):
        configs = [dataclasses.replace(config, seed=seed) for seed in range(max(1, r))]
        series = []
        for _ in range(3):  # the first is warm-up
            with tempfile.TemporaryDirectory() as folder:
                paths = [Path(folder) / str(c.seed) for c in configs]

                def work(configs=configs, paths=paths, stacked=r > 0) -> None:
                    train_stacked(configs, paths) if stacked else train(configs[0], paths[0])

                series.append(seconds(work, clock=time.perf_counter))
        spent = statistics.median(series[1:])
        rate = len(configs) * steps * config.training.batch_size / spent
        rows.append({"replicas": r or "single", "seconds": spent, "examples_per_second": rate})
        ratio = rate / rows[0]["examples_per_second"]
        print(f"  {r or 'single'!s:>8} {spent:9.2f} s {rate:12.0f} ex/s {ratio:7.2f} ×", flush=True)
    return rows


def shortened(config: RunConfig, steps: int) -> RunConfig:
    """The first steps of a recipe: no cool-down, no end, no second attempt."""
    fields = {"cooldown_steps": 0, "cooldown_below": 0.0, "stop_below": 0.0, "patience": 0}
    training = dataclasses.replace(config.training, steps=steps, **fields)
    return dataclasses.replace(config, training=training)


def main() -> None:
    given = options(
        __doc__,
        device="cpu",
        recipe="fast",
        replicas=(1, 4, 16),
        precision=("float32",),
        rounds=9,
        repeats=5,
        whole=int,
    )
    require_device(given.device)
    config = dataclasses.replace(RECIPES[given.recipe](), device=given.device)
    print(
        f"{given.recipe} on {given.device}: {step_operations(config) / 1e9:.2f} Gflop a step of"
        f" {config.training.batch_size}; hours are for {RUNS} runs of {config.training.steps} steps"
    )
    found: dict[str, Any] = {"steps": [], "whole": []}
    for precision in given.precision:
        training = dataclasses.replace(config.training, precision=precision)
        own = dataclasses.replace(config, training=training)
        found["steps"] += compare(own, given.replicas, given.rounds, given.repeats)
        if given.whole:
            print(f"  whole runs of {given.whole} steps, {precision}")
            found["whole"] += whole(own, given.replicas, given.whole)
    write(given, {"recipe": given.recipe, "operations": step_operations(config), **found})


if __name__ == "__main__":
    main()
