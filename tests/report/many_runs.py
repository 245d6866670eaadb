"""A sweep in a folder, as training would leave it."""

import json
import statistics
from pathlib import Path

from headway.fields import to_json
from headway.models import TransformerConfig
from headway.tasks import Retrieval
from headway.training import Run, RunConfig

LOSSES = {
    (1, 1): (0.9, 0.8),
    (1, 2): (0.01, 0.02),
    (2, 1): (0.7, 0.6),
    (2, 2): (0.5, 0.04),
}
"""Of two seeds each, by depth and layers."""


def made(
    folder: Path, config: RunConfig, losses: list[dict[str, float]], **outcome
) -> Run:
    """A run that was evaluated every 10 steps with these partial losses, and ended
    so.
    """
    run = Run.create(folder, config)
    lines = []
    for number, partial in enumerate(losses, start=1):
        loss = statistics.mean(partial.values())
        line = {
            "step": 10 * number,
            "train_loss": loss,
            "val_loss": loss,
            "partial": partial,
        }
        lines.append(json.dumps({**line, "seconds": 1.5 * number}) + "\n")
    (folder / "metrics.jsonl").write_text("".join(lines))
    if outcome:
        end = json.loads(lines[-1]) if lines else {"step": 0, "seconds": 0.0}
        run.write(
            "outcome.json", {"step": end["step"], "seconds": end["seconds"], **outcome}
        )
    return run


def config_of(depth: int, layers: int, seed: int) -> RunConfig:
    model = TransformerConfig(n_layers=layers, d_model=16)
    return RunConfig(Retrieval(depth=depth, n_chains=2), model, seed=seed)


def a_sweep(folder: Path) -> Path:
    """Depths 1 and 2 with one and two layers, two seeds each, all done; hops learnt at
    step 15.
    """
    plan = {}
    for (depth, layers), losses in LOSSES.items():
        for seed, loss in enumerate(losses):
            name = f"depth={depth},n_layers={layers},seed={seed}"
            config = config_of(depth, layers, seed)
            hops = [f"x_{i}" for i in range(1, depth + 1)]
            partial = [dict.fromkeys(hops, 0.75), dict.fromkeys(hops, 0.25)]
            partial += [dict.fromkeys(hops, loss)]
            made(folder / name, config, partial, status="done", val_loss=loss)
            plan[name] = to_json(config)
    (folder / "plan.json").write_text(
        json.dumps({"format": 1, "name": "both", "runs": plan})
    )
    return folder
