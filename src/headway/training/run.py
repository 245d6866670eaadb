"""A run is a folder that anyone can read without us (`folder.py` lists its files)."""

import glob
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from headway.errors import HeadwayError, require
from headway.fields import to_json
from headway.late import Shown
from headway.models import Tapped, Transformer, tapped
from headway.tasks.registry import change_of, keep
from headway.text import command, duration, wrapped
from headway.training import files
from headway.training.config import FORMAT, Elsewhere, RunConfig, from_dict
from headway.training.environment import describe_environment, seed_of
from headway.training.folder import RunFolder
from headway.training.losses import accuracy_text
from headway.training.modules import Module, drawing_nothing, load_weights, plain
from headway.training.size import n_weights, require_room
from headway.userfile import described

M = TypeVar("M", bound=nn.Module)
INDENT = "      "


@dataclass(frozen=True)
class Run(RunFolder, Shown):
    """A run's folder and its config; everything else is read from the folder when asked for.

    Attributes:
        folder: of the run.
        config: what decides it.
        changed: how the file of the run's task, or of its model, differs from the one that it was
            made with, in a sentence; None if it does not.
        build: builds the run's model, if it is a module of one's own and not to be built as its
            config says.
    """

    changed: str | None = field(default=None, compare=False)
    build: Callable[[], nn.Module] | None = field(default=None, compare=False, repr=False)

    def __str__(self):
        outcome, metrics, said = self.outcome() or {}, self.metrics(), list[str]()
        if outcome.get("message") is not None:
            said.append(outcome["message"])
        if metrics:
            last = metrics[-1] | outcome
            hops = "  ".join(f"{hop} {loss:.4f}" for hop, loss in last["partial"].items())
            loss = f"validation {self.task.targets.loss_name} {last['val_loss']:.4f} ({hops})"
            loss += accuracy_text(last)
            took = f"after {last['step']} steps, {duration(last['seconds'])}"
            said.append(f"{loss} {took}{said_of_attempts(outcome)}")
        text = "; ".join(said) or "no evaluation yet"
        return "\n".join([*wrapped(text, f"{self.status}: ", INDENT), f"run   {self.folder}"])

    @classmethod
    def create(cls, folder: Path, config: RunConfig) -> "Run":
        """Makes the folder of a new run, whole or not at all.

        Of several that make the same folder at once one does; what others left of it, killed or
        not, is removed. A task of the user's own is trusted from now on.

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
                (draft / "checkpoints").mkdir(parents=True, exist_ok=True)
                files.write_json(draft / "config.json", {"format": FORMAT, **to_json(config)})
                environment = describe_environment(config.device, config.threads)
                files.write_json(draft / "environment.json", [environment])
                draft.rename(folder)
                files.sync_folder(folder.parent)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
        files.remove_drafts(folder.parent, glob.escape(folder.name))
        keep(config.task)
        return cls(folder, config)

    @classmethod
    def open(cls, folder: str | Path, build: Callable[[], nn.Module] | None = None) -> "Run":
        """Opens the folder of a run.

        A task of one's own is loaded from the file that the folder names, if the user trusts it
        (see `userfile`).

        Args:
            folder: of the run.
            build: builds the model, if it is a module of one's own (see `Recorder`).

        Raises:
            HeadwayError: if there is no run in it, one that cannot be read or of another format,
                or its task cannot be found.
        """
        folder = Path(folder)
        if not files.is_there(folder):
            raise HeadwayError(f"{folder}: there is no run folder here")
        if not files.is_there(folder / "config.json"):
            raise HeadwayError(f"{folder}: not a run folder, or a half-written one: no config.json")
        data = files.read_json(folder / "config.json")
        require(isinstance(data, dict), f"{folder}/config.json", data, "an object of fields")
        version, allowed = data.pop("format", None), f"{FORMAT}, the one that this headway reads"
        fits = type(version) is int and version == FORMAT
        require(fits, f"{folder}: format", version, allowed)
        try:
            config = from_dict(data)
        except HeadwayError as error:
            raise HeadwayError(f"{folder}/config.json: {error}") from None
        changed = change_of(data["task"], config.task)
        if isinstance(config.model, Module) and build is None:
            changed = changed or config.model.changed
        return cls(folder, config, changed, build)

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
        """Computes with as many threads as the config says, and then with as many as before.

        Meanwhile subnormal numbers (below 1e-38) are zero. Gradients are as small as that where
        little is learnt, and processors multiply such numbers many times slower.
        """
        before, flushed = torch.get_num_threads(), flushes_subnormals()
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
        task, shape = self.task, self.config.transformer
        place = device or self.device
        require_room(n_weights(shape, task), "the model (model.*)", place)
        return Transformer(
            shape,
            d_input=task.d_input,
            d_target=task.d_target,
            n_positions=task.length,
            n_read=task.n_read,
            vocabulary=task.vocabulary,
            seed=self.config.seed if attempt == 0 else seed_of(self.config.seed, attempt),
        ).to(place)

    def transformer(self, step: int | None = None) -> Transformer:
        """The `Transformer` at a checkpoint, by default the last; for evaluation only.

        Raises:
            HeadwayError: if there is no such checkpoint, it cannot be read, or the run's model is
                none of headway's.
        """
        return self._loaded(self.new_model(), step)

    def model(self, step: int | None = None) -> Transformer | Tapped:
        """The model at a checkpoint, by default the last; for evaluation only.

        A module of one's own has a tap (`headway.tapped`).

        Raises:
            HeadwayError: if there is no such checkpoint, or the model cannot be built or read.
        """
        shape = self.config.model
        if not isinstance(shape, Module):
            return self.transformer(step)
        with drawing_nothing(), files.clear_errors(f"{self.folder}: its model raises"):
            built = (self.build or shape.build)()
            require(isinstance(built, nn.Module), "build", built, "a function that builds a module")
            module = self._loaded(plain(built), step, load_weights).to(self.device)
            example = self.task.sample(2, torch.Generator(self.device).manual_seed(0))
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
        path = self.checkpoint_path(last if step is None else step)
        tensors, _ = files.read_tensors(path)
        try:
            load(model, tensors)
        except RuntimeError:
            raise HeadwayError(f"{path} does not fit the model in config.json") from None
        return model.eval().requires_grad_(False)


def flushes_subnormals() -> bool:
    """Tell whether this thread takes subnormal numbers for zero on the CPU."""
    return not (torch.tensor(2.0**-126) / 2).item()


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
    return f" (given up before: attempts at step {', '.join(steps)})" if steps else ""
