"""The files of a run's folder: what is kept of a run, and who may write to it.

config.json         what decides the run          environment.json   where it was computed
metrics.jsonl       one line an evaluation        outcome.json       how it ended
checkpoints/step_0000400.safetensors              the weights, as training went on
state.safetensors   weights and optimisers, from which a killed run resumes
circuit.json  circuits.json  emergence.json  dependence.json  certificate.json
                                                  found out later
figures/  report.html                             drawings of it
clamped/  clamped,until=200/ …                    the same seed trained again, clamped (a sweep)
"""

import glob
import json
import math
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from torch import Tensor

from headway.errors import HeadwayError, require
from headway.fields import found_in, to_json
from headway.reading import parsed
from headway.training.files import (
    append_line,
    clear_io_errors,
    holding,
    is_held,
    is_there,
    read_json,
    read_tensors,
    remove_drafts,
    sync_folder,
    whole_lines,
    write_json,
    write_tensors,
    write_whole,
)
from headway.training.records import FOUND_OUT, Evaluation, Outcome, Session

LAST = ("step", "val_loss", "partial", "seconds")
"""What an outcome has from the last evaluation."""

CHECKPOINT = re.compile(r"step_([0-9]+)\.safetensors")


class RunBusyError(HeadwayError):
    """Another process is writing to the run."""


@dataclass(frozen=True)
class RunFolder:
    """A run's folder, file by file."""

    folder: Path

    def checkpoint_steps(self) -> list[int]:
        """The steps at which the weights were kept, in order."""
        matches = map(CHECKPOINT.fullmatch, self._names("checkpoints"))
        return sorted(int(match[1]) for match in matches if match)

    def checkpoint_path(self, step: int) -> Path:
        """Where the weights after a step are kept."""
        return self.folder / "checkpoints" / f"step_{step:07d}.safetensors"

    def save_checkpoint(self, step: int, weights: dict[str, Tensor]) -> None:
        """Keeps weights, named as in the model, as those after a step.

        A power cut may lose them until a state is saved or the run ends, but no state outlives
        checkpoints that were kept before it.
        """
        write_tensors(self.checkpoint_path(step), weights, {"step": step}, lasting=False)

    def _sync_checkpoints(self) -> None:
        folder = self.folder / "checkpoints"
        if is_there(folder):
            with clear_io_errors(folder, "write to"):
                sync_folder(folder)

    def drop_checkpoint(self, step: int) -> None:
        """Forgets the weights after a step."""
        self.remove(f"checkpoints/{self.checkpoint_path(step).name}")

    def metrics(self) -> list[dict[str, Any]]:
        """The evaluations so far, in order; a line that was cut off in writing is left out.

        Raises:
            HeadwayError: if a line is not an evaluation, steps do not rise, or the last is not the
                one with which the run ended.
        """
        outcome = self.outcome()  # written after the last line, and so read before it
        evaluations = self._evaluations()
        steps = [line["step"] for line in evaluations]
        for i, (before, step) in enumerate(pairwise(steps), start=2):
            if step <= before:
                where = f"{self._metrics_path}, line {i}: step"
                require(False, where, step, f"above that of the line before, {before}")
        if outcome is not None:
            self._require_ended(outcome, evaluations[-1] if evaluations else {})
        return evaluations

    def metrics_until(self, step: int) -> list[dict[str, Any]]:
        """The evaluations up to a step; what was written after it is not looked at."""
        return self._evaluations(step) if step > 0 else []

    def append_metrics(self, metrics: dict[str, Any]) -> None:
        """Adds the line of one evaluation; when this returns, a power cut does not lose it."""
        append_line(self._metrics_path, json.dumps(metrics, allow_nan=False))

    @property
    def _metrics_path(self) -> Path:
        return self.folder / "metrics.jsonl"

    def _lines(self) -> list[bytes]:
        """The whole lines of `metrics.jsonl`."""
        return whole_lines(self._metrics_path)

    def _evaluations(self, until: float = math.inf) -> list[dict[str, Any]]:
        """The lines of `metrics.jsonl`, each checked, to the first that is not before a step."""
        path, lines = str(self._metrics_path), self._lines()
        try:  # all at once, which is faster
            found = [parsed(line, path) for line in lines]
            found_in(list[Evaluation], found, path)
        except HeadwayError:
            found = _each(path, lines, until)
        for number, line in enumerate(found):
            if line["step"] >= until:
                return found[: number + (line["step"] == until)]
        return found

    def _require_ended(self, outcome: dict[str, Any], last: dict[str, Any]) -> None:
        """Makes sure that the last evaluation is the one that the outcome tells of."""
        names = ("val_loss", "partial", *(["step"] if outcome["status"] == "done" else []))
        for name in names:
            told, found = outcome.get(name), last.get(name)
            if told is not None and told != found:
                raise HeadwayError(
                    f"{self._metrics_path} ends with {name} = {found}, but outcome.json tells of"
                    f" {told}: evaluations were lost or changed"
                )

    def sessions(self) -> list[Any]:
        """Where the run was computed, from its start on; nothing if its folder does not tell.

        Raises:
            HeadwayError: if what it tells is no list.
        """
        path = self.folder / "environment.json"
        sessions = self.read(path.name)
        fits = sessions is None or isinstance(sessions, list)
        require(fits, str(path), sessions, "a list of sessions")
        found_in(list[Session], sessions or [], str(path))
        return sessions or []

    def rewind(self, step: int, environment: dict[str, Any]) -> None:
        """Forgets what was written after a step, and notes where and in which environment the run
        goes on; nothing is noted without an environment.

        A circuit and its dates go too, as they will not be those of the run's last weights.
        """
        kept = self._lines()[: len(self.metrics_until(step))]
        for name in FOUND_OUT:
            self.remove(name)
        for after in [s for s in self.checkpoint_steps() if s > step]:
            self.remove(f"circuit_{after:07d}.json")
            self.drop_checkpoint(after)
        self.remove("outcome.json")
        if environment:
            sessions = [*self.sessions(), {**environment, "from_step": step}]
            self.write("environment.json", sessions)
        for folder in (self.folder / "checkpoints", self.folder):
            with clear_io_errors(folder, "write to"):
                sync_folder(folder)
        write_whole(self._metrics_path, b"".join(line + b"\n" for line in kept))

    def read(self, name: str) -> Any | None:
        """One of the folder's JSON files (`circuit.json`, …), or None if it is not there."""
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
        """The tensors and counters from which to resume, or None before the first save."""
        path = self.folder / "state.safetensors"
        return read_tensors(path) if is_there(path) else None

    def save_state(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        """Replaces the state from which to resume."""
        self._sync_checkpoints()
        write_tensors(self.folder / "state.safetensors", tensors, about)

    def outcome(self) -> dict[str, Any] | None:
        """How the run ended, as in `outcome.json`; None if it has not.

        It has every field of `Outcome`. A figure that the file leaves out is that of the last
        evaluation, and None if there is no such figure.

        Raises:
            HeadwayError: if the file does not say what it must (see `Outcome`).
        """
        path = self.folder / "outcome.json"
        if not is_there(path):
            return None
        outcome = to_json(found_in(Outcome, read_json(path), str(path)))
        left_out = [name for name in LAST if outcome[name] is None]
        last = _last(self._evaluations()) if left_out else {}
        whole = {**outcome, **{name: last[name] for name in left_out}}
        if whole["status"] == "done" and whole["val_loss"] is None:
            raise HeadwayError(f"{path}: the run is done, but there is no evaluation of it")
        return whole

    def end(self, message: str | None = None, **told: Any) -> None:
        """Records how the run ended: as done, or as failed if a message says why.

        Args:
            message: why it failed, on one line.
            told: fields of the outcome, beside or in place of those of the last evaluation.
        """
        last, status = _last(self.metrics()), "done" if message is None else "failed"
        self._sync_checkpoints()
        ended = {"status": status, "message": message, **last, "given_up": [], **told}
        self.write("outcome.json", ended)

    def fail(self, message: str) -> None:
        """Records that the run ended as failed, for a reason that the loop could not record.

        Raises:
            HeadwayError: if another process is writing to the run, or the disk does not take it.
        """
        with self.writing():
            self.end(message)

    @property
    def status(self) -> str:
        """`done` or `failed` once it ended; else `running`, or `stopped` if nobody writes to it.

        Telling writes nothing, so it needs no permission to.
        """
        outcome = self.outcome()
        if outcome is not None:
            return outcome["status"]
        return "running" if is_held(self.folder / ".lock") else "stopped"

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Holds the run for one writer; the lock dies with the process.

        Raises:
            RunBusyError: if another process is writing to the run.
            HeadwayError: if writing is not permitted.
        """
        told = "another process is writing to this run; wait for it or stop it"
        with holding(self.folder, RunBusyError(f"{self.folder}: {told}")):
            for name in (".", "checkpoints", "figures"):
                remove_drafts(self.folder / name)
            remove_drafts(self.folder.parent, glob.escape(self.folder.name), living=False)
            yield

    def _names(self, name: str) -> list[str]:
        """What lies in one of the run's folders; nothing if it is not there."""
        folder = self.folder / name
        if not is_there(folder):
            return []
        with clear_io_errors(folder, "read"):
            return os.listdir(folder)


def _last(evaluations: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What an outcome has from the last evaluation; None for figures that there are not."""
    last = [{"step": 0}, *evaluations][-1]
    return {name: last.get(name) for name in LAST}


def _each(path: str, lines: list[bytes], until: float) -> list[dict[str, Any]]:
    """Evaluations line by line, to the first that is not before a step; tells which is none."""
    found: list[dict[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        where = f"{path}, line {number}"
        found.append(parsed(line, where))
        found_in(Evaluation, found[-1], where)
        if found[-1]["step"] >= until:
            break
    return found
