"""A training loop of one's own, recorded: what it leaves is a run like any other."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from headway import userfile
from headway.errors import require
from headway.models import tapped
from headway.tasks import Task
from headway.training.config import Elsewhere, RunConfig
from headway.training.data import held_out
from headway.training.losses import evaluate, require_answers
from headway.training.modules import Module, is_causal
from headway.training.run import Run


class Recorder:
    """Keeps checkpoints and evaluations of a model that a loop of one's own trains.

        with headway.Recorder("runs/mine", model, task) as recorder:
            for step in range(1, 1001):
                loss = train_step(model)
                if step % 50 == 0:
                    recorder.save(step, loss)
        found = headway.discover("runs/mine")

    Other processes, such as the command line, must be able to build the model again. They call
    `build`, a function or class in a file of yours, without arguments; by default the model's own
    class, if that gives weights of the same shapes. Otherwise they must be told how:
    `headway.Run.open(folder, build=…)`.

    Args:
        folder: of the run; must not exist.
        model: any module whose attention can be tapped (`headway.tapped`).
        task: what it is trained on.
        build: makes such a module, with any weights.
        seed: of the held-out sequences that it is evaluated on.
        sequences: how many they are.

    Raises:
        HeadwayError: if the folder exists, the model's attention cannot be tapped, or it does not
            answer the task.
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
        self.model, self.task = model, task
        weight = next(iter(model.parameters()), None)
        device = "cpu" if weight is None else str(weight.device).replace("mps:0", "mps")
        self._held_out = held_out(task, sequences, seed, device)
        with evaluating(model):
            require_answers(tapped(model), task, self._held_out)
            self._tapped = tapped(model, self._held_out.inputs[:2])
            causal = is_causal(self._tapped, self._held_out.inputs[:2])
            described = Module.of(self._tapped, build, causal)
        threads = min(256, torch.get_num_threads())  # the most that a config may ask for
        config = RunConfig(task, described, Elsewhere(), seed, device, threads)
        self.run = Run.create(Path(folder), config)
        described.keep()
        self._clock = time.perf_counter()

    def save(self, step: int, loss: float | Tensor) -> dict[str, Any]:
        """Keeps the weights after a step, and evaluates them on the held-out sequences.

        Args:
            step: how many steps were made; must grow from call to call.
            loss: of training, at this step or since the last call.

        Returns:
            The metrics: the validation loss and the loss of every hop.

        Raises:
            HeadwayError: if the step is none, or a loss is no finite number; nothing is kept then.
        """
        last = max(self.run.checkpoint_steps(), default=-1)
        fits = isinstance(step, int) and step > last
        require(fits, "step", step, f"a whole number above {last}, the last one")
        with evaluating(self.model):
            partial = evaluate(self._tapped, self.task, self._held_out).tolist()
        metrics = {
            "step": step,
            "train_loss": float(torch.as_tensor(loss).detach()),
            "val_loss": sum(partial) / len(partial),
            "partial": dict(zip(self.task.hops, partial, strict=True)),
            "seconds": round(time.perf_counter() - self._clock, 3),
        }
        for name in ("train_loss", "val_loss"):
            require(math.isfinite(metrics[name]), name, metrics[name], "finite")
        weights = {name: weight.clone() for name, weight in self.model.state_dict().items()}
        self.run.save_checkpoint(step, weights)
        self.run.append_metrics(metrics)
        return metrics

    def __enter__(self) -> "Recorder":
        self._writing = self.run.writing()
        self._writing.__enter__()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, *_: object) -> None:
        try:
            if not isinstance(error, KeyboardInterrupt):  # such a run counts as stopped
                why = None if self.run.metrics() else "nothing was saved"
                self.run.end(why if error is None else userfile.described(error))
        finally:
            self._writing.__exit__(None, None, None)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Puts a module into its evaluation mode, and back."""
    was = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was)
