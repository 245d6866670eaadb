"""The circuits of trained models under every ablation: what stands in rows without a path.

    python benchmarks/ablations.py RUN [RUN …] [--sequences 128] [--out results/ablations.json]

Every model is searched once with each ablation. Printed is a line a search, and per ablation how
many circuits are faithful, with how many paths, and how like the circuit with zeros they are.
"""

import argparse
import json
import statistics
from collections import Counter
from pathlib import Path
from typing import Any

import torch

from headway.circuits import ABLATIONS, Discovery, discover, jaccard
from headway.training import Run


def row(name: str, found: Discovery, zero: Discovery) -> dict[str, Any]:
    """One search in a few numbers."""
    likeness = found.evidence.likeness
    mlps = found.evidence.mlps
    assert mlps is not None
    return {
        "run": name,
        "ablation": found.ablation,
        "faithful": found.faithful,
        "intact": found.intact_loss,
        "replaced": found.replaced_loss,
        "paths": len(found.circuit.paths),
        "heads": len(found.circuit.useful_heads),
        "jaccard": jaccard(found.circuit.paths, zero.circuit.paths),
        "agreement": likeness.circuit.agreement,
        "handover": likeness.least_layerwise,
        "mlps_needed": mlps.needed,
        "without_other_mlps": mlps.without_rest,
        "circuit": found.circuit.to_json(),
    }


def main() -> None:
    """Searches and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--sequences", type=int, default=128)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows: list[dict[str, Any]] = []
    for folder in args.runs:
        run = Run.open(folder)
        every = {
            rows_: discover(
                run.model(),
                run.task,
                ablation=rows_,
                trials=False,
                seed=run.config.seed,
                sequences=args.sequences,
                workers=1,
            )
            for rows_ in ABLATIONS
        }
        for found in every.values():
            rows.append(row(folder.name, found, every["zero"]))
            print(json.dumps({k: v for k, v in rows[-1].items() if k != "circuit"}), flush=True)
    for ablation in ABLATIONS:
        those = [one for one in rows if one["ablation"] == ablation]
        middle = {k: statistics.median(one[k] for one in those) for k in ("replaced", "handover")}
        shared = [one["jaccard"] for one in those]
        print(
            f"{ablation:9} faithful {sum(one['faithful'] for one in those)} of {len(those)}"
            f"  loss {middle['replaced']:.4f}  handover {middle['handover']:.3f}"
            f"  paths {statistics.mean(one['paths'] for one in those):.1f}"
            f"  same paths {sum(x == 1 for x in shared)}  Jaccard {statistics.mean(shared):.2f}"
            f"  MLPs needed {dict(Counter(one['mlps_needed'] for one in those))}"
        )
    if args.out:
        args.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
