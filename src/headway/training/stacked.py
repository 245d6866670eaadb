"""Replicas: many runs of one shape that are trained at once, each as it would be alone."""

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headway.errors import require
from headway.tasks import Batch
from headway.text import command
from headway.training.config import RunConfig, flat
from headway.training.curriculum import CURRICULUM
from headway.training.loop import Trainer, Watch, fit
from headway.training.run import Run, require_device, require_free
from headway.training.size import require_size
from headway.training.stack import Stack
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
    if training.optimizer == "sgd":
        return "training.optimizer", "sgd", "adam or muon in a stack of runs"
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
    if len(runs) == 1:
        with suppress(DivergedError):  # the run's outcome tells
            fit(runs[0], watch)
        return
    with ExitStack() as held:
        for run in runs:
            held.enter_context(run.writing())
        # Another process may have ended some before this one could hold them.
        runs = [run for run in runs if (run.outcome() or {}).get("status") != "done"]
        if not runs:
            return
        held.enter_context(runs[0].computing())
        try:
            make_steps([Replica.restored(run) for run in runs], watch)
        except KeyboardInterrupt as stop:
            many = f"each of the {len(runs)} runs, as this one, "
            resume = command("train", "--resume", runs[0].folder)
            stop.add_note(f"continue {many}with: {resume}")
            raise


class Replica(Trainer):
    """A run that is trained with others, its weights being a row of their stack.

    Attributes:
        stack: the stack.
        row: of the stack.
        partial: the losses of its last evaluation.
        has_failed: whether its loss is no number any more.
    """

    stack: Stack
    row: int
    partial: Sequence[float] = ()
    has_failed = False

    def losses(self) -> list[float]:
        """The loss of every hop, which was found for all rows at once."""
        return [*self.partial]

    def test_losses(self) -> list[float]:
        """The loss of every hop on the test sample."""
        (losses,) = self.stack.evaluate([self.row], [self.held_out("test")])
        return losses

    def weights(self) -> dict[str, Tensor]:
        """The row's weights as they are now."""
        return self.stack.weights(self.row)

    def memory(self) -> dict[str, Tensor]:
        """All that is remembered of the row's weights."""
        return self.stack.memory(self.row)

    def give_up(self, metrics: dict[str, Any]) -> None:
        """Starts another attempt in the row's place."""
        super().give_up(metrics)
        self.stack.put(self.row, self.optimisers)

    def after(self, loss: Tensor, watch: Watch | None) -> None:
        """Does whatever is due; a loss that is no number ends this run alone."""
        try:
            super().after(loss, watch)
        except DivergedError as error:
            self.fail(error)
            self.has_failed = True


def make_steps(replicas: list[Replica], watch: Watch | None) -> None:
    """The loop; see `Trainer.fit`."""
    models = [(replica.model, replica.optimisers) for replica in replicas]
    stack = Stack(models, replicas[0].run.task, replicas[0].precision)
    for row, replica in enumerate(replicas):
        replica.stack, replica.row = stack, row
        replica.begin(len(replicas))
    while replicas := without_ended(replicas, stack):
        for replica in replicas:
            replica.before()
        scales = [replica.state.next_scale(replica.config) for replica in replicas]
        losses = stack.step(joined(replicas), scales)
        for replica in replicas:
            replica.state.step += 1
        due = [replica for replica in replicas if replica.state.is_evaluated(replica.config)]
        if due:
            found = stack.evaluate([one.row for one in due], [one.validation for one in due])
            for replica, partial in zip(due, found, strict=True):
                replica.partial = partial
        for replica, loss in zip(replicas, losses, strict=True):
            replica.after(loss, watch)


def without_ended(replicas: list[Replica], stack: Stack) -> list[Replica]:
    """The replicas that have steps left to make; the others leave the stack."""
    going = [one for one in replicas if not one.has_failed and one.state.step < one.state.end]
    for replica in replicas:
        if not replica.has_failed and replica not in going:
            replica.finish()
    if going and len(going) < len(replicas):
        stack.keep([replica.row for replica in going])
        for row, replica in enumerate(going):
            replica.row = row
    return going


def joined(replicas: Sequence[Replica]) -> Batch:
    """The next batches of all replicas, drawn one by one and laid out all at once."""
    draws = [replica.batches.draws(replica.state.step + 1) for replica in replicas]
    task = replicas[0].batches.task
    return task.assemble(tuple(torch.cat(parts) for parts in zip(*draws, strict=True)))
