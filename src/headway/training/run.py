"""A run is a folder that anyone can read without us.

config.json         what decides the run          environment.json   where it was computed
metrics.jsonl       one line an evaluation        outcome.json       how it ended
checkpoints/step_0000400.safetensors              the weights, as training went on
state.safetensors   weights and optimisers, from which a killed run resumes
circuit.json  emergence.json  figures/  report.html          what was found out afterwards
"""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from torch import Tensor

from headway.errors import HeadwayError, require
from headway.models import Transformer
from headway.tasks import Task, make_task
from headway.training.config import RunConfig, from_dict, to_dict
from headway.training.environment import describe_environment
from headway.training.files import (
    clear_io_errors,
    read_json,
    read_tensors,
    write_json,
    write_tensors,
    write_whole,
)

FORMAT = 1


@dataclass(frozen=True)
class Run:
    """A run's folder and its config; everything else is read from the folder when asked for."""

    folder: Path
    config: RunConfig

    @classmethod
    def create(cls, folder: Path, config: RunConfig) -> "Run":
        """Makes the folder of a new run, whole or not at all.

        Raises:
            HeadwayError: if the folder exists already or the disk does not take it.
        """
        if folder.exists():
            raise HeadwayError(
                f"{folder} exists already: choose another folder,"
                f" or continue it with: headway train --resume {folder}"
            )
        draft = folder.with_name(f".{folder.name}.draft-{os.getpid()}")
        with clear_io_errors(folder, "make"):
            try:
                (draft / "checkpoints").mkdir(parents=True)
                write_json(draft / "config.json", {"format": FORMAT, **to_dict(config)})
                write_json(draft / "environment.json", [describe_environment(config.device)])
                draft.rename(folder)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
        return cls(folder, config)

    @classmethod
    def open(cls, folder: str | Path) -> "Run":
        """Opens the folder of a run.

        Raises:
            HeadwayError: if there is no run in it, or one of a newer format.
        """
        folder = Path(folder)
        if not folder.is_dir():
            raise HeadwayError(f"{folder}: there is no run folder here")
        if not (folder / "config.json").is_file():
            raise HeadwayError(f"{folder}: not a run folder, or a half-written one: no config.json")
        data = read_json(folder / "config.json")
        require(isinstance(data, dict), f"{folder}/config.json", data, "an object of fields")
        version = data.pop("format", None)
        require(isinstance(version, int), f"{folder}/config.json: format", version, "a number")
        if version > FORMAT:
            raise HeadwayError(
                f"{folder}: format = {version} is newer than this headway reads"
                f" (up to {FORMAT}); please upgrade headway"
            )
        return cls(folder, from_dict(data))

    @cached_property
    def task(self) -> Task:
        """The run's task, on its device."""
        return make_task(self.config.task, self.config.device)

    def new_model(self) -> Transformer:
        """The run's model as it is before training."""
        task = self.task
        return Transformer(
            self.config.model,
            d_input=task.d_input,
            d_target=task.d_target,
            n_positions=task.length,
            n_read=task.n_chains,
            seed=self.config.seed,
        ).to(self.config.device)

    def model(self, step: int | None = None) -> Transformer:
        """The model at a checkpoint, the last one if none is named; for evaluation only.

        Raises:
            HeadwayError: if there is no such checkpoint or it cannot be read.
        """
        steps = self.checkpoint_steps()
        if not steps:
            raise HeadwayError(f"{self.folder}: the run has no checkpoints yet")
        path = self._checkpoint_path(steps[-1] if step is None else step)
        tensors, _ = read_tensors(path)
        model = self.new_model()
        try:
            model.load_state_dict(tensors)
        except RuntimeError:
            raise HeadwayError(f"{path} does not fit the model in config.json") from None
        return model.eval().requires_grad_(False)

    def checkpoint_steps(self) -> list[int]:
        """The steps at which the weights were kept, in order."""
        paths = (self.folder / "checkpoints").glob("step_*.safetensors")
        return sorted(int(path.stem.removeprefix("step_")) for path in paths)

    def save_checkpoint(self, step: int, model: Transformer) -> None:
        """Keeps the weights as they are after a step (0: before training)."""
        write_tensors(self._checkpoint_path(step), model.state_dict(), {"step": step})

    def metrics(self) -> list[dict[str, Any]]:
        """The evaluations so far, in order; a line that was cut off in writing is left out."""
        path = self.folder / "metrics.jsonl"
        if not path.exists():
            return []
        with clear_io_errors(path, "read"):
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        try:
            return [json.loads(line) for line in lines if line.endswith("\n")]
        except json.JSONDecodeError as error:
            raise HeadwayError(f"{path} is corrupted: {error}") from None

    def append_metrics(self, metrics: dict[str, Any]) -> None:
        """Adds the line of one evaluation."""
        path = self.folder / "metrics.jsonl"
        with clear_io_errors(path, "write"), open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(metrics) + "\n")

    def rewind(self, step: int, environment: dict[str, Any]) -> None:
        """Forgets what was written after a step, and notes where the run goes on from it."""
        kept = [json.dumps(line) + "\n" for line in self.metrics() if line["step"] <= step]
        write_whole(self.folder / "metrics.jsonl", "".join(kept).encode())
        for later in [s for s in self.checkpoint_steps() if s > step]:
            self._checkpoint_path(later).unlink()
        (self.folder / "outcome.json").unlink(missing_ok=True)
        if step > 0:
            sessions = self.read("environment.json") or []
            self.write("environment.json", [*sessions, {**environment, "from_step": step}])

    def read(self, name: str) -> Any | None:
        """One of the folder's JSON files (`circuit.json`, …), or none if it is not there."""
        path = self.folder / name
        return read_json(path) if path.exists() else None

    def write(self, name: str, data: Any) -> None:
        """Writes one of the folder's JSON files, whole or not at all."""
        write_json(self.folder / name, data)

    def load_state(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """The tensors and counters from which to resume, or none before the first save."""
        path = self.folder / "state.safetensors"
        return read_tensors(path) if path.exists() else None

    def save_state(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        """Replaces the state from which to resume."""
        write_tensors(self.folder / "state.safetensors", tensors, about)

    @property
    def status(self) -> str:
        """`done` or `failed` once it ended; else `running`, or `stopped` if nobody writes to it."""
        outcome = self.read("outcome.json")
        if outcome is not None:
            return outcome["status"]
        try:
            with FileLock(self._lock_path, timeout=0):
                return "stopped"
        except Timeout:
            return "running"
        except OSError:  # nobody can write here
            return "stopped"

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Holds the run for one writer; the lock dies with the process.

        Raises:
            HeadwayError: if another process is writing to the run, or writing is not permitted.
        """
        lock = FileLock(self._lock_path, timeout=0)
        with clear_io_errors(self.folder, "write to"):
            try:
                lock.acquire()
            except Timeout:  # an OSError too
                raise HeadwayError(
                    f"{self.folder}: another process is writing to this run; wait for it or stop it"
                ) from None
        try:
            yield
        finally:
            lock.release()

    @property
    def _lock_path(self) -> Path:
        return self.folder / ".lock"

    def _checkpoint_path(self, step: int) -> Path:
        return self.folder / "checkpoints" / f"step_{step:07d}.safetensors"


def find_runs(folder: Path) -> list["Run | HeadwayError"]:
    """The runs directly inside a folder, by name; for what cannot be read, why.

    Raises:
        HeadwayError: if there is no such folder.
    """
    if not folder.is_dir():
        raise HeadwayError(f"{folder}: there is no such folder")
    runs: list[Run | HeadwayError] = []
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.name.startswith("."):
            try:
                runs.append(Run.open(path))
            except HeadwayError as error:
                runs.append(error)
    return runs
