"""A step on the plateau, with subnormal gradients and with zeros in their place, side by side.

    python benchmarks/subnormal.py RUN --out results/subnormal.json

RUN is the folder of a run that was stopped, such as one of `headway train paper depth=2
model.n_layers=4 training.curriculum=final_hop` after some thousand steps: so little flows back
through its layers by then that gradients are below 1e-38, which processors multiply many times
slower. From the saved state the same steps are made both ways in turn; quoted are the medians and
that of the ratios round by round, and whether losses agree to the last bit. Nothing is written to
the run.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import torch

from headway.training import Run
from headway.training.environment import describe_environment
from headway.training.loop import Trainer


def steps(run: Run, count: int, flush: bool) -> tuple[float, list[float]]:
    """Seconds a step, and the losses."""
    trainer, losses = Trainer.restored(run), []
    torch.set_flush_denormal(flush)
    start = time.perf_counter()
    for _ in range(count):
        asked = trainer.batches.asked(trainer.state.step + 1, trainer.state.stage)
        losses.append(trainer.step(*asked).item())
    seconds = (time.perf_counter() - start) / count
    torch.set_flush_denormal(False)
    return seconds, losses


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    run = Run.open(options.run)
    before = Trainer.restored(run).state.step
    rounds = [
        [steps(run, options.steps, flush) for flush in (False, True)] for _ in range(options.rounds)
    ]
    found = {
        "environment": describe_environment("cpu", 1),
        "config": run.read("config.json"),
        "step": before,
        "seconds_subnormal": statistics.median(kept[0] for kept, _ in rounds),
        "seconds_zero": statistics.median(zero[0] for _, zero in rounds),
        "times_faster": statistics.median(kept[0] / zero[0] for kept, zero in rounds),
        "rounds": [[kept[0], zero[0]] for kept, zero in rounds],
        "same_losses": all(kept[1] == zero[1] for kept, zero in rounds),
    }
    print(json.dumps({key: found[key] for key in ("step", "times_faster", "same_losses")}))
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
