"""A training loop of one's own, recorded: what it leaves is a run like any other."""

import math
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor, nn

from headway import fields, userfile
from headway.errors import HeadwayError, require
from headway.models import tapped
from headway.tasks import Task
from headway.training import modules
from headway.training.config import Elsewhere, RunConfig
from headway.training.data import held_out
from headway.training.files import clear_errors
from headway.training.losses import require_answers, scores
from headway.training.run import Run

LAST = 10**15
"""The largest step: what reads a run's folder takes larger numbers for others."""


class Recorder:
    """Keeps checkpoints and evaluations of a model that a loop of one's own trains.

        with headway.Recorder("runs/mine", model, task) as recorder:
            for step in range(1, 1001):
                loss = train_step(model)
                if step % 50 == 0:
                    recorder.save(step, loss)
        found = headway.discover("runs/mine")

    It changes nothing in the model, nor in what is drawn at random after it. It records
    one run. No other thread may use the model during a call.

    Other processes, such as the command line, must be able to build the model again.
    They call `build`, a function or class in a file of yours, without arguments; by
    default the model's own class, if that gives weights of the same shapes. Otherwise
    they must be told how: `headway.Run.open(folder, build=…)`.

    Args:
        folder: of the run; must not exist.
        model: any module whose attention can be tapped (`headway.tapped`). Of one that
            is compiled, replicated or averaged, the plain module is recorded.
        task: what it is trained on.
        build: makes such a module, with any weights.
        seed: of the held-out sequences that it is evaluated on.
        sequences: how many they are.

    Raises:
        HeadwayError: if the folder exists, the model's attention cannot be tapped, it
            does not answer the task, or its weights cannot be kept.
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
        require(
            isinstance(task, Task), "task", task, "a task, such as headway.tasks.Hops()"
        )
        fields.require_allowed("sequences", sequences, fields.AtLeastOne)
        self.model = model
        self.task = task
        self._plain = modules.plain(model)
        self._raises = f"model: {type(self._plain).__name__} raises"
        weight = next(iter(model.parameters()), None)
        device = "cpu" if weight is None else str(weight.device).replace("mps:0", "mps")
        self._kept = {name: weight.shape for name, weight in self._weights().items()}
        with (
            modules.drawing_nothing(self._plain),
            clear_errors(f"task = {task.kind!r} raises"),
        ):
            self._held_out = held_out(task, sequences, seed, device)
        with modules.unchanged(self._plain), clear_errors(self._raises):
            self._tapped = tapped(self._plain)
            require_answers(self._tapped, task, self._held_out)
            causal = modules.is_causal(self._tapped, self._held_out.inputs[:2])
            described = modules.Module.of(self._tapped, build, causal)
        # The most that a config may ask for.
        threads = min(256, torch.get_num_threads())
        config = RunConfig(task, described, Elsewhere(), seed, device, threads)
        self.run = Run.create(Path(folder), config)
        described.keep()
        self._writer: int | None = None  # the process whose block is open; 0 after it
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
            HeadwayError: if the step is none, a loss is no finite number, the model
                fails or is another, or the recorder is not open; nothing is kept then.
        """
        if os.getpid() != self._writer:
            raise HeadwayError(
                f"{self.run.folder}: save is for inside the recorder's `with` block"
            )
        last = max(self.run.checkpoint_steps(), default=-1)
        made = _number(step)
        train_loss = _number(loss)
        fits = type(made) is int and last < made <= LAST
        require(
            fits,
            "step",
            step,
            f"a whole number above {last}, the last one, and up to {LAST}",
        )
        is_finite = (
            type(train_loss) in (int, float) and abs(train_loss) <= sys.float_info.max
        )
        require(is_finite, "train_loss", loss, "finite, one number")
        weights = self._weights()
        now = {name: weight.shape for name, weight in weights.items()}
        others = sorted(dict(now.items() ^ self._kept.items()))
        require(
            not others,
            "model: weights of other names or shapes",
            others,
            "as it was at first",
        )
        with modules.unchanged(self._plain), clear_errors(self._raises):
            scored = scores(self._tapped, self.task, self._held_out)
        metrics = {
            "step": made,
            "train_loss": train_loss,
            **scored,
            "seconds": round(time.perf_counter() - self._clock, 3),
        }
        require(
            math.isfinite(metrics["val_loss"]),
            "val_loss",
            metrics["val_loss"],
            "finite",
        )
        try:
            self.run.save_checkpoint(made, weights)
            self.run.append_metrics(metrics)
        except BaseException:  # a full disk or an interrupt; both are kept, or neither
            if made not in [line["step"] for line in self.run.metrics()]:
                self.run.drop_checkpoint(made)
            raise
        return metrics

    def _weights(self) -> dict[str, Tensor]:
        """Copies of what a checkpoint keeps.

        Raises:
            HeadwayError: if it cannot be kept.
        """
        with clear_errors(self._raises), modules.unchanged(self._plain):
            weights = modules.weights_of(self._plain)
            for name, weight in weights.items():
                is_plain = isinstance(weight, Tensor) and weight.layout == torch.strided
                require(is_plain, f"model: {name}", weight, "a dense tensor")
            kept = {
                name: weight.detach().to("cpu", copy=True)
                for name, weight in weights.items()
            }
            firsts = {
                name: weight.reshape(-1)[:1].clone() for name, weight in kept.items()
            }
            safetensors.torch.save(firsts)
            return kept

    def __enter__(self) -> "Recorder":
        if self._writer is not None:
            raise HeadwayError(
                f"{self.run.folder}: this recorder was used; it records one run"
            )
        self._block.enter_context(self.run.writing())
        self._writer = os.getpid()
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, *_: object
    ) -> None:
        writer = self._writer
        self._writer = 0
        if os.getpid() != writer:  # of a copy: the run is its parent's
            return
        with self._block:
            if not isinstance(error, KeyboardInterrupt):  # such a run counts as stopped
                why = None if self.run.metrics() else "nothing was saved"
                self.run.end(why if error is None else userfile.described(error))


def _number(value: Any) -> Any:
    """A number of NumPy or torch as one of Python; all else as it is."""
    with suppress(
        AttributeError, ValueError, RuntimeError
    ):  # none, several, or on no device
        return value.item()
    return value
