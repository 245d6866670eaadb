"""The training loop. There is one: it walks over the course of one run, or over many at once."""

import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headway.errors import HeadwayError, require
from headway.tasks import task_kind, task_size
from headway.training.config import RunConfig
from headway.training.course import Course
from headway.training.data import joined
from headway.training.environment import describe_environment
from headway.training.learner import Learner
from headway.training.run import Run, require_device
from headway.training.stacked import Stacked, require_one_shape

Watch = Callable[[Run, int, int, dict[str, Any] | None], None]
"""Called after every step with the run, the step, the last step as planned now, and the metrics
if the step was evaluated."""

Ended = Callable[[Run], None]
"""Called when a run has ended, done or failed, and its outcome is written."""


def train(config: RunConfig, folder: str | Path | None = None, watch: Watch | None = None) -> Run:
    """Trains a model from scratch in a new run folder.

    Args:
        config: what decides the run.
        folder: of the run; must not exist. None means `runs/` and a name made from the config.
        watch: told of every step, to show progress.

    Returns:
        The finished run.

    Raises:
        HeadwayError: if the folder exists, the disk does not take the files, or the loss stops
            being a number; all checkpoints until then are kept.
    """
    require_device(config.device)
    run = Run.create(Path(folder) if folder is not None else free_folder(config), config)
    return _continue_one(run, watch)


def resume(folder: str | Path, watch: Watch | None = None) -> Run:
    """Continues a run that was killed, interrupted or failed, as if it had never stopped.

    On the same machine with the same number of threads the final weights are the same to the
    last bit. A run that is done is returned as it is.

    Raises:
        HeadwayError: if there is no such run, another process is writing to it, or the state to
            resume from is missing, damaged or of another model.
    """
    run = Run.open(folder)
    if run.status == "done":
        return run
    require_device(run.config.device)
    return _continue_one(run, watch)


def train_stacked(
    configs: Sequence[RunConfig], folders: Sequence[str | Path], watch: Watch | None = None
) -> list[Run]:
    """Trains models of one shape from scratch, all at once, each in a new run folder of its own.

    Every run is what `train` would have made of it, to numerical precision. A run whose loss stops
    being a number ends as failed, which its status and outcome tell, and the others go on.

    Args:
        configs: what decides each run. They must agree in what `require_one_shape` demands.
        folders: of the runs; must not exist.
        watch: told of every step of every run.

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
    runs: list[Run] = []
    try:
        for config, folder in zip(configs, folders, strict=True):
            runs.append(Run.create(Path(folder), config))
    except HeadwayError:
        for run in runs:
            shutil.rmtree(run.folder, ignore_errors=True)
        raise
    _continue(runs, watch)
    return runs


def resume_stacked(
    folders: Sequence[str | Path], watch: Watch | None = None, ended: Ended | None = None
) -> list[Run]:
    """Continues runs of one shape all at once, each from where it is; those done stay as they are.

    They need not have been trained together before.

    Args:
        folders: of the runs.
        watch: told of every step of every run.
        ended: told of every run that ends here, while others may go on.

    Returns:
        The runs, done or failed, in the order of the folders.

    Raises:
        HeadwayError: if a run is missing, damaged or held by another process, or they do not fit
            together; nothing is changed then.
    """
    runs = [Run.open(folder) for folder in folders]
    going = [run for run in runs if run.status != "done"]
    require_one_shape([run.config for run in going])
    for run in going[:1]:
        require_device(run.config.device)
    _continue(going, watch, ended)
    return runs


def _continue_one(run: Run, watch: Watch | None) -> Run:
    for failure in _continue([run], watch):
        raise HeadwayError(failure)
    return run


def _continue(runs: Sequence[Run], watch: Watch | None, ended: Ended | None = None) -> list[str]:
    """Trains runs to their end, but for those that are done; why some failed, if they did."""
    with ExitStack() as held:
        for run in runs:
            held.enter_context(run.writing())
        # Another process may have ended some before this one could hold them.
        runs = [run for run in runs if (run.outcome() or {}).get("status") != "done"]
        if not runs:
            return []
        held.enter_context(runs[0].computing())
        try:
            config = runs[0].config
            environment = describe_environment(config.device, config.threads, len(runs))
            courses = [Course(run) for run in runs]
            singles = [course.load() for course in courses]
            for course, single in zip(courses, singles, strict=True):
                course.start({**environment, "precision": single.precision})
            learner = singles[0] if len(runs) == 1 else Stacked(singles)
            del singles
            follow(courses, learner, watch, ended)
        except KeyboardInterrupt as stop:
            many = "" if len(runs) == 1 else f"each of the {len(runs)} runs, as this one, "
            stop.add_note(f"continue {many}with: headway train --resume {runs[0].folder}")
            raise
    return [course.failure for course in courses if course.failure is not None]


def follow(
    courses: list[Course], learner: Learner, watch: Watch | None, ended: Ended | None = None
) -> None:
    """Makes step after step with all courses until each has come to its end: the loop.

    Losses stay on the device until something is to be written: to look at one waits for the
    device. A loss that is no number is found then, before any checkpoint that came of it is kept.

    Args:
        courses: of the runs; each is a row of the learner.
        learner: their weights and optimisers.
        watch: told of every step.
        ended: told of every run that ends.
    """
    unheard: list[Tensor] = []
    clock = time.perf_counter()
    while True:
        for row, course in enumerate(courses):
            if course.is_over and course.failure is None:
                course.finish(learner, row)
            if course.is_over and ended is not None:
                ended(course.run)
        going = [row for row, course in enumerate(courses) if not course.is_over]
        if not going:
            return
        if len(going) < len(courses):
            courses = [courses[row] for row in going]
            learner.keep(going)
        for row, course in enumerate(courses):
            if course.now.step == 0:
                course.write(learner, row)

        batch = joined([c.stream for c in courses], [c.now.step + 1 for c in courses])
        scales = [course.next_scale for course in courses]
        unheard.append(learner.step(batch, scales, courses[0].stage))
        for course in courses:
            course.advance()
        is_time = any(course.has_news for course in courses)
        heard = torch.stack(unheard, dim=1).tolist() if is_time else []
        before, clock = clock, time.perf_counter()
        for course in courses:
            course.spend(clock - before)

        metrics: dict[int, dict[str, Any] | None] = {}
        if is_time:
            unheard.clear()
            for course, losses in zip(courses, heard, strict=True):
                course.hear(losses)
            judged = [r for r, c in enumerate(courses) if c.failure is None and c.is_evaluated]
            samples = [courses[row].held_out for row in judged]
            hops = learner.evaluate(judged, samples) if judged else []
            for row, partial in zip(judged, hops, strict=True):
                metrics[row] = courses[row].judge(partial)
        for row, course in enumerate(courses):
            if course.failure is not None:
                continue
            course.write(learner, row)
            measured = metrics.get(row)
            if watch is not None:
                watch(course.run, course.now.step, course.now.end, measured)
            if measured is not None and course.is_stuck:
                learner.put(row, course.start_again(measured))


def free_folder(config: RunConfig) -> Path:
    """A folder in `runs/` that is not taken, named after the task, its depth and the seed."""
    task = config.task
    size = task_size(task).replace("=", "")
    name = f"{task_kind(task)}-{size}-L{config.model.n_layers}-s{config.seed}"
    folder, attempt = Path("runs") / name, 1
    while folder.exists():
        attempt += 1
        folder = Path("runs") / f"{name}-{attempt}"
    return folder
