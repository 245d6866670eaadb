"""The training loop of many runs of one shape at once: that of one run, row by row."""

import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headway.errors import HeadwayError, require
from headway.tasks import Batch
from headway.text import command
from headway.training.config import RunConfig
from headway.training.data import Stream
from headway.training.environment import describe_environment
from headway.training.loop import Watch, fit
from headway.training.precision import resolved
from headway.training.run import Run, require_device
from headway.training.size import require_size
from headway.training.stacked.models import Stack
from headway.training.stacked.shape import require_one_shape
from headway.training.state import DivergedError, State
from headway.training.trainer import begin, fail, finish, give_up, held_out_of, restored, save

Ended = Callable[[Run], None]
"""Called when a run has ended, done or failed, and its outcome is written."""


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
    runs: list[Run] = []
    try:
        for config, folder in zip(configs, folders, strict=True):
            runs.append(Run.create(Path(folder), config))
    except HeadwayError:
        for run in runs:
            shutil.rmtree(run.folder, ignore_errors=True)
        raise
    fit_stacked(runs, watch)
    return runs


def resume_stacked(
    folders: Sequence[str | Path],
    watch: Watch | None = None,
    ended: Ended | None = None,
    changed_task: bool = False,
) -> list[Run]:
    """Continues runs of one shape all at once, each from where it is; those done stay as they are.

    They need not have been trained together before. One run alone goes on as with `resume`.

    Args:
        folders: of the runs.
        watch: called after every step of every run.
        ended: called with every run that ends here, while others may go on.
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
    fit_stacked(going, watch, ended)
    return runs


def fit_stacked(runs: Sequence[Run], watch: Watch | None, ended: Ended | None = None) -> None:
    """Trains runs to their ends, from where they are, but for those that are done."""
    if len(runs) == 1:
        with suppress(DivergedError):  # the run's outcome tells
            fit(runs[0], watch)
        if ended is not None:
            ended(runs[0])
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
            make_steps(*loaded(runs), watch, ended)
        except KeyboardInterrupt as stop:
            many = f"each of the {len(runs)} runs, as this one, "
            resume = command("train", "--resume", runs[0].folder)
            stop.add_note(f"continue {many}with: {resume}")
            raise


@dataclass
class Replica:
    """A run that is trained with others, but for its weights, which are a row of a stack.

    Attributes:
        run: the run.
        state: how far it is.
        batches: that it learns from.
        validation: what it is evaluated on.
        has_failed: whether its loss is no number any more.
    """

    run: Run
    state: State
    batches: Stream
    validation: Batch
    has_failed: bool = False

    def fail(self, error: DivergedError) -> None:
        """Ends the run as failed."""
        fail(self.run, error)
        self.has_failed = True


def loaded(runs: Sequence[Run]) -> tuple[list[Replica], Stack]:
    """Runs as they were when they were last saved. Nothing is changed unless all can be loaded."""
    config = runs[0].config
    precision = resolved(config.training.precision, torch.device(config.device))
    environment = describe_environment(config.device, config.threads, len(runs))
    trainers = [restored(run) for run in runs]
    for run, trainer in zip(runs, trainers, strict=True):
        begin(run, trainer.state, {**environment, "precision": precision})
    replicas = [
        Replica(run, trainer.state, trainer.batches, held_out_of(run, "held-out"))
        for run, trainer in zip(runs, trainers, strict=True)
    ]
    models = [(trainer.model, trainer.optimisers) for trainer in trainers]
    return replicas, Stack(models, runs[0].task, precision)


def make_steps(
    replicas: list[Replica], stack: Stack, watch: Watch | None, ended: Ended | None
) -> None:
    """The loop; see that of one run, `training.loop.make_steps`."""
    unread: list[Tensor] = []
    clock = time.perf_counter()
    while replicas := without_ended(replicas, stack, ended):
        for row, replica in enumerate(replicas):
            if replica.state.step == 0:
                replica.run.save_checkpoint(0, stack.weights(row))

        scales = [replica.state.next_scale(replica.run.config.training) for replica in replicas]
        unread.append(stack.step(joined(replicas), scales))
        for replica in replicas:
            replica.state.step += 1
        is_due = any(replica.state.is_due(replica.run.config.training) for replica in replicas)
        known = torch.stack(unread, dim=1).tolist() if is_due else []
        before, clock = clock, time.perf_counter()
        for replica in replicas:
            replica.state.seconds += clock - before

        metrics: dict[int, dict[str, Any]] = {}
        if is_due:
            unread.clear()
            for replica, losses in zip(replicas, known, strict=True):
                try:
                    replica.state.add_losses(losses)
                except DivergedError as error:
                    replica.fail(error)
            metrics = evaluated(replicas, stack)
        for row, replica in enumerate(replicas):
            if not replica.has_failed:
                write(replica, stack, row, watch, metrics.get(row))


def without_ended(replicas: list[Replica], stack: Stack, ended: Ended | None) -> list[Replica]:
    """The replicas that have steps left to make; the others leave the stack."""
    going = []
    for row, replica in enumerate(replicas):
        run, state = replica.run, replica.state
        if not replica.has_failed and state.step < state.end:
            going.append(row)
            continue
        if not replica.has_failed:
            (losses,) = stack.evaluate([row], [held_out_of(run, "test")])
            finish(run, state, losses)
        if ended is not None:
            ended(run)
    if going and len(going) < len(replicas):
        stack.keep(going)
    return [replicas[row] for row in going]


def evaluated(replicas: list[Replica], stack: Stack) -> dict[int, dict[str, Any]]:
    """The metrics of the replicas that are evaluated after this step, by row."""
    rows = [
        row
        for row, replica in enumerate(replicas)
        if not replica.has_failed and replica.state.is_evaluated(replica.run.config.training)
    ]
    metrics: dict[int, dict[str, Any]] = {}
    losses = stack.evaluate(rows, [replicas[row].validation for row in rows]) if rows else []
    for row, partial in zip(rows, losses, strict=True):
        run, state = replicas[row].run, replicas[row].state
        try:
            metrics[row] = state.add_evaluation(run.config.training, run.task.hops, partial)
        except DivergedError as error:
            replicas[row].fail(error)
        else:
            run.append_metrics(metrics[row])
    return metrics


def write(
    replica: Replica,
    stack: Stack,
    row: int,
    watch: Watch | None,
    metrics: dict[str, Any] | None,
) -> None:
    """Keeps the weights of a row, saves its run, gives an attempt up: whatever is due."""
    run, state, config = replica.run, replica.state, replica.run.config.training
    if state.is_checkpoint(config):
        run.save_checkpoint(state.step, stack.weights(row))
    full_from = replica.batches.full_from
    is_stuck = metrics is not None and state.is_stuck(config, run.task.n_hops, full_from)
    if state.is_saved(config) and not is_stuck:
        save(run, state, stack.weights(row), stack.remembered(row))
    if watch is not None:
        watch(run, state.step, state.end, metrics)
    if metrics is not None and is_stuck:
        replica.state, model, optimisers, replica.batches = give_up(run, state, metrics)
        stack.put(row, model, optimisers)


def joined(replicas: Sequence[Replica]) -> Batch:
    """The next batches of all replicas, one after the other.

    They are drawn one by one, and laid out all at once.
    """
    draws = [replica.batches.draws(replica.state.step + 1) for replica in replicas]
    task = replicas[0].batches.task
    return task.assemble(tuple(torch.cat(parts) for parts in zip(*draws, strict=True)))
