"""A run is a folder that anyone can read without us.

config.json         what decides the run
environment.json    where it was computed
metrics.jsonl       one line an evaluation
outcome.json        how it ended
checkpoints/step_0000400.safetensors
                    the weights, as training went on
state.safetensors   weights and optimisers, from which a killed run resumes
circuit.json  circuits.json  emergence.json  dependence.json  certificate.json
program.json
refused.json        found out later
figures/  report.html
                    drawings of it
clamped/  clamped,until=200/ …
                    the same seed trained again, clamped (a sweep)
"""

import glob
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn

from headway.errors import HeadwayError, require
from headway.fields import (
    F,
    Finding,
    Fraction,
    NotBelowZero,
    NotNegative,
    found_in,
    to_json,
)
from headway.late import Shown
from headway.models import Tapped, Transformer, tapped
from headway.reading import NO_RUN, require_there
from headway.tasks import Task
from headway.tasks.registry import change_of, keep
from headway.text import command, duration, wrapped
from headway.training import files
from headway.training.config import FORMAT, Elsewhere, RunConfig, from_dict
from headway.training.environment import describe_environment, seed_of
from headway.training.losses import evaluation_text
from headway.training.modules import (
    Module,
    drawing_nothing,
    load_weights,
    plain,
    weights_of,
)
from headway.training.size import n_weights, require_room
from headway.userfile import described

M = TypeVar("M", bound=nn.Module)

FINDINGS = {
    "circuit.json": "headway.judge.discovery:Discovery",
    "circuits.json": "headway.find.exhaustive:MinimalCircuits",
    "emergence.json": "headway.dynamics.emergence:Timeline",
    "dependence.json": "headway.dynamics.dependence:Dependence",
    "program.json": "headway.programs.written:WrittenProgram",
    "certificate.json": "headway.judge.certificate:Certificate",
    "refused.json": "headway.judge.discovery:Refusal",
}
"""The kinds of findings that a run keeps, by file; imported when asked for."""

FOUND_OUT = (*FINDINGS, "circuit_given.json", "outcome.json")
"""The files that are about the weights of the last step."""

WRITTEN = (".json", ".jsonl", ".safetensors")
"""The endings of files that training writes or deletes."""

CHECKPOINT = re.compile(r"step_([0-9]+)\.safetensors")


@dataclass(frozen=True)
class OnTrainingSet:
    """The scores of a model on its fixed training set."""

    loss: float
    partial: dict[str, float]
    accuracy: dict[str, Fraction] = field(default_factory=dict)


@dataclass(frozen=True)
class Evaluation:
    """A line of `metrics.jsonl`."""

    step: NotNegative
    train_loss: float
    val_loss: float
    partial: dict[str, float]
    seconds: NotBelowZero
    accuracy: dict[str, Fraction] = field(default_factory=dict)
    training_set: OnTrainingSet | None = None


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
    seconds: NotBelowZero
    message: str | None = None
    given_up: list[GivenUp] = field(default_factory=list)
    test_loss: float | None = None


@dataclass(frozen=True)
class Run(Shown):
    """A run's folder and config; all else is read when asked for.

    Attributes:
        folder: of the run.
        config: what decides it.
        changed: how the file of the run's task, or of its model, differs from the one
            that it was made with, in a sentence; None if it does not.
        build: builds the run's model, if it is a module of one's own and not to be
            built as its config says.
    """

    folder: Path
    config: RunConfig
    changed: str | None = field(default=None, compare=False)
    build: Callable[[], nn.Module] | None = field(
        default=None, compare=False, repr=False
    )

    def __str__(self):
        outcome = self.outcome() or {}
        metrics = self.metrics()
        said = list[str]()
        if outcome.get("message") is not None:
            said.append(outcome["message"])
        if metrics:
            last = metrics[-1] | outcome
            evaluation = evaluation_text(last, self.task.targets.loss_name)
            took = f"after {last['step']} steps, {duration(last['seconds'])}"
            said.append(f"{evaluation} {took}{said_of_attempts(outcome)}")
        text = "; ".join(said) or "no evaluation yet"
        lines = wrapped(text, f"{self.status}: ", " " * 6)
        return "\n".join([*lines, f"run   {self.folder}"])

    @classmethod
    def create(cls, folder: Path, config: RunConfig) -> "Run":
        """Makes the folder of a new run, whole or not at all.

        Of several that make the same folder at once one does; what others left of it,
        killed or not, is removed. A task of the user's own is trusted from now on.

        Raises:
            HeadwayError: if the folder exists already or the disk does not take it.
        """
        if files.is_there(folder):
            resumes = f", or continue it with: {command('train', '--resume', folder)}"
            again = "" if isinstance(config.training, Elsewhere) else resumes
            raise HeadwayError(f"{folder} exists already: choose another folder{again}")
        draft = files.draft_of(folder)
        with files.clear_io_errors(folder, "make"):
            try:
                files.remove_draft(draft)
                (draft / "checkpoints").mkdir(parents=True)
                files.write_json(
                    draft / "config.json", {"format": FORMAT, **to_json(config)}
                )
                environment = describe_environment(config.device, config.threads)
                files.write_json(draft / "environment.json", [environment])
                draft.rename(folder)
                files.sync_folder(folder.parent)
            finally:
                files.remove_draft(draft)
        files.remove_drafts(folder.parent, glob.escape(folder.name))
        keep(config.task)
        return cls(folder, config)

    @classmethod
    def open(
        cls, folder: "Run|str|Path", build: Callable[[], nn.Module] | None = None
    ) -> "Run":
        """Opens the folder of a run.

        A task of one's own is loaded from the file that the folder names, if the user
        trusts it (see `userfile`).

        Args:
            folder: of the run; a run is returned as it is.
            build: builds the model, if it is a module of one's own (see `Recorder`).

        Raises:
            HeadwayError: if there is no run in it, one that cannot be read or of
                another format, or its task cannot be found.
        """
        if isinstance(folder, Run):
            return folder
        folder = Path(str(folder))
        require_there(folder, NO_RUN)
        if not files.is_there(folder / "config.json"):
            raise HeadwayError(
                f"{folder}: not a run folder, or a half-written one: no config.json"
            )
        data = files.read_json(folder / "config.json")
        require(
            isinstance(data, dict), f"{folder}/config.json", data, "an object of fields"
        )
        version = data.pop("format", None)
        allowed = f"{FORMAT}, the one that this headway reads"
        require(
            type(version) is int and version == FORMAT,
            f"{folder}: format",
            version,
            allowed,
        )
        try:
            config = from_dict(data)
        except HeadwayError as error:
            raise HeadwayError(f"{folder}/config.json: {error}") from None
        changed = change_of(data["task"], config.task)
        if isinstance(config.model, Module) and build is None:
            changed = changed or config.model.changed
        return cls(folder, config, changed, build)

    @cached_property
    def task(self) -> Task:
        """The task as the model answers it: the config's, or what its curriculum asks
        of that.
        """
        return self.config.training.curriculum.view(self.config.task)

    def checkpoint_steps(self) -> list[int]:
        """The steps at which the weights were kept, in order."""
        folder = self.folder / "checkpoints"
        with files.clear_io_errors(folder, "read"):
            names = os.listdir(folder) if files.is_there(folder) else []
        matches = map(CHECKPOINT.fullmatch, names)
        return sorted(int(match[1]) for match in matches if match)

    def checkpoint_path(self, step: int) -> Path:
        """The file in which the weights after a step are kept."""
        return self.folder / "checkpoints" / f"step_{step:07d}.safetensors"

    def save_checkpoint(self, step: int, weights: dict[str, Tensor]) -> None:
        """Keeps weights, named as in the model, as those after a step."""
        path = self.owned("checkpoints", self.checkpoint_path(step).name)
        files.write_tensors(path, weights, {"step": step})

    def drop_checkpoint(self, step: int) -> None:
        """Forgets the weights after a step."""
        self.remove(f"checkpoints/{self.checkpoint_path(step).name}")

    def metrics(self) -> list[dict[str, Any]]:
        """The evaluations so far, in order, without a line that was cut off.

        Raises:
            HeadwayError: if a line is not an evaluation, steps do not rise, or the run
                ended after another step than the last.
        """
        outcome = self.outcome()  # written after the last line, and so read before it
        evaluations = self.evaluations()
        last = evaluations[-1]["step"] if evaluations else 0
        if (
            outcome is not None
            and outcome["status"] == "done"
            and outcome["step"] != last
        ):
            raise HeadwayError(
                f"{self._metrics_path} ends with step {last}, but outcome.json tells of"
                f" {outcome['step']}: evaluations were lost or changed"
            )
        return evaluations

    def append_metrics(self, metrics: dict[str, Any]) -> None:
        """Adds the line of one evaluation, safe from a power cut once it returns."""
        files.append_json(self._metrics_path, metrics)

    @property
    def _metrics_path(self) -> Path:
        return self.folder / "metrics.jsonl"

    def evaluations(self, until: float = math.inf) -> list[dict[str, Any]]:
        """The lines of `metrics.jsonl`, each checked, up to a step and no further."""
        evaluations = list[dict[str, Any]]()
        last = -1
        training = self.config.training
        most = math.inf if isinstance(training, Elsewhere) else training.steps
        for where, evaluation in (
            files.json_lines(self._metrics_path) if until > 0 else ()
        ):
            step = found_in(Evaluation, evaluation, where).step
            if step > until:
                break
            require(
                step > last,
                f"{where}: step",
                step,
                f"above that of the line before, {last}",
            )
            require(
                step <= most, f"{where}: step", step, f"at most training.steps = {most}"
            )
            hops = [*evaluation["partial"]]
            fits = {*hops} == {*self.task.hops}
            allowed = ", ".join(self.task.hops)
            require(fits, f"{where}: the hops in partial", hops, allowed)
            evaluations.append(evaluation)
            last = step
            if step == until:
                break
        return evaluations

    def sessions(self) -> list[dict[str, Any]]:
        """The environments of the run, in order; none if its folder tells none.

        Raises:
            HeadwayError: if what it tells is no list of objects.
        """
        sessions = self.read("environment.json") or []
        return found_in(
            list[dict[str, Any]], sessions, f"{self.folder}/environment.json"
        )

    def rewind(self, step: int) -> None:
        """Forgets what was written after a step.

        A circuit and its dates go too, as they will not be those of the run's last
        weights.
        """
        count = len(self.evaluations(step))
        kept = files.whole_lines(self._metrics_path)[:count]
        for name in FOUND_OUT:
            self.remove(name)
        for after in self.checkpoint_steps():
            if after > step:
                self.remove(f"circuit_{after:07d}.json")
                self.drop_checkpoint(after)
        lines = b"".join(line + b"\n" for line in kept)
        files.write_whole(self._metrics_path, lines)

    def read(self, name: str) -> Any | None:
        """One of the folder's JSON files (`circuit.json`, …), or None."""
        path = self.folder / name
        if files.is_there(path):
            return files.read_json(path)
        return None

    def write(self, name: str, data: Any) -> None:
        """Writes one of the folder's JSON files, whole or not at all."""
        files.write_json(self.owned(name), data)

    def load(self, kind: type[F]) -> F | None:
        """The finding of a kind, such as `Certificate`; None if there is none.

        Raises:
            HeadwayError: if its file is damaged.
        """
        data = self.read(kind.FILE)
        if data is None:
            return None
        return kind.from_json(data)

    def save(self, finding: Finding) -> None:
        """Keeps a finding, in place of the one of its kind that was there."""
        self.write(finding.FILE, finding.to_json())

    def remove(self, name: str) -> None:
        """Deletes one of the folder's files, if it is there."""
        files.remove(self.owned(name))

    def outcome(self) -> dict[str, Any] | None:
        """The end of the run, with every field of `Outcome`; None if it has not.

        Raises:
            HeadwayError: if the file does not say what it must.
        """
        path = self.folder / "outcome.json"
        if not files.is_there(path):
            return None
        outcome = found_in(Outcome, files.read_json(path), str(path))
        return to_json(outcome)

    def end(self, message: str | None = None, **fields: Any) -> None:
        """Records how the run ended: as done, or as failed if a message says why.

        Args:
            message: why it failed, on one line.
            fields: of the outcome, in place of those of the last evaluation.
        """
        status = "done" if message is None else "failed"
        last = [{"step": 0, "seconds": 0.0}, *self.metrics()][-1]
        known = {
            "message": message,
            "step": last["step"],
            "seconds": last["seconds"],
            **fields,
        }
        self.write("outcome.json", {"status": status, **known})

    @property
    def status(self) -> str:
        """`done` or `failed` once ended; else `running`, or `stopped` without writer.

        Telling writes nothing, so it needs no permission to.
        """
        outcome = self.outcome()
        if outcome is not None:
            return outcome["status"]
        if files.is_held(self.folder / ".lock"):
            return "running"
        return "stopped"

    def owned(self, *names: str) -> Path:
        """A path in the run's folder for writing or deleting (see `files.owned`).

        Raises:
            HeadwayError: if a part of it is a link.
        """
        return files.owned(self.folder, *names)

    def of_training(self) -> list[str]:
        """The existing names in the folder that training writes or deletes."""
        with files.clear_io_errors(self.folder, "read"):
            names = sorted(os.listdir(self.folder))
        written = [name for name in names if Path(name).suffix in WRITTEN]
        paths = map(self.checkpoint_path, self.checkpoint_steps())
        kept = [f"checkpoints/{path.name}" for path in paths]
        return ["checkpoints", *written, *kept]

    @contextmanager
    def writing(self, *names: str) -> Iterator[None]:
        """Holds the run for one writer; the lock dies with the process.

        Args:
            names: of what is to be written or deleted, looked at before any work is
                done for it.

        Raises:
            RunBusyError: if another process is writing to the run.
            HeadwayError: if writing is not permitted, or one of them is a link.
        """
        for name in names:
            self.owned(name)
        with files.holding(self.folder):
            files.remove_drafts(self.folder)
            for name in ("checkpoints", "figures"):
                if not os.path.islink(self.folder / name):
                    files.remove_drafts(self.folder / name)
            yield

    @cached_property
    def device(self) -> str:
        """The config's device if it is available here, else `cpu`."""
        try:
            require_device(self.config.device)
        except HeadwayError:
            return "cpu"
        return self.config.device

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Computes with the config's number of threads, and then as before.

        Meanwhile subnormal numbers (below 1e-38) are zero. Gradients are as small as
        that where little is learnt, and processors multiply such numbers many times
        slower.
        """
        before = torch.get_num_threads()
        flushed = not (torch.tensor(2.0**-126) / 2).item()
        torch.set_num_threads(self.config.threads)
        torch.set_flush_denormal(True)
        try:
            yield
        finally:
            torch.set_num_threads(before)
            torch.set_flush_denormal(flushed)

    def new_model(self, device: str | None = None, attempt: int = 0) -> Transformer:
        """The run's model as it is before training, on a device; by default the run's.

        Every attempt (see `TrainingConfig.patience`) starts from other weights.

        Raises:
            HeadwayError: if it is none of headway's.
        """
        task = self.task
        shape = self.config.transformer
        place = device or self.device
        require_room(n_weights(shape, task), "the model (model.*)", place)
        seed = self.config.seed
        model = Transformer(
            shape,
            d_input=task.d_input,
            d_target=task.d_target,
            n_positions=task.length,
            n_read=task.n_read,
            vocabulary=task.vocabulary,
            seed=seed if attempt == 0 else seed_of(seed, attempt),
        )
        return model.to(place)

    def transformer(self, step: int | None = None) -> Transformer:
        """The `Transformer` at a checkpoint, by default the last; for evaluation only.

        Raises:
            HeadwayError: if there is no such checkpoint, it cannot be read, or the
                run's model is none of headway's.
        """
        return self._loaded(self.new_model(), step)

    def model(self, step: int | None = None) -> Transformer | Tapped:
        """The model at a checkpoint, by default the last; for evaluation only.

        A module of one's own has a tap (`headway.tapped`).

        Raises:
            HeadwayError: if there is no such checkpoint, or the model cannot be built
                or read.
        """
        shape = self.config.model
        if not isinstance(shape, Module):
            return self.transformer(step)
        with drawing_nothing(), files.clear_errors(f"{self.folder}: its model raises"):
            built = (self.build or shape.build)()
            require(
                isinstance(built, nn.Module),
                "build",
                built,
                "a function that builds a module",
            )
            module = self._loaded(plain(built), step, load_weights).to(self.device)
            generator = torch.Generator(self.device).manual_seed(0)
            example = self.task.sample(2, generator)
            return tapped(module, example.inputs)

    def _loaded(
        self,
        model: M,
        step: int | None,
        load: Callable[[M, dict[str, Tensor]], object] = nn.Module.load_state_dict,
    ) -> M:
        """A model with the weights of a checkpoint."""
        steps = self.checkpoint_steps()
        if not steps:
            raise HeadwayError(f"{self.folder}: the run has no checkpoints yet")
        outcome = self.outcome() or {"status": "stopped"}
        last = outcome["step"] if outcome["status"] == "done" else steps[-1]
        at = last if step is None else step
        path = self.checkpoint_path(at)
        self._require_fits(path, at, model)
        tensors, _ = files.read_tensors(path)
        try:
            load(model, tensors)
        except RuntimeError:
            raise HeadwayError(
                f"{path} does not fit the model in config.json"
            ) from None
        return model.eval().requires_grad_(False)

    def _require_fits(self, path: Path, step: int, model: nn.Module) -> None:
        """Checks a checkpoint's header against its name and a model.

        Raises:
            HeadwayError: if its tensors have other names or shapes than the model's
                weights, it is of another step than it is called, or of one that
                training does not come to.
        """
        header = files.read_header(path)
        kept = {name: tuple(weight.shape) for name, weight in weights_of(model).items()}
        odd = sorted(name for name, _ in header.shapes.items() ^ kept.items())
        if odd:
            raise HeadwayError(
                f"{path} does not fit the model in config.json: {odd[0]}"
            )
        told = header.about.get("step")
        fits = type(told) is int and told == step
        require(fits, f"{path}: step", told, f"{step}, as the file is called")
        self.require_step(step, str(path))

    def require_step(self, step: int, where: str) -> None:
        """Makes sure that training comes to a step.

        Args:
            step: that something is said to be of.
            where: that is said, for the error.

        Raises:
            HeadwayError: if the step is beyond the last.
        """
        training = self.config.training
        last = math.inf if isinstance(training, Elsewhere) else training.steps
        outcome = self.outcome()
        if outcome is not None and outcome["status"] == "done":
            last = min(last, outcome["step"])
        require(
            step <= last, f"{where}: step", step, f"at most {last}, the last of the run"
        )


def require_device(device: str) -> None:
    """Makes sure that one can compute on a device here.

    Raises:
        HeadwayError: if not, with the reason.
    """
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, ValueError) as error:
        reason = described(error).split(". ")[0]
        require(False, "device", device, f"one that is available here ({reason})")


def said_of_attempts(outcome: Mapping[str, Any]) -> str:
    """The attempts that were given up before the one that counts, in words."""
    steps = [str(attempt["step"]) for attempt in outcome.get("given_up", [])]
    if steps:
        return f" (given up before: attempts at step {', '.join(steps)})"
    return ""


def kind_of(file: str) -> type[Finding]:
    """The kind of finding that a run keeps in a file of this name."""
    module, _, name = FINDINGS[file].partition(":")
    kind: type[Finding] = getattr(import_module(module), name)
    return kind
