"""A run is a folder that anyone can read without us.

config.json         what decides the run          environment.json   where it was computed
metrics.jsonl       one line an evaluation        outcome.json       how it ended
checkpoints/step_0000400.safetensors              the weights, as training went on
state.safetensors   weights and optimisers, from which a killed run resumes
circuit.json  emergence.json  figures/  report.html          what was found out afterwards
"""

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout
from torch import Tensor

from headway.errors import HeadwayError, require
from headway.models import Transformer
from headway.tasks import Task, make_task
from headway.training.config import FORMAT, RunConfig, from_dict, to_dict, upgraded
from headway.training.data import seed_of
from headway.training.environment import describe_environment
from headway.training.files import (
    clear_io_errors,
    first_line,
    is_there,
    read_json,
    read_tensors,
    write_json,
    write_tensors,
    write_whole,
)


class RunBusyError(HeadwayError):
    """Another process is writing to the run."""


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
        if is_there(folder):
            raise HeadwayError(
                f"{folder} exists already: choose another folder,"
                f" or continue it with: headway train --resume {folder}"
            )
        draft = folder.with_name(f".{folder.name}.draft-{os.getpid()}")
        with clear_io_errors(folder, "make"):
            try:
                (draft / "checkpoints").mkdir(parents=True)
                write_json(draft / "config.json", {"format": FORMAT, **to_dict(config)})
                environment = describe_environment(config.device, config.threads)
                write_json(draft / "environment.json", [environment])
                draft.rename(folder)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
        return cls(folder, config)

    @classmethod
    def open(cls, folder: str | Path) -> "Run":
        """Opens the folder of a run.

        Raises:
            HeadwayError: if there is no run in it, one that cannot be read, or one of a newer
                format.
        """
        folder = Path(folder)
        if not is_there(folder):
            raise HeadwayError(f"{folder}: there is no run folder here")
        if not is_there(folder / "config.json"):
            raise HeadwayError(f"{folder}: not a run folder, or a half-written one: no config.json")
        data = read_json(folder / "config.json")
        require(isinstance(data, dict), f"{folder}/config.json", data, "an object of fields")
        version = data.pop("format", None)
        known = type(version) is int and version >= 1
        require(known, f"{folder}/config.json: format", version, "a whole number of at least 1")
        if version > FORMAT:
            raise HeadwayError(
                f"{folder}: format = {version} is newer than this headway reads"
                f" (up to {FORMAT}); please upgrade headway"
            )
        return cls(folder, from_dict(upgraded(data, version)))

    @cached_property
    def device(self) -> str:
        """The config's device if it is available here, else `cpu`."""
        try:
            require_device(self.config.device)
        except HeadwayError:
            return "cpu"
        return self.config.device

    @cached_property
    def task(self) -> Task:
        """The run's task, on its device."""
        return make_task(self.config.task, self.device)

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Computes with as many threads as the config says, and with as many as before after it."""
        before = torch.get_num_threads()
        torch.set_num_threads(self.config.threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)

    def new_model(self, device: str | None = None, attempt: int = 0) -> Transformer:
        """The run's model as it is before training, on a device; none means the run's.

        Every attempt (see `TrainingConfig.patience`) starts from other weights.
        """
        task = self.task
        return Transformer(
            self.config.model,
            d_input=task.d_input,
            d_target=task.d_target,
            n_positions=task.length,
            n_read=task.n_chains,
            seed=self.config.seed if attempt == 0 else seed_of(self.config.seed, attempt),
        ).to(device or self.device)

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
        names = [path.name for path in self._paths("checkpoints")]
        matches = [re.fullmatch(r"step_([0-9]+)\.safetensors", name) for name in names]
        return sorted(int(match[1]) for match in matches if match)

    def save_checkpoint(self, step: int, weights: dict[str, Tensor]) -> None:
        """Keeps weights, named as in the model, as those after a step."""
        write_tensors(self._checkpoint_path(step), weights, {"step": step})

    def drop_checkpoint(self, step: int) -> None:
        """Forgets the weights after a step."""
        self.remove(f"checkpoints/{self._checkpoint_path(step).name}")

    def metrics(self) -> list[dict[str, Any]]:
        """The evaluations so far, in order; a line that was cut off in writing is left out.

        Raises:
            HeadwayError: if a line is not an evaluation.
        """
        path = self.folder / "metrics.jsonl"
        if not is_there(path):
            return []
        with clear_io_errors(path, "read"):
            *lines, _ = path.read_bytes().split(b"\n")
        return [_evaluation(line, f"{path}, line {i}") for i, line in enumerate(lines, start=1)]

    def append_metrics(self, metrics: dict[str, Any]) -> None:
        """Adds the line of one evaluation."""
        path = self.folder / "metrics.jsonl"
        with clear_io_errors(path, "write"), open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(metrics) + "\n")

    def sessions(self) -> list[Any]:
        """Where the run was computed, from its start on; nothing if its folder does not tell.

        Raises:
            HeadwayError: if what it tells is no list.
        """
        path = self.folder / "environment.json"
        sessions = self.read(path.name)
        fits = sessions is None or isinstance(sessions, list)
        require(fits, str(path), sessions, "a list of sessions")
        return sessions or []

    def rewind(self, step: int, environment: dict[str, Any]) -> None:
        """Forgets what was written after a step, and notes where the run goes on from it.

        A circuit and its dates go too if they were found in a run that had gone further. What
        tells that there is something to forget, the metrics, is changed last.
        """
        metrics = self.metrics()
        later = [s for s in self.checkpoint_steps() if s > step]
        if later or any(line["step"] > step for line in metrics):
            self.remove("circuit.json")
            self.remove("emergence.json")
        for after in later:
            self.drop_checkpoint(after)
            self.remove(f"circuit_{after:07d}.json")
        self.remove("outcome.json")
        for path in [*self._paths("."), *self._paths("checkpoints")]:
            if re.fullmatch(r"\.(state|step_|metrics).*\.draft-[0-9]+", path.name):
                self.remove(str(path.relative_to(self.folder)))
        if step > 0:
            sessions = [*self.sessions(), {**environment, "from_step": step}]
            self.write("environment.json", sessions)
        kept = [json.dumps(line) + "\n" for line in metrics if line["step"] <= step]
        write_whole(self.folder / "metrics.jsonl", "".join(kept).encode())

    def read(self, name: str) -> Any | None:
        """One of the folder's JSON files (`circuit.json`, …), or none if it is not there."""
        path = self.folder / name
        return read_json(path) if is_there(path) else None

    def write(self, name: str, data: Any) -> None:
        """Writes one of the folder's JSON files, whole or not at all."""
        write_json(self.folder / name, data)

    def remove(self, name: str) -> None:
        """Deletes one of the folder's files, if it is there."""
        path = self.folder / name
        with clear_io_errors(path, "remove"):
            path.unlink(missing_ok=True)

    def load_state(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """The tensors and counters from which to resume, or none before the first save."""
        path = self.folder / "state.safetensors"
        return read_tensors(path) if is_there(path) else None

    def save_state(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        """Replaces the state from which to resume."""
        write_tensors(self.folder / "state.safetensors", tensors, about)

    def outcome(self) -> dict[str, Any] | None:
        """How the run ended, as in `outcome.json`; none if it has not.

        Raises:
            HeadwayError: if the file is not an object whose status is `done` or `failed`.
        """
        path = self.folder / "outcome.json"
        if not is_there(path):
            return None
        outcome = read_json(path)
        require(isinstance(outcome, dict), str(path), outcome, "an object of fields")
        status = outcome.get("status")
        require(status in ("done", "failed"), f"{path}: status", status, "done or failed")
        return outcome

    def fail(self, message: str) -> None:
        """Records that the run ended as failed, for a reason that the loop could not record.

        Args:
            message: why, on one line.

        Raises:
            HeadwayError: if another process is writing to the run, or the disk does not take it.
        """
        with self.writing():
            metrics = self.metrics()
            last = metrics[-1] if metrics else {"step": 0}
            told = {name: last.get(name) for name in ("step", "val_loss", "partial", "seconds")}
            outcome = {"status": "failed", "message": message, **told, "given_up": []}
            self.write("outcome.json", outcome)

    @property
    def status(self) -> str:
        """`done` or `failed` once it ended; else `running`, or `stopped` if nobody writes to it."""
        outcome = self.outcome()
        if outcome is not None:
            return outcome["status"]
        if not is_there(self._lock_path):
            return "stopped"
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
            RunBusyError: if another process is writing to the run.
            HeadwayError: if writing is not permitted.
        """
        lock = FileLock(self._lock_path, timeout=0.3)  # longer than `status` ever holds it
        with clear_io_errors(self.folder, "write to"):
            try:
                lock.acquire()
            except Timeout:  # an OSError too
                raise RunBusyError(
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

    def _paths(self, name: str) -> list[Path]:
        """What lies in one of the run's folders; nothing if it is not there."""
        folder = self.folder / name
        if not is_there(folder):
            return []
        with clear_io_errors(folder, "read"):
            return list(folder.iterdir())


def _evaluation(line: bytes, where: str) -> dict[str, Any]:
    """One line of `metrics.jsonl`, checked."""
    try:
        data = json.loads(line.decode())
    except ValueError as error:
        raise HeadwayError(f"{where} is not valid JSON: {first_line(error)}") from None
    numbers = ("train_loss", "val_loss", "seconds")
    if not (
        isinstance(data, dict)
        and type(data.get("step")) is int
        and all(_is_number(data.get(name)) for name in numbers)
        and isinstance(data.get("partial"), dict)
        and all(_is_number(loss) for loss in data["partial"].values())
    ):
        raise HeadwayError(
            f"{where} is not an evaluation: it must have step, train_loss, val_loss, partial"
            " and seconds"
        )
    return data


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def require_device(device: str) -> None:
    """Makes sure that one can compute on a device here.

    Raises:
        HeadwayError: if not, with the reason.
    """
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, ValueError) as error:
        reason = first_line(error).split(". ")[0]
        require(False, "device", device, f"one that is available here ({reason})")


def find_runs(folder: Path) -> list["Run | HeadwayError"]:
    """The runs directly inside a folder, by name; for what cannot be read, why.

    Raises:
        HeadwayError: if there is no such folder, or it cannot be read.
    """
    if not is_there(folder):
        raise HeadwayError(f"{folder}: there is no such folder")
    with clear_io_errors(folder, "read"):
        paths = sorted(folder.iterdir())
    runs: list[Run | HeadwayError] = []
    for path in paths:
        try:
            with clear_io_errors(path, "read"):
                inside = not path.name.startswith(".") and path.is_dir()
            if inside:
                runs.append(Run.open(path))
        except HeadwayError as error:
            runs.append(error)
    return runs
