"""Search and evidence of runs' circuits, by every ablation or over the tap alone: what,
how soon?

    python benchmarks/circuit_search.py RUN [RUN …] [--by own tap] [--rounds 3] [--out
    FILE]

A run is searched by each of `--by`: `own`, as `headway circuit` does it; `tap`, as a
model of which nothing is known but its tap; or with an ablation, without trials of
other sequences. Printed is a line a search, and for each of `--by` how many circuits
are faithful, how like those of the first they are, and in how many times the processor
time.
"""

import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from frame import in_turn, options, ratio, write
from headway.find import discover
from headway.judge import Discovery
from headway.models import Tap, Transformer
from headway.replace import ABLATIONS, jaccard
from headway.training import Run


class Foreign:
    """A model of which nothing is known but its tap."""

    def __init__(self, model: Transformer):
        self.model, self.n_layers, self.n_heads = model, model.n_layers, model.n_heads

    def __call__(self, inputs: torch.Tensor, tap: Tap | None = None) -> torch.Tensor:
        """The model's outputs."""
        return self.model(inputs, tap)


def search(run: Run, by: str, sequences: int) -> Callable[[], Discovery]:
    """One search of a run's circuit."""
    how: dict[str, Any] = {"ablation": by, "trials": False} if by in ABLATIONS else {}
    model = Foreign(run.transformer()) if by == "tap" else run.transformer()
    how |= {"seed": run.config.seed, "sequences": sequences, "workers": 1}
    return partial(discover, model, run.task, **how)


def main() -> None:
    given = options(__doc__, runs=[Path], by=("own",), sequences=128, rounds=3)
    rows: list[dict[str, Any]] = []
    for run in map(Run.open, given.runs):
        searches = {by: search(run, by, given.sequences) for by in given.by}
        found = {by: one() for by, one in searches.items()}
        took = in_turn(searches, given.rounds, warm=0)
        for by, one in found.items():
            row = {
                "run": run.folder.name,
                "by": by,
                "faithful": one.faithful,
                "loss": one.replaced_loss,
                "paths": len(one.circuit.paths),
                "jaccard": jaccard(one.circuit.paths, found[given.by[0]].circuit.paths),
                "forward_passes": one.forwards,
                "seconds": statistics.median(took[by]),
                "times": ratio(took[by], took[given.by[0]]),
            }
            print(
                " ".join(f"{name}={value}" for name, value in row.items()), flush=True
            )
            rows.append(row | {"circuit": one.circuit.to_json()})
    for by in given.by:
        those = [row for row in rows if row["by"] == by]
        middle = {
            key: statistics.median(row[key] for row in those)
            for key in ("loss", "times")
        }
        print(
            f"{by:9} faithful {sum(row['faithful'] for row in those)} of {len(those)}"
            f"  loss {middle['loss']:.4f}  {middle['times']:.2f} times the "
            "processor time"
            f"  the same paths in {sum(row['jaccard'] == 1 for row in those)}"
            f"  Jaccard {statistics.mean(row['jaccard'] for row in those):.2f}"
        )
    write(given, rows)


if __name__ == "__main__":
    main()
