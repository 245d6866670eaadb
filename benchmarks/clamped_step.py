"""What clamping costs: a training step with a path clamped against a free one, side by side.

    python benchmarks/clamped_step.py --depths 2 3 --rounds 20 --repeats 20

The two take turns, round by round, so that whatever else the machine does strikes both alike, and
which of them is first changes from round to round. It is processor time that is counted. Quoted are
medians, and the median, the lower and the upper quartile of the ratios round by round.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from counting import steps_of
from headway.training import fast
from headway.training.environment import describe_environment

CLAMPED = "L0.H0 s2←s1"


def seconds(step: Callable[[], None], repeats: int) -> float:
    """The processor time of a step, on average over so many."""
    begun = time.process_time()
    for _ in range(repeats):
        step()
    return (time.process_time() - begun) / repeats


def compared(depth: int, rounds: int, repeats: int) -> dict[str, Any]:
    """Seconds of a step of `fast`, free and clamped, and their ratios."""
    config = fast(depth)
    training = replace(config.training, clamped=(CLAMPED,))
    steps = {"free": steps_of(config), "clamped": steps_of(replace(config, training=training))}
    for step in steps.values():
        seconds(step, 3)
    took: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds):
        for name in sorted(steps, reverse=number % 2 == 0):
            took[name].append(seconds(steps[name], repeats))
    ratios = [b / a for a, b in zip(took["free"], took["clamped"], strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    told = {name: statistics.median(times) for name, times in took.items()}
    each = ", ".join(f"{name} {1e3 * one:.1f} ms" for name, one in told.items())
    print(f"D={depth}: a step {each}")
    print(f"  ratio {middle:.3f} (quartiles {low:.3f} to {high:.3f}, {rounds} rounds)")
    return {"depth": depth, **told, "ratio": middle, "quartiles": [low, high], "rounds": rounds}


def main() -> None:
    parser = argparse.ArgumentParser(description="A clamped training step against a free one.")
    parser.add_argument("--depths", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    found = [compared(depth, options.rounds, options.repeats) for depth in options.depths]
    if options.out is not None:
        about = describe_environment("cpu", options.threads)
        options.out.write_text(json.dumps({"environment": about, "steps": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
