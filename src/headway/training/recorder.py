"""A training loop of one's own, recorded: what it leaves is a run like any other."""

import math
import operator
import os
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from headway import fields, userfile
from headway.errors import HeadwayError, require
from headway.models import tapped
from headway.tasks import Task
from headway.training.config import Elsewhere, RunConfig
from headway.training.data import held_out
from headway.training.files import clear_errors, packed
from headway.training.losses import require_answers, scores
from headway.training.modules import (
    Module,
    drawing_nothing,
    is_causal,
    plain,
    unchanged,
    weights_of,
)
from headway.training.run import Run

T = TypeVar("T")
LAST = 10**15
"""The largest step: what reads a run's folder takes larger numbers for others."""

NOBODY = 0, 0
"""The writer of a run that is closed."""


class Recorder:
    """Keeps checkpoints and evaluations of a model that a loop of one's own trains.

        with headway.Recorder("runs/mine", model, task) as recorder:
            for step in range(1, 1001):
                loss = train_step(model)
                if step % 50 == 0:
                    recorder.save(step, loss)
        found = headway.discover("runs/mine")

    It changes nothing in the model, nor in what is drawn at random after it. It records one run, in
    the thread that entered it. No other thread may use the model during a call.

    Other processes, such as the command line, must be able to build the model again. They call
    `build`, a function or class in a file of yours, without arguments; by default the model's own
    class, if that gives weights of the same shapes. Otherwise they must be told how:
    `headway.Run.open(folder, build=…)`.

    Args:
        folder: of the run; must not exist.
        model: any module whose attention can be tapped (`headway.tapped`). Of one that is compiled,
            replicated, averaged or parametrized, the plain module is recorded.
        task: what it is trained on.
        build: makes such a module, with any weights.
        seed: of the held-out sequences that it is evaluated on.
        sequences: how many they are.

    Raises:
        HeadwayError: if the folder exists, the model's attention cannot be tapped, it does not
            answer the task, or its weights cannot be kept.
    """

    def __init__(
        self,
        folder: str | Path,
        model: nn.Module,
        task: Task,
        build: Callable[[], nn.Module] | None = None,
        seed: int = 0,
        sequences: int = 512,
    ):
        require(isinstance(folder, str | Path), "folder", folder, "a path")
        require(isinstance(model, nn.Module), "model", model, "a torch.nn.Module")
        require(isinstance(task, Task), "task", task, "a task, such as headway.tasks.Hops()")
        hint = fields.AtLeastOne
        fields.require_allowed("sequences", sequences, hint)
        self.model, self.task, self._plain = model, task, plain(model)
        self._raises = f"model: {type(self._plain).__name__} raises"
        weight = next(iter(model.parameters()), None)
        device = "cpu" if weight is None else str(weight.device).replace("mps:0", "mps")
        self._kept = {name: weight.shape for name, weight in self._weights().items()}
        with drawing_nothing(self._plain), clear_errors(f"task = {task.kind!r} raises"):
            self._held_out = held_out(task, sequences, seed, device)
        with unchanged(self._plain), clear_errors(self._raises):
            self._tapped = tapped(self._plain)
            require_answers(self._tapped, task, self._held_out)
            causal = is_causal(self._tapped, self._held_out.inputs[:2])
            described = Module.of(self._tapped, build, causal)
        threads = min(256, torch.get_num_threads())  # the most that a config may ask for
        config = RunConfig(task, described, Elsewhere(), seed, device, threads)
        self.run = Run.create(Path(folder), config)
        described.keep()
        self._writer: tuple[int, int] | None = None
        self._block = ExitStack()
        self._clock = time.perf_counter()

    def save(self, step: int, loss: float | Tensor) -> dict[str, Any]:
        """Keeps the weights after a step, and evaluates them on the held-out sequences.

        Args:
            step: how many steps were made; must grow from call to call.
            loss: of training, at this step or since the last call.

        Returns:
            The metrics: the validation loss and the loss of every hop.

        Raises:
            HeadwayError: if the step is none, a loss is no finite number, the model fails or is
                another, or the recorder is not open here; nothing is kept then.
        """
        if self._writer != _here():
            raise HeadwayError(
                f"{self.run.folder}: save is for inside the recorder's `with` block, and for the"
                " thread that entered it alone"
            )
        last = max(self.run.checkpoint_steps(), default=-1)
        made = _number(step, operator.index)
        fits = made is not None and last < made <= LAST
        require(fits, "step", step, f"a whole number above {last}, the last one, and up to {LAST}")
        train_loss = _number(loss, float)
        is_finite = train_loss is not None and math.isfinite(train_loss)
        require(is_finite, "train_loss", loss, "finite, one number")
        weights = self._weights()
        now = {name: weight.shape for name, weight in weights.items()}
        if now != self._kept:
            others = sorted(dict(now.items() ^ self._kept.items()))
            require(False, "model: weights of other names or shapes", others, "as it was at first")
        with unchanged(self._plain), clear_errors(self._raises):
            found = scores(self._tapped, self.task, self._held_out)
        metrics = {
            "step": made,
            "train_loss": train_loss,
            **found,
            "seconds": round(time.perf_counter() - self._clock, 3),
        }
        require(math.isfinite(metrics["val_loss"]), "val_loss", metrics["val_loss"], "finite")
        try:
            self.run.save_checkpoint(metrics["step"], weights)
            self.run.append_metrics(metrics)
        except BaseException:  # a full disk or an interrupt; both are kept, or neither
            if metrics["step"] not in [line["step"] for line in self.run.metrics()]:
                self.run.drop_checkpoint(metrics["step"])
            raise
        return metrics

    def _weights(self) -> dict[str, Tensor]:
        """Copies of what a checkpoint keeps.

        Raises:
            HeadwayError: if it cannot be kept.
        """
        for name, weight in [*self._plain.named_parameters(), *self._plain.named_buffers()]:
            lacks = is_lazy(weight) or weight.is_meta
            require(not lacks, f"model: {name}", type(weight).__name__, "a tensor with values")
        with unchanged(self._plain), clear_errors(self._raises):
            found = weights_of(self._plain)
            for name, weight in found.items():
                is_plain = isinstance(weight, Tensor) and weight.layout == torch.strided
                require(is_plain, f"model: {name}", weight, "a dense tensor")
            kept = {name: weight.detach().to("cpu", copy=True) for name, weight in found.items()}
            packed({name: weight.reshape(-1)[:1].clone() for name, weight in kept.items()}, {})
            return kept

    def __enter__(self) -> "Recorder":
        if self._writer is not None:
            raise HeadwayError(
                f"{self.run.folder}: this recorder was entered before; it records one run"
            )
        self._block.enter_context(self.run.writing())
        self._writer = _here()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, *_: object) -> None:
        if self._writer != _here():  # a copy of the process, which leaves the block, too
            return
        self._writer = NOBODY
        with self._block:
            if not isinstance(error, KeyboardInterrupt):  # such a run counts as stopped
                why = None if self.run.metrics() else "nothing was saved"
                self.run.end(why if error is None else userfile.described(error))


def _here() -> tuple[int, int]:
    """The process and the thread."""
    return os.getpid(), threading.get_ident()


def _number(value: Any, convert: Callable[[Any], T]) -> T | None:
    """A number of Python, NumPy or torch, converted; None if it is none."""
    if isinstance(value, bool | str | bytes) or "bool" in str(getattr(value, "dtype", "")):
        return None
    try:
        return convert(value.detach() if isinstance(value, Tensor) else value)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return None
