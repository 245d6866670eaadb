"""A run is a folder that anyone can read without us (`folder.py` lists its files)."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch

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
)
from headway.training.folder import RunFolder


@dataclass(frozen=True)
class Run(RunFolder):
    """A run's folder and its config; everything else is read from the folder when asked for."""

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
            n_read=task.n_read,
            vocabulary=task.vocabulary,
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
        path = self.checkpoint_path(steps[-1] if step is None else step)
        tensors, _ = read_tensors(path)
        model = self.new_model()
        try:
            model.load_state_dict(tensors)
        except RuntimeError:
            raise HeadwayError(f"{path} does not fit the model in config.json") from None
        return model.eval().requires_grad_(False)


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
