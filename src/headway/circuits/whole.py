"""Completeness of a run's folder: every file is read and compared with the others."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from headway.circuits.certificate import Certificate
from headway.circuits.dependence import Dependence
from headway.circuits.discovery import Discovery
from headway.circuits.emergence import Timeline
from headway.circuits.exhaustive import MinimalCircuits
from headway.errors import HeadwayError
from headway.training.config import Elsewhere
from headway.training.loop import Trainer
from headway.training.run import Run
from headway.training.state import State


def faults_of(folder: Path) -> list[str]:
    """The faults of a run's folder, a line each; empty if nothing is. Changes nothing."""
    faults: list[str] = []

    def tried(look: Callable[[], Any]) -> Any:
        try:
            return look()
        except HeadwayError as error:
            faults.append(str(error))
            return None

    run = tried(lambda: Run.open(folder))
    if run is None:
        return faults
    metrics = tried(run.metrics)
    tried(run.sessions)
    found = tried(lambda: run.load(Discovery))
    tried(lambda: run.load(MinimalCircuits))
    for kind in (Timeline, Dependence, Certificate):
        other = tried(lambda kind=kind: run.load(kind))
        if found and other and not other.is_of(found):
            faults.append(f"{folder}: {kind.FILE} is about another circuit than circuit.json")
    for step in run.checkpoint_steps():
        tried(lambda step=step: run.model(step))
    if metrics is not None and not isinstance(run.config.training, Elsewhere):
        tried(lambda: Trainer.restored(run))
        done, last = tried(lambda: run.status) == "done", metrics[-1]["step"] if metrics else 0
        states = (State(step, last if done else -1) for step in range(last + done))
        due = {state.step for state in states if state.is_checkpoint(run.config.training)}
        if missing := sorted(due - {*run.checkpoint_steps()}):
            faults.append(f"{run.folder}: the checkpoints of steps {missing} are missing")
    for path in sorted(run.folder.rglob(".*.draft-*")):
        faults.append(f"{path} was left by a writer that was stopped; the next to write removes it")
    return list(dict.fromkeys(faults))
