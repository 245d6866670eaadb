"""The command line in a process of its own, and a run of a second."""

import subprocess
import sys
from pathlib import Path

TINY = [
    *("depth=1", "task.n_chains=2", "model.n_layers=2", "model.d_model=16"),
    *("training.steps=6", "training.eval_examples=16", "training.eval_every=2"),
    *("training.checkpoint_every=2", "training.cooldown_steps=0", "training.cooldown_below=0"),
]


def headway(*args: str, cwd: Path, **more) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "headway", *args]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, **more)
