"""Search and certificate of a run's circuit against a slow reference, in turn on this machine.

    python benchmarks/circuit_search.py RUN [RUN …] [--rounds 3] [--file results/NAME.json]

The reference is the obvious way (tests/circuits/reference.py): the same search without a draft, the
same trials and the same certificate, every candidate on its own in a whole forward pass over all
sequences, with as many threads as there are cores. Told are seconds by the clock and of processor
time; ratios of processor time do not depend on what else the machine does.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest.mock import patch

import torch

from headway.circuits import Bench, Circuit, Discovery, discover, evidence, workers
from headway.circuits import study as studies
from headway.circuits.candidates import searched
from headway.circuits.search import search
from headway.training import Run

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "circuits"))
from reference import SlowBench


class SlowSample(studies.Sample):
    """A sample that is searched without a draft, one candidate at a time."""

    def __init__(self, bench: Bench, count: int, settings: studies.Settings):
        super().__init__(bench, count, settings)
        batch = bench.batch.part(slice(count))
        self.bench = self.all = self.few = SlowBench(Bench(bench.model, bench.task, batch))

    def search(self, threshold: float) -> Circuit:
        tried: list[tuple[float, int, Circuit]] = []
        paths, stays = (searched(self.bench.patterns, use) for use in ("path", "stay"))
        for relations in (paths, [*paths, *stays]):
            how = (self.attention, relations, threshold, self.settings.candidate_attention)
            circuit = search(self.all, *how)
            tried.append((self.all.loss(circuit), len(tried), circuit))
            if tried[-1][0] < threshold:
                break
        return min(tried)[2]


def timed(discovered: Callable[[], Discovery]) -> tuple[Discovery, float]:
    """What was discovered, and the seconds of processor time that it took, of all threads."""
    started = time.process_time()
    return discovered(), time.process_time() - started


def reference(run: Run, sequences: int, threads: int) -> Discovery:
    """Discovers with everything slow."""
    slowly = {"Sample": SlowSample, "Bench": lambda *about, **_: SlowBench(Bench(*about))}
    patched = patch.object(evidence, "Bench", slowly["Bench"])
    cores = patch.object(workers, "_one_core", lambda: torch.set_num_threads(threads))
    with patch.multiple(studies, **slowly), patched, cores:
        seed, model = run.config.seed, run.transformer()
        return discover(model, run.task, seed=seed, sequences=sequences, workers=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--sequences", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of the reference")
    parser.add_argument("--file", type=Path)
    parser.add_argument("--no-reference", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for folder in args.runs:
        run = Run.open(folder)
        seed, size = run.config.seed, args.sequences
        model = run.transformer()
        find = partial(discover, model, run.task, seed=seed, sequences=size)
        quick = [timed(find) for _ in range(args.rounds)]
        found, _ = quick[0]
        evidence_alone, spent = timed(partial(find, circuit=found.circuit))
        row = {
            "run": folder.name,
            "layers": run.config.transformer.n_layers,
            "d_model": run.config.transformer.d_model,
            "sequences": size,
            "seconds": sorted(one.seconds for one, _ in quick),
            "processor_seconds": sorted(spent for _, spent in quick),
            "candidates": found.candidates,
            "forward_passes": round(found.forwards, 1),
            "evidence_processor_seconds": spent,
            "evidence_forward_passes": round(evidence_alone.forwards, 1),
            "useful_heads": len(found.circuit.useful_heads),
            "paths": len(found.circuit.paths),
            "intact": found.intact_loss,
            "replaced": found.replaced_loss,
            "interval": found.evidence.interval,
            "faithful": found.faithful,
            "necessary": found.necessary,
            "minimal": found.minimal,
            "feasible": found.feasible,
            "jaccard": [trial.jaccard for trial in found.evidence.trials],
            "circuit": found.circuit.to_json(),
        }
        print(json.dumps({k: v for k, v in row.items() if k != "circuit"}), flush=True)
        if not args.no_reference:
            other, spent = timed(partial(reference, run, size, args.threads))
            row |= {
                "reference_seconds": other.seconds,
                "reference_processor_seconds": spent,
                "reference_forward_passes": other.forwards,
                "ratio": other.seconds / statistics.median(row["seconds"]),
                "processor_ratio": spent / statistics.median(row["processor_seconds"]),
                "reference_paths_jaccard": studies.jaccard(
                    other.circuit.paths, found.circuit.paths
                ),
            }
            print(f"reference {other.seconds:.0f} s, ratio {row['ratio']:.1f}", end="; ")
            print(f"processor {spent:.0f} s, ratio {row['processor_ratio']:.1f}", flush=True)
        rows.append(row)
    if args.file:
        args.file.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
