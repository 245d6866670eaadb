"""The short runs that are damaged."""

import contextlib
from collections.abc import Iterator
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from headway.models import TransformerConfig
from headway.tasks import Retrieval
from headway.training import Run, RunConfig, TrainingConfig, environment, train
from headway.training.files import checksum

CONFIG = RunConfig(
    task=Retrieval(depth=1, n_chains=2),
    model=TransformerConfig(n_layers=1, d_model=8),
    training=TrainingConfig(
        steps=12, batch_size=4, train_examples=None, eval_every=2, eval_examples=4,
        checkpoint_every=3, save_every=4,
    ),
)  # fmt: skip


TIMES = {"seconds", "examples_per_second"}
"""Fields that differ from run to run."""


def kept(run: Run) -> dict[str, Any]:
    """All that the folder of a run that is done holds of it, by file; without times."""
    assert run.status == "done", run.status
    outcome, state = run.outcome(), run.load_state()
    assert outcome is not None
    assert state is not None
    tensors, about = state
    digests = {name: checksum({name: tensor}, "") for name, tensor in tensors.items()}
    paths = sorted((run.folder / "checkpoints").iterdir())
    return {
        "config.json": run.read("config.json"),
        "metrics.jsonl": [_without_times(line) for line in run.metrics()],
        "outcome.json": _without_times(outcome),
        "state.safetensors": (digests, _without_times(about)),
        **{path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths},
    }


def require_same(found: dict[str, Any], end: dict[str, Any]) -> None:
    """Makes sure that what was left is that of the end; an error names what differs."""
    other = sorted(name for name in {*found, *end} if found.get(name) != end.get(name))
    assert not other, f"other than without a fault: {', '.join(other)}"


def _without_times(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in TIMES}


@contextlib.contextmanager
def without_git() -> Iterator[None]:
    """Within it, runs do not ask git for the state of the code, which takes most of their time."""
    with patch.object(environment, "git_state", lambda folder: None):
        yield


def taken_apart(folder: Path) -> Run:
    """A run with a circuit and its dates."""
    from headway.circuits import certify, discover, emergence

    config = replace(CONFIG, training=replace(CONFIG.training, steps=4))
    run = train(config, folder / "runs" / "run")
    emergence(run, discover(run, threshold=10.0, sequences=8, trials=False), sequences=8)
    certify(run, agreement=0.5)
    return run
