"""The training loop of one run, from top to bottom. (Many runs at once: `training.stacked`.)"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headway.errors import require
from headway.text import command
from headway.training.config import RunConfig
from headway.training.environment import describe_environment
from headway.training.finding import free_folder
from headway.training.precision import casting, resolved, rounding
from headway.training.run import Run, require_device
from headway.training.size import require_size
from headway.training.state import DivergedError
from headway.training.trainer import (
    begin,
    fail,
    finish,
    give_up,
    held_out_of,
    is_learnt,
    losses_at,
    restored,
    save,
)

Watch = Callable[[Run, int, int, dict[str, Any] | None], None]
"""Called after every step with the run, the step, the last step as planned now, and the metrics
if the step was evaluated."""


def train(config: RunConfig, folder: str | Path | None = None, watch: Watch | None = None) -> Run:
    """Trains a model from scratch in a new run folder.

    Args:
        config: what decides the run.
        folder: of the run; must not exist. By default a new one in `runs/`, named after the config.
        watch: called after every step, to show progress.

    Returns:
        The finished run.

    Raises:
        HeadwayError: if the config is none, the folder exists, the disk does not take the files,
            or the loss stops being a number; all checkpoints until then are kept.
    """
    require(isinstance(config, RunConfig), "config", config, "a RunConfig, such as fast(depth=3)")
    require_device(config.device)
    place = Path(folder) if folder is not None else free_folder(config)
    require_size(config)
    run = Run.create(place, config)
    fit(run, watch)
    return run


def resume(folder: str | Path, watch: Watch | None = None, changed_task: bool = False) -> Run:
    """Continues a run that was killed, interrupted or failed, as if it had never stopped.

    On the same machine with the same number of threads the final weights are the same to the
    last bit. A run that is done is returned as it is.

    Args:
        folder: of the run.
        watch: called after every step, to show progress.
        changed_task: whether to go on although the file of the run's task has changed.

    Raises:
        HeadwayError: if there is no such run, its task has changed, another process is writing to
            it, or the state to resume from is missing, damaged or of another model.
    """
    run = Run.open(folder)
    if run.status == "done":
        run.metrics()
    else:
        run.require_resumable(changed_task)
        fit(run, watch)
    return run


def fit(run: Run, watch: Watch | None = None) -> None:
    """Trains a run to its end, from where it is.

    Raises:
        HeadwayError: as `train` and `resume` do.
    """
    with run.writing(), run.computing():
        if (run.outcome() or {}).get("status") == "done":  # by another process, meanwhile
            return
        try:
            make_steps(run, watch)
        except KeyboardInterrupt as stop:
            stop.add_note(f"continue with: {command('train', '--resume', run.folder)}")
            raise
        except DivergedError as error:
            raise fail(run, error) from None


def make_steps(run: Run, watch: Watch | None) -> None:
    """The loop.

    Losses stay on the device until something is due, as reading one waits for the device. A loss
    that is no number is found then, before any checkpoint that it spoilt is kept.
    """
    config, task, device = run.config.training, run.task, torch.device(run.config.device)
    precision = resolved(config.precision, device)
    state, model, optimisers, batches = restored(run)
    environment = describe_environment(run.config.device, run.config.threads)
    begin(run, state, {**environment, "precision": precision})
    validation = held_out_of(run, "held-out")
    losses: list[Tensor] = []
    clock = time.perf_counter()
    while state.step < state.end:
        if state.step == 0:
            run.save_checkpoint(0, model.state_dict())

        batch = batches.batch(state.step + 1, state.stage)
        tap = config.clamp.tap(task, batch, state.step + 1)
        with rounding(precision, device):
            with casting(precision, device):
                loss = config.curriculum.loss(model, task.targets, batch, tap)
            optimisers.zero_grad()
            loss.backward()
            optimisers.step(state.next_scale(config), state.step)
        losses.append(loss.detach())
        state.step += 1

        is_due = state.is_due(config)
        known = torch.stack(losses).tolist() if is_due else []
        before, clock = clock, time.perf_counter()
        state.seconds += clock - before
        metrics = None
        if is_due:
            losses.clear()
            state.add_losses(known)
        if state.is_evaluated(config):
            partial = losses_at(run, state.step, model, validation)
            metrics = state.add_evaluation(config, task.hops, partial)
            run.append_metrics(metrics)
            if is_learnt(run, state.step, state.stage, model):
                state.next_stage()
        if state.is_checkpoint(config):
            run.save_checkpoint(state.step, model.state_dict())
        is_stuck = metrics is not None and state.is_stuck(config, task.n_hops, batches.full_from)
        if state.is_saved(config) and not is_stuck:
            save(run, state, model.state_dict(), optimisers.state())
        if watch is not None:
            watch(run, state.step, state.end, metrics)
        if metrics is not None and is_stuck:
            state, model, optimisers, batches = give_up(run, state, metrics)
    finish(run, state, losses_at(run, state.step, model, held_out_of(run, "test")))
