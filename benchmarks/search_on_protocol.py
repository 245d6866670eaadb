"""The search over the tap alone against the one that shares streams: the same circuit, how soon?

    python benchmarks/search_on_protocol.py RUN [RUN …] [--sequences 128]

Every run is taken apart twice in turn: as a `Transformer`, and as a model of which nothing is known
but its tap. Printed is a line a run and the median ratio of the times.
"""

import argparse
import statistics
import time
from pathlib import Path

import torch

from headway.circuits import Discovery, discover
from headway.models import Tap, Transformer
from headway.training import Run


class Foreign:
    """A model of which nothing is known but its tap."""

    def __init__(self, model: Transformer):
        self.model, self.n_layers, self.n_heads = model, model.n_layers, model.n_heads

    def __call__(self, inputs: torch.Tensor, tap: Tap | None = None) -> torch.Tensor:
        """The model's outputs."""
        return self.model(inputs, tap)


def timed(model: Transformer | Foreign, run: Run, sequences: int) -> tuple[Discovery, float]:
    """The circuit, and the processor time that it took in seconds."""
    started = time.process_time()
    found = discover(model, run.task, seed=run.config.seed, sequences=sequences, workers=1)
    return found, time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--sequences", type=int, default=128)
    options = parser.parse_args()
    torch.set_num_threads(1)
    ratios, same = [], 0
    for folder in options.runs:
        run = Run.open(folder)
        own, quick = timed(run.transformer(), run, options.sequences)
        other, slow = timed(Foreign(run.transformer()), run, options.sequences)
        same += own.circuit == other.circuit
        ratios.append(slow / quick)
        told = "the same" if own.circuit == other.circuit else "DIFFERENT"
        print(f"{folder}: {told}, {len(own.circuit.paths)} paths; {quick:.1f} s and {slow:.1f} s")
    median = statistics.median(ratios)
    print(
        f"the same circuit in {same} of {len(ratios)}; by the tap alone in {median:.1f} x the time"
    )


if __name__ == "__main__":
    main()
