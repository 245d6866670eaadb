"""Examples a second of R stacked replicas against the plain single loop, in turn on one device.

    python benchmarks/stacked_replicas.py [--device cuda] [--recipe paper] [--replicas 1 4 16 64]
        [--precision float32 tf32 bfloat16] [--whole 100] [--losses 400 --seeds 8]

Timed is a step with its data: draws, loss, gradient, optimisers. Quoted are medians over rounds and
the median of the ratios round by round. `--whole N` times N steps of `train_stacked` against those
of `train`, with every evaluation, checkpoint and save that the recipe asks for. `--losses N` trains
some seeds for N steps in each precision and tells the validation loss, mean ± standard deviation.

Counted are the floating-point operations of the matrix products of a step (`counting.py`).
"""

import argparse
import dataclasses
import json
import math
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from counting import step_operations, steps_of
from headway.training import RECIPES, Run, RunConfig, train, train_stacked
from headway.training.environment import describe_environment
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


def seconds(work: Callable[[], Any], device: str, repeats: int) -> float:
    """Of one call, waiting for the device only at the ends."""

    def wait() -> None:
        if device.startswith("cuda"):
            torch.cuda.synchronize(device)

    wait()
    started = time.perf_counter()
    for _ in range(repeats):
        work()
    wait()
    return (time.perf_counter() - started) / repeats


def compare(config: RunConfig, replicas: list[int], rounds: int, repeats: int) -> list[dict]:
    """Steps of stacks of several sizes, and of the single loop, in turn."""
    steps = {r: one_step(config, r) for r in (0, *replicas)}
    times: dict[int, list[float]] = {r: [] for r in steps}
    for step in steps.values():
        seconds(step, config.device, 3)
    for _ in range(rounds):
        for r, step in steps.items():
            times[r].append(seconds(step, config.device, repeats))
    work, rows = step_operations(config), []
    for r, series in times.items():
        count, median = max(1, r), statistics.median(series)
        rate = count * config.training.batch_size / median
        rows.append(
            {
                "replicas": r or "single",
                "precision": config.training.precision,
                "milliseconds": 1000 * median,
                "examples_per_second": rate,
                "ratio": statistics.median(
                    count * alone / t for alone, t in zip(times[0], series, strict=True)
                ),
                "teraflops": count * work / median / 1e12,
                "hours_for_all": RUNS * config.training.steps * median / count / 3600,
            }
        )
        row = rows[-1]
        words = f"  {row['replicas']!s:>8} {row['precision']:>9} {row['milliseconds']:9.2f} ms"
        words += f" {row['examples_per_second']:12.0f} ex/s {row['ratio']:7.2f} ×"
        words += f" {row['teraflops']:8.4f} Tflop/s {row['hours_for_all']:9.2f} h"
        print(words, flush=True)
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

                series.append(seconds(work, config.device, 1))
        spent = statistics.median(series[1:])
        rate = len(configs) * steps * config.training.batch_size / spent
        rows.append({"replicas": r or "single", "seconds": spent, "examples_per_second": rate})
        ratio = rate / rows[0]["examples_per_second"]
        print(f"  {r or 'single'!s:>8} {spent:9.2f} s {rate:12.0f} ex/s {ratio:7.2f} ×", flush=True)
    return rows


def losses(config: RunConfig, steps: int, seeds: int) -> dict[str, Any]:
    """The validation losses of some seeds after so many steps."""
    config = shortened(config, steps)
    training = dataclasses.replace(config.training, eval_every=steps, checkpoint_every=0)
    configs = [dataclasses.replace(config, training=training, seed=s) for s in range(seeds)]
    with tempfile.TemporaryDirectory() as folder:
        runs = train_stacked(configs, [Path(folder) / str(c.seed) for c in configs])
        found = [(run.outcome() or {}).get("val_loss") for run in runs]
    kept = [loss for loss in found if loss is not None]
    mean = statistics.mean(kept) if kept else math.nan
    spread = statistics.stdev(kept) if len(kept) > 1 else 0.0
    precision = config.training.precision
    print(f"  {precision:>9}: {mean:.4f} ± {spread:.4f} over {len(kept)} seeds, {steps} steps")
    return {"precision": precision, "steps": steps, "losses": found, "mean": mean, "sd": spread}


def shortened(config: RunConfig, steps: int) -> RunConfig:
    """The first steps of a recipe: no cool-down, no end, no second attempt."""
    fields = {"cooldown_steps": 0, "cooldown_below": 0.0, "stop_below": 0.0, "patience": 0}
    training = dataclasses.replace(config.training, steps=steps, **fields)
    return dataclasses.replace(config, training=training)


def main() -> None:
    parser = argparse.ArgumentParser(description="Stacked replicas against single runs.")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--recipe", choices=RECIPES, default="fast")
    parser.add_argument("--replicas", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--precision", nargs="+", default=["float32"])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--whole", type=int, metavar="STEPS")
    parser.add_argument("--losses", type=int, metavar="STEPS")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--file", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    require_device(options.device)
    recipe = RECIPES[options.recipe]
    config = dataclasses.replace(recipe(), device=options.device)
    print(
        f"{options.recipe} on {options.device}: {step_operations(config) / 1e9:.2f} Gflop a step of"
        f" {config.training.batch_size}; hours are for {RUNS} runs of {config.training.steps} steps"
    )
    found: dict[str, Any] = {
        "environment": describe_environment(options.device, 1),
        "recipe": options.recipe,
        "operations": step_operations(config),
        "steps": [],
        "whole": [],
        "losses": [],
    }
    for precision in options.precision:
        training = dataclasses.replace(config.training, precision=precision)
        own = dataclasses.replace(config, training=training)
        found["steps"] += compare(own, options.replicas, options.rounds, options.repeats)
        if options.whole:
            print(f"  whole runs of {options.whole} steps, {precision}")
            found["whole"] += whole(own, options.replicas, options.whole)
        if options.losses:
            found["losses"].append(losses(own, options.losses, options.seeds))
    if options.file:
        options.file.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
