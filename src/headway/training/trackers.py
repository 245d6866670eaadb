"""Trackers of experiments, all behind the same three calls: begin a run, log values, end it.

Their packages are imported when a run is begun.
"""

import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from headway.errors import HeadwayError, require

PROJECT = "headway"
"""What the runs are filed under, unless the tracker's own environment variable names another."""


class Tracker(Protocol):
    """One run of a tracker.

    Attributes:
        id: by which the tracker finds it again.
    """

    id: str

    def log(self, values: dict[str, float], step: int) -> None:
        """Takes the values of one evaluation."""

    def end(self, status: str) -> None:
        """Closes it; `status` is the run's own (`done`, `failed`, …)."""


class Trackio:
    """A run of Trackio, which knows its runs by their names."""

    def __init__(self, name: str, config: dict[str, Any], id: str | None):
        module = import_module("trackio")
        known = {"name": name, "resume": "never"} if id is None else {"name": id, "resume": "must"}
        self._run = module.init(project=PROJECT, config=config, **known)
        self.id = str(self._run.name)

    def log(self, values: dict[str, float], step: int) -> None:
        """Takes the values of one evaluation."""
        self._run.log(values, step=step)

    def end(self, status: str) -> None:
        """Waits until all is written."""
        self._run.finish()


class Wandb:
    """A run of Weights & Biases."""

    def __init__(self, name: str, config: dict[str, Any], id: str | None):
        module = import_module("wandb")
        project = os.environ.get("WANDB_PROJECT", PROJECT)
        known = {} if id is None else {"id": id, "resume": "allow"}
        self._run = module.init(
            project=project, name=name, config=config, reinit="create_new", **known
        )
        self.id = str(self._run.id)

    def log(self, values: dict[str, float], step: int) -> None:
        """Takes the values of one evaluation."""
        self._run.log(values, step=step)

    def end(self, status: str) -> None:
        """Waits until all is sent."""
        self._run.finish(exit_code=0 if status == "done" else 1)


MLFLOW_STATUS = {"done": "FINISHED", "failed": "FAILED"}


class Mlflow:
    """A run of MLflow."""

    def __init__(self, name: str, config: dict[str, Any], id: str | None):
        self._entities = import_module("mlflow.entities")
        self._client = import_module("mlflow").MlflowClient()
        if id is not None:
            self.id = id
            self._client.update_run(id, status="RUNNING")
            return
        project = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
        found = self._client.get_experiment_by_name(project)
        place = self._client.create_experiment(project) if found is None else found.experiment_id
        self.id = str(self._client.create_run(place, run_name=name).info.run_id)
        params = [self._entities.Param(key, str(value)) for key, value in config.items()]
        self._client.log_batch(self.id, params=params)

    def log(self, values: dict[str, float], step: int) -> None:
        """Takes the values of one evaluation."""
        now = int(1000 * time.time())
        of = self._entities.Metric
        self._client.log_batch(self.id, [of(key, x, now, step) for key, x in values.items()])

    def end(self, status: str) -> None:
        """Says how the run ended."""
        self._client.set_terminated(self.id, MLFLOW_STATUS.get(status, "KILLED"))


TRACKERS: dict[str, Callable[[str, dict[str, Any], str | None], Tracker]] = {
    "trackio": Trackio,
    "mlflow": Mlflow,
    "wandb": Wandb,
}
PACKAGES = {"trackio": "trackio", "mlflow": "mlflow-skinny", "wandb": "wandb"}
"""What to install for each."""


def require_tracker(name: str) -> None:
    """Makes sure that a tracker can be used. Imports nothing.

    Raises:
        HeadwayError: if there is none of this name, or its package is not installed.
    """
    require(name in TRACKERS, "track", name, f"one of {', '.join(TRACKERS)}")
    if name not in sys.modules and find_spec(name) is None:
        raise HeadwayError(f"track = {name} needs its package: pip install {PACKAGES[name]}")
