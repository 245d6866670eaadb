"""The short runs that are damaged."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from headway.models import TransformerConfig
from headway.tasks import Retrieval
from headway.training import Run, RunConfig, TrainingConfig, environment, train

CONFIG = RunConfig(
    task=Retrieval(depth=1, n_chains=2),
    model=TransformerConfig(n_layers=1, d_model=8),
    training=TrainingConfig(
        steps=12, batch_size=4, train_examples=None, eval_every=2, eval_examples=4,
        checkpoint_every=3, save_every=4,
    ),
)  # fmt: skip


def evaluations(run: Run) -> list[float]:
    """The losses of a run that is done."""
    assert run.status == "done", run.status
    return [line["val_loss"] for line in run.metrics()]


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
