"""A run's folder: the files in it, what they must say, and who may write to it.

config.json         what decides the run          environment.json   where it was computed
metrics.jsonl       one line an evaluation        outcome.json       how it ended
checkpoints/step_0000400.safetensors              the weights, as training went on
state.safetensors   weights and optimisers, from which a killed run resumes
circuit.json  circuits.json  emergence.json  dependence.json  certificate.json
refused.json                                      found out later
figures/  report.html                             drawings of it
clamped/  clamped,until=200/ …                    the same seed trained again, clamped (a sweep)
"""

import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from torch import Tensor

from headway.errors import HeadwayError, require
from headway.fields import F, Finding, Fraction, NotBelowZero, NotNegative, found_in, to_json
from headway.tasks import Task
from headway.training import files
from headway.training.config import RunConfig

FOUND_OUT = (
    *("circuit.json", "circuits.json", "circuit_given.json", "emergence.json"),
    *("dependence.json", "certificate.json", "refused.json"),
)
"""The files that are about the weights of the last step."""

CHECKPOINT = re.compile(r"step_([0-9]+)\.safetensors")


@dataclass(frozen=True)
class Evaluation:
    """A line of `metrics.jsonl`."""

    step: NotNegative
    train_loss: float
    val_loss: float
    partial: dict[str, float]
    seconds: NotBelowZero
    accuracy: dict[str, Fraction] = field(default_factory=dict)


@dataclass(frozen=True)
class GivenUp:
    """The record of an attempt that was given up."""

    step: NotNegative
    partial: dict[str, float]


@dataclass(frozen=True)
class Outcome:
    """The content of `outcome.json`."""

    status: Literal["done", "failed"]
    step: NotNegative
    message: str | None = None
    seconds: NotBelowZero | None = None
    given_up: list[GivenUp] = field(default_factory=list)
    test_loss: float | None = None


@dataclass(frozen=True)
class RunFolder:
    """A run's folder, file by file, and the config that decides what they may say."""

    folder: Path
    config: RunConfig

    @cached_property
    def task(self) -> Task:
        """The task as the model answers it: the config's, or what its curriculum asks of that."""
        return self.config.training.curriculum.view(self.config.task)

    def checkpoint_steps(self) -> list[int]:
        """The steps at which the weights were kept, in order."""
        folder = self.folder / "checkpoints"
        with files.clear_io_errors(folder, "read"):
            names = os.listdir(folder) if files.is_there(folder) else []
        return sorted(int(match[1]) for match in map(CHECKPOINT.fullmatch, names) if match)

    def checkpoint_path(self, step: int) -> Path:
        """The file in which the weights after a step are kept."""
        return self.folder / "checkpoints" / f"step_{step:07d}.safetensors"

    def save_checkpoint(self, step: int, weights: dict[str, Tensor]) -> None:
        """Keeps weights, named as in the model, as those after a step."""
        files.write_tensors(self.checkpoint_path(step), weights, {"step": step})

    def drop_checkpoint(self, step: int) -> None:
        """Forgets the weights after a step."""
        self.remove(f"checkpoints/{self.checkpoint_path(step).name}")

    def metrics(self) -> list[dict[str, Any]]:
        """The evaluations so far, in order; a line that was cut off in writing is left out.

        Raises:
            HeadwayError: if a line is not an evaluation, steps do not rise, or the run ended after
                another step than the last.
        """
        outcome = self.outcome()  # written after the last line, and so read before it
        evaluations = self.evaluations()
        last = evaluations[-1]["step"] if evaluations else 0
        if outcome is not None and outcome["status"] == "done" and outcome["step"] != last:
            raise HeadwayError(
                f"{self._metrics_path} ends with step {last}, but outcome.json tells of"
                f" {outcome['step']}: evaluations were lost or changed"
            )
        return evaluations

    def append_metrics(self, metrics: dict[str, Any]) -> None:
        """Adds the line of one evaluation; when this returns, a power cut does not lose it."""
        files.append_json(self._metrics_path, metrics)

    @property
    def _metrics_path(self) -> Path:
        return self.folder / "metrics.jsonl"

    def evaluations(self, until: float = math.inf) -> list[dict[str, Any]]:
        """The lines of `metrics.jsonl`, each checked, up to a step and no further."""
        found, last = list[dict[str, Any]](), -1
        for where, evaluation in files.json_lines(self._metrics_path) if until > 0 else ():
            step = found_in(Evaluation, evaluation, where).step
            if step > until:
                break
            require(step > last, f"{where}: step", step, f"above that of the line before, {last}")
            hops = [*evaluation["partial"]]
            fits, allowed = {*hops} == {*self.task.hops}, ", ".join(self.task.hops)
            require(fits, f"{where}: the hops in partial", hops, allowed)
            found.append(evaluation)
            if (last := step) == until:
                break
        return found

    def sessions(self) -> list[dict[str, Any]]:
        """The environments that the run was computed in, in order; none if its folder tells none.

        Raises:
            HeadwayError: if what it tells is no list of objects.
        """
        sessions = self.read("environment.json") or []
        return found_in(list[dict[str, Any]], sessions, f"{self.folder}/environment.json")

    def rewind(self, step: int) -> None:
        """Forgets what was written after a step.

        A circuit and its dates go too, as they will not be those of the run's last weights.
        """
        kept = files.whole_lines(self._metrics_path)[: len(self.evaluations(step))]
        for name in FOUND_OUT:
            self.remove(name)
        for after in [s for s in self.checkpoint_steps() if s > step]:
            self.remove(f"circuit_{after:07d}.json")
            self.drop_checkpoint(after)
        self.remove("outcome.json")
        files.write_whole(self._metrics_path, b"".join(line + b"\n" for line in kept))

    def read(self, name: str) -> Any | None:
        """One of the folder's JSON files (`circuit.json`, …), or None if it is not there."""
        path = self.folder / name
        return files.read_json(path) if files.is_there(path) else None

    def write(self, name: str, data: Any) -> None:
        """Writes one of the folder's JSON files, whole or not at all."""
        files.write_json(self.folder / name, data)

    def load(self, kind: type[F]) -> F | None:
        """The finding of a kind, such as `Certificate`; None if there is none.

        Raises:
            HeadwayError: if its file is damaged.
        """
        data = self.read(kind.FILE)
        return None if data is None else kind.from_json(data)

    def save(self, finding: Finding) -> None:
        """Keeps a finding, in place of the one of its kind that was there."""
        self.write(finding.FILE, finding.to_json())

    def remove(self, name: str) -> None:
        """Deletes one of the folder's files, if it is there."""
        path = self.folder / name
        with files.clear_io_errors(path, "remove"):
            path.unlink(missing_ok=True)

    def outcome(self) -> dict[str, Any] | None:
        """The end of the run, with every field of `Outcome`; None if it has not.

        Raises:
            HeadwayError: if the file does not say what it must.
        """
        path = self.folder / "outcome.json"
        if not files.is_there(path):
            return None
        return to_json(found_in(Outcome, files.read_json(path), str(path)))

    def end(self, message: str | None = None, **fields: Any) -> None:
        """Records how the run ended: as done, or as failed if a message says why.

        Args:
            message: why it failed, on one line.
            fields: of the outcome, in place of those of the last evaluation.
        """
        last = [{"step": 0}, *self.metrics()][-1]
        ended = {"status": "done" if message is None else "failed", "message": message}
        known = {"step": last["step"], "seconds": last.get("seconds"), **fields}
        self.write("outcome.json", ended | known)

    @property
    def status(self) -> str:
        """`done` or `failed` once it ended; else `running`, or `stopped` if nobody writes to it.

        Telling writes nothing, so it needs no permission to.
        """
        outcome = self.outcome()
        if outcome is not None:
            return outcome["status"]
        return "running" if files.is_held(self.folder / ".lock") else "stopped"

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Holds the run for one writer; the lock dies with the process.

        Raises:
            RunBusyError: if another process is writing to the run.
            HeadwayError: if writing is not permitted.
        """
        with files.holding(self.folder):
            for name in (".", "checkpoints", "figures"):
                files.remove_drafts(self.folder / name)
            yield
