"""The files of a run's folder: what is kept of a run, and who may write to it.

config.json         what decides the run          environment.json   where it was computed
metrics.jsonl       one line an evaluation        outcome.json       how it ended
checkpoints/step_0000400.safetensors              the weights, as training went on
state.safetensors   weights and optimisers, from which a killed run resumes
circuit.json  emergence.json  figures/  report.html          what was found out afterwards
"""

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from torch import Tensor

from headway.errors import HeadwayError, require
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
class RunFolder:
    """A run's folder, file by file."""

    folder: Path

    def checkpoint_steps(self) -> list[int]:
        """The steps at which the weights were kept, in order."""
        names = [path.name for path in self._paths("checkpoints")]
        matches = [re.fullmatch(r"step_([0-9]+)\.safetensors", name) for name in names]
        return sorted(int(match[1]) for match in matches if match)

    def checkpoint_path(self, step: int) -> Path:
        """Where the weights after a step are kept."""
        return self.folder / "checkpoints" / f"step_{step:07d}.safetensors"

    def save_checkpoint(self, step: int, weights: dict[str, Tensor]) -> None:
        """Keeps weights, named as in the model, as those after a step."""
        write_tensors(self.checkpoint_path(step), weights, {"step": step})

    def drop_checkpoint(self, step: int) -> None:
        """Forgets the weights after a step."""
        self.remove(f"checkpoints/{self.checkpoint_path(step).name}")

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
            HeadwayError: if the file is not an object whose status is `done` or `failed`, or a
                figure in it is no number.
        """
        path = self.folder / "outcome.json"
        if not is_there(path):
            return None
        outcome = read_json(path)
        require(isinstance(outcome, dict), str(path), outcome, "an object of fields")
        status = outcome.get("status")
        require(status in ("done", "failed"), f"{path}: status", status, "done or failed")
        for name in ("step", "seconds", "val_loss", "test_loss"):
            value = outcome.get(name)
            fits = value is None or _is_number(value)
            require(fits, f"{path}: {name}", value, "a number, or left out")
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
        """`done` or `failed` once it ended; else `running`, or `stopped` if nobody writes to it.

        Telling writes nothing, so it needs no permission to.
        """
        outcome = self.outcome()
        if outcome is not None:
            return outcome["status"]
        return "running" if is_held(self._lock_path) else "stopped"

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

    def _paths(self, name: str) -> list[Path]:
        """What lies in one of the run's folders; nothing if it is not there."""
        folder = self.folder / name
        if not is_there(folder):
            return []
        with clear_io_errors(folder, "read"):
            return list(folder.iterdir())


def is_held(lock: Path) -> bool:
    """Whether a process holds a lock; told without writing to its file, which may be missing."""
    try:
        file = os.open(lock, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a disk without locks
        return False
    else:
        return False
    finally:
        os.close(file)


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
