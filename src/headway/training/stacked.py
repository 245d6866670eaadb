"""Replicas: many runs of one shape that are trained at once, each as it would be alone."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn, vmap
from torch.func import functional_call

from headway.errors import require
from headway.tasks import Batch
from headway.training.config import RunConfig, flat
from headway.training.curriculum import CURRICULUM
from headway.training.environment import casting, rounding
from headway.training.loop import Trainer, Watch, going_on
from headway.training.optimisers import step_together
from headway.training.run import Run, require_device, require_free
from headway.training.size import require_size
from headway.training.state import DivergedError

ONE_SHAPE = (
    *("task", "model", "device", "threads"),
    *("training.batch_size", "training.eval_examples", "training.curriculum"),
    *("training.optimizer", "training.precision"),
)
"""What the runs of a stack must agree in. All else is each one's own: seed, data, rates, decay,
schedule, when it is evaluated, saved, stopped or given up."""


def shape_of(config: RunConfig) -> dict[str, Any] | None:
    """What `ONE_SHAPE` names of a config, by dotted name; None if it can be in no stack.

    Runs of which this is the same can be trained in one stack.
    """
    if _problem(config):
        return None
    return {
        name: value
        for name, value in flat(config).items()
        if any(name == part or name.startswith(f"{part}.") for part in ONE_SHAPE)
    }


def require_one_shape(configs: Sequence[RunConfig]) -> None:
    """Checks that runs can be trained in one stack.

    Raises:
        HeadwayError: if they differ in what `ONE_SHAPE` names, or can be in no stack; it names the
            field.
    """
    for problem in map(_problem, configs if len(configs) > 1 else ()):
        require(problem is None, *(problem or ("", "", "")))
    shapes = [shape_of(config) or {} for config in configs]
    for other in shapes[1:]:
        for name in [*shapes[0], *other]:
            value, first = other.get(name), shapes[0].get(name)
            require(value == first, name, value, f"{first!r} as in the stack's first run")


def _problem(config: RunConfig) -> tuple[str, Any, str] | None:
    """The field for which a run can be in no stack, its value, and what would be allowed."""
    training = config.training
    if not training.curriculum.is_steady:
        kind = training.curriculum.kind
        return CURRICULUM, kind, "implicit in a stack of runs, or another that never changes"
    if training.clamped:
        return "training.clamped", ", ".join(training.clamped), "no path in a stack of runs"
    return None


def train_stacked(
    configs: Sequence[RunConfig], folders: Sequence[str | Path], watch: Watch | None = None
) -> list[Run]:
    """Trains models of one shape from scratch, all at once, each in a new run folder of its own.

    Every run is what `train` would have made of it, to numerical precision. A run whose loss stops
    being a number ends as failed, which its status and outcome tell, and the others go on.

    Args:
        configs: what decides each run. They must agree in what `require_one_shape` demands.
        folders: of the runs; must not exist.
        watch: called after every step of every run.

    Returns:
        The runs, done or failed, in the order of the configs.

    Raises:
        HeadwayError: if the configs do not fit together, a folder exists, or the disk does not
            take the files.
    """
    require(len(configs) == len(folders), "folders", len(folders), f"{len(configs)}, one a config")
    require_one_shape(configs)
    for config in configs[:1]:
        require_device(config.device)
        require_size(config, len(configs))
    pairs = [(Path(folder), config) for folder, config in zip(folders, configs, strict=True)]
    for folder, config in pairs:
        require_free(folder, config)
    runs = [Run.create(folder, config) for folder, config in pairs]
    fit_stacked(runs, watch)
    return runs


def resume_stacked(
    folders: Sequence[str | Path], watch: Watch | None = None, changed_task: bool = False
) -> list[Run]:
    """Continues runs of one shape all at once, each from where it is; those done stay as they are.

    They need not have been trained together before. One run alone goes on as with `resume`.

    Args:
        folders: of the runs.
        watch: called after every step of every run.
        changed_task: whether to go on although the file of the runs' task has changed.

    Returns:
        The runs, done or failed, in the order of the folders.

    Raises:
        HeadwayError: if a run is missing, damaged or held by another process, its task has
            changed, or they do not fit together; nothing is changed then.
    """
    runs = [Run.open(folder) for folder in folders]
    going = [run for run in runs if run.status != "done"]
    require_one_shape([run.config for run in going])
    for run in going:
        run.require_resumable(changed_task)
    fit_stacked(going, watch)
    return runs


def fit_stacked(runs: Sequence[Run], watch: Watch | None) -> None:
    """Trains runs to their ends, from where they are, but for those that are done."""
    with going_on(runs) as trainers:
        if len(runs) > 1:
            make_steps(trainers, watch)
        else:
            for trainer in trainers:
                with suppress(DivergedError):  # the run's outcome tells
                    trainer.fit(watch)


class Stack:
    """Models of one shape that learn at once: each weight of all of them lies in one tensor.

    The model's code knows nothing of replicas: `torch.vmap` runs it with the weights of all, so
    that products of matrices become products of stacks of matrices. An error in one stays in it: no
    operation looks across replicas, and the gradient of the sum of the losses is, one by one, that
    of each one's own loss. Each is moved by its own optimisers.

    Args:
        replicas: runs of one shape; their models' weights become parts of the stack's.
    """

    def __init__(self, replicas: Sequence[Trainer]):
        first = replicas[0]
        self.models = [one.model for one in replicas]
        self._optimisers = [one.optimisers for one in replicas]
        self._targets, self._precision = first.run.task.targets, first.precision
        named = [dict(model.named_parameters()) for model in self.models]
        self._weights = {
            name: torch.stack([each[name].detach() for each in named]) for name in named[0]
        }
        self._own = [[weights[name] for name in self._weights] for weights in named]
        for row, own in enumerate(self._own):
            for weight, together in zip(own, self._weights.values(), strict=True):
                weight.data = together[row]
        self._linear = {
            f"{name}.{kind}"
            for name, module in first.model.named_modules()
            if isinstance(module, nn.Linear)
            for kind in ("weight", "bias")
        }

    def step(self, batch: Batch, scales: Sequence[float]) -> Float[Tensor, " replica"]:
        """Makes one step of all replicas and returns the losses before it, on the device.

        Args:
            batch: the sequences of all, one replica's after the other's.
            scales: the factor on each one's rates.
        """
        inputs = batch.inputs.unflatten(0, (len(scales), -1))
        targets = batch.targets.unflatten(0, (len(scales), -1))
        weights = {name: weight.detach().requires_grad_() for name, weight in self._weights.items()}
        with rounding(self._precision, inputs.device):
            with casting(self._precision, inputs.device):
                losses = vmap(self._loss)(self._cast(weights), inputs, targets)
            gradients = torch.autograd.grad(
                losses.sum(), [*weights.values()], materialize_grads=True
            )
            whole = [gradient.contiguous() for gradient in gradients]  # as a fused Adam takes them
            for row, own in enumerate(self._own):
                for weight, gradient in zip(own, whole, strict=True):
                    weight.grad = gradient[row]
            step_together(self._optimisers, scales)
        return losses.detach()

    def _loss(self, weights: dict[str, Tensor], inputs: Tensor, targets: Tensor) -> Tensor:
        return self._targets.loss(functional_call(self.models[0], weights, (inputs,)), targets)

    def _cast(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """As autocast would: under `vmap` it forgets biases, and adding them in float32 would make
        all that follows float32."""
        if self._precision != "bfloat16":
            return weights
        return {name: w.bfloat16() if name in self._linear else w for name, w in weights.items()}


def make_steps(replicas: Sequence[Trainer], watch: Watch | None) -> None:
    """The loop (see `Trainer.fit`); a loss that is no number ends its own run alone."""
    for replica in replicas:
        replica.begin(len(replicas))
    going, stack = without_ended(replicas), None
    while going:
        for replica in going:
            replica.before()
        if stack is None or stack.models != [replica.model for replica in going]:
            stack = Stack(going)  # some have ended, or start another attempt
        scales = [replica.state.next_scale(replica.config) for replica in going]
        losses = stack.step(joined(going), scales)
        failed = list[Trainer]()
        for replica, loss in zip(going, losses, strict=True):
            replica.state.step += 1
            try:
                replica.after(loss, watch)
            except DivergedError as error:
                replica.fail(error)
                failed.append(replica)
        going = without_ended([replica for replica in going if replica not in failed])


def without_ended(replicas: Sequence[Trainer]) -> list[Trainer]:
    """The replicas that have steps left to make; the others are recorded as done."""
    going = [replica for replica in replicas if replica.state.step < replica.state.end]
    for replica in replicas:
        if replica not in going:
            replica.finish()
    return going


def joined(replicas: Sequence[Trainer]) -> Batch:
    """The next batches of all replicas, drawn one by one and laid out all at once."""
    draws = [replica.batches.draws(replica.state.step + 1) for replica in replicas]
    task = replicas[0].batches.task
    return task.assemble(tuple(torch.cat(parts) for parts in zip(*draws, strict=True)))
