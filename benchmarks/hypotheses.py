"""Circuits under the hypothesis tests of Shi et al. (2024): how many pass each.

    python benchmarks/hypotheses.py [RUN …] [--compiled 0] [--planted 0] [--sequences 128]
        [--random-circuits 100] [--out results/hypotheses.json]

Of every run, the circuit in its folder (`headway circuit RUN`); nothing is written there. Of
transformers whose circuit is known, the circuit that the search finds: compiled ones up to a depth,
and so many planted ones. Printed is a line a circuit, and per group how many pass.
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from headway.circuits import discover
from headway.circuits.given import read_given
from headway.training import Run
from headway_experiments.arena import Known, compiled, planted
from headway_experiments.hypotheses import Hypotheses, hypotheses
from headway_experiments.hypotheses.tested import FLEXIBLE, IDEAL

PLANTED = 4000
"""The seed of the first planted model."""


def row(group: str, name: str, found: Hypotheses, seconds: float) -> dict[str, Any]:
    """One circuit in a few numbers."""
    weak = [cut for cut in found.minimality.paths if cut.p_value <= found.level]
    return {
        "group": group,
        "run": name,
        "paths": len(found.circuit.paths),
        "loss": found.equivalence.loss,
        "model_loss": found.equivalence.model_loss,
        "seed": found.seed,
        "sequences": found.sequences,
        "random": len(found.sufficiency.random),
        "passed": found.passed,
        "p_values": found.p_values,
        "forced_minimality_p_value": found.minimality.forced_p_value,
        "better_than_model": found.equivalence.better,
        "ties": found.equivalence.ties,
        "ablated_p_value": found.independence.ablated_p_value,
        "not_minimal": {
            str(cut.path): [cut.effect, cut.above, cut.free, cut.above_free] for cut in weak
        },
        "nearer_than": found.sufficiency.better,
        "missed_more_than": found.necessity.better,
        "processor_seconds": seconds,
    }


def known_ones(depth: int, count: int) -> Iterator[tuple[str, str, Known]]:
    """Transformers whose circuit is known, each with its group and its name."""
    for one in range(1, depth + 1):
        yield "compiled", f"compiled D={one}", compiled(one)
    for seed in range(PLANTED, PLANTED + count):
        yield "planted", f"planted {seed}", planted(seed)


def main() -> None:
    """Tests and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--compiled", type=int, default=0)
    parser.add_argument("--planted", type=int, default=0)
    parser.add_argument("--sequences", type=int, default=128)
    parser.add_argument("--random-circuits", type=int, default=100)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    sizes = {"sequences": args.sequences, "random_circuits": args.random_circuits}
    rows = list[dict[str, Any]]()

    def test(group: str, name: str, *given: Any, **how: Any) -> None:
        started = time.process_time()
        found = hypotheses(*given, **sizes, **how)
        seconds = round(time.process_time() - started, 2)
        rows.append(row(group, name, found, seconds))
        print(json.dumps(rows[-1]), flush=True)
        if args.out:
            args.out.write_text(json.dumps(rows, indent=1) + "\n")

    for folder in args.runs:
        run = Run.open(folder)
        circuit, rows_without = read_given(folder / "circuit.json")
        layers = len({layer for layer, _ in circuit.mechanisms})
        group = f"{run.task.kind} {run.task.label}, {layers} layers"
        how = {"ablation": rows_without, "seed": run.config.seed}
        test(group, folder.name, run.model(), run.task, circuit, **how)
    for group, name, known in known_ones(args.compiled, args.planted):
        found = discover(known.model, known.task, trials=False, workers=1)
        test(group, name, known.model, known.task, found.circuit)
    for group in dict.fromkeys(one["group"] for one in rows):
        those = [one for one in rows if one["group"] == group]
        counts = {name: sum(one["passed"][name] for one in those) for name in (*IDEAL, *FLEXIBLE)}
        ties = sum(one["ablated_p_value"] > 0.05 for one in those)
        forced = sum(one["forced_minimality_p_value"] > 0.05 for one in those)
        said = "  ".join(f"{name} {count}" for name, count in counts.items())
        print(f"{group}: of {len(those)} pass: {said}; minimality with every head replaced alone")
        print(f"    {forced}; model and ablated model independent {ties}")


if __name__ == "__main__":
    main()
