"""Models that others trained, read with no relation told: agreement, names, seconds.

python benchmarks/strangers.py FOLDER [--seed 5]; FOLDER holds strangers.py, which has MODELS: by
name a function that builds a model, and its task.
"""

import argparse
import importlib.util
import sys
import time
from pathlib import Path
from typing import Any

import torch

from headway import discover
from headway.circuits import Paths


def loaded(folder: Path) -> dict[str, Any]:
    """The models of a folder, by name."""
    spec = importlib.util.spec_from_file_location("strangers", folder / "strangers.py")
    assert spec is not None
    assert spec.loader is not None
    sys.modules["strangers"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.MODELS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--only", nargs="*")
    given = parser.parse_args()
    torch.set_num_threads(1)
    print("| model | answers | sequences | layer-wise | loss: model, circuit | heads | s |")
    print("|---|---|---|---|---|---|---|")
    for name, (build, task) in loaded(given.folder).items():
        if given.only and name not in given.only:
            continue
        start = time.process_time()
        found = discover(build(), task, seed=given.seed, trials=False, workers=1)
        seconds, likeness = time.process_time() - start, found.evidence.likeness
        heads = [
            f"L{at}.H{head}: {one if isinstance(one, Paths) else 'idle'}"
            for (at, head), one in sorted(found.circuit.mechanisms.items(), key=lambda x: x[0])
        ]
        print(
            f"| {name} | {likeness.circuit.agreement:.3f}"
            f" | {likeness.circuit.sequence_agreement:.3f} | {likeness.least_layerwise:.3f}"
            f" | {found.intact_loss:.3f}, {found.replaced_loss:.3f} | {'; '.join(heads)}"
            f" | {seconds:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
