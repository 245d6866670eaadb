"""Verbs that train a run, show one being made, and try what is to be trained."""

import resource
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import HeadwayError
from headway.reading import is_folder
from headway.verbs import opened, require_runs

if TYPE_CHECKING:
    from headway.judge import Discovery
    from headway.programs import JudgedProgram
    from headway.training import Run

MOST = 5_000
"""The most sets of paths that the demo judges: some seconds."""


def demo(words: tuple[str, ...] = (), /, folder: Path | None = None) -> None:
    """Train a transformer, find its circuit, date it, and report: headway demo depth=2
    threads=2

    Args:
        words: as for headway train.
        folder: of the run; by default a free one in runs/.
    """
    started = time.perf_counter()
    from headway import terminal
    from headway.dynamics import emergence
    from headway.find import discover, every_circuit
    from headway.report import figures_if_possible, write_report
    from headway.training import train
    from headway.training.recipes import config_asked_for

    config = config_asked_for(words)
    with terminal.watching() as watch:
        run = train(config, folder, watch)
    print("finding the circuit …")
    discovery = discover(run)
    print("dating its paths …")
    timeline = emergence(run, discovery)
    print("searching for other circuits …")
    every = every_circuit(run, most=MOST)
    print("reading its program …")
    judged = _program_of(run, discovery)
    print("drawing the report …")
    page = write_report(run)
    figures_if_possible(run)
    seconds = time.perf_counter() - started
    print("", judged, "", sep="\n")
    terminal.print_summary(
        run, discovery, timeline, every, page, seconds, peak_memory()
    )


def _program_of(run: "Run", discovery: "Discovery") -> "JudgedProgram | str":
    """The program of a run, or why its task has none."""
    from headway.programs import program

    try:
        return program(run, circuit=discovery)
    except HeadwayError as error:
        return f"no program: {error}"


def peak_memory() -> float:
    """The most memory that this process has had, in gigabytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 1 if sys.platform == "darwin" else 1024
    return peak * unit / 1e9


def train(
    words: tuple[str, ...] = (),
    /,
    folder: Path | None = None,
    resume: Path | None = None,
    changed_task: bool = False,
) -> None:
    """Train a model on a task: headway train fast depth=4 model.n_heads=2
    training.steps=300

    A value is a number, true, false, none, a name, or several numbers: 1,2 or 1..8. A
    field that only one section has may be named alone: n_heads=2. `headway train RECIPE
    --help` lists all.

    Args:
        words: a recipe (by default fast), or a Python file with a task of your own,
            which is executed; then changes to its arguments and to all fields of a
            run's config, each FIELD=VALUE.
        folder: of the run; by default a free one in runs/.
        resume: the folder of a run that was stopped, to continue from its last saved
            state.
        changed_task: continue although the file of the run's task has changed.
    """
    if resume is not None and (words or folder):
        given = " ".join([*words, *(["--folder"] if folder else [])])
        raise HeadwayError(
            f"--resume continues a run as it was begun: {given} cannot be changed"
        )
    if resume is not None:
        require_runs(resume)
    from headway import terminal, training
    from headway.training.recipes import config_asked_for

    if resume is None:
        begun = partial(training.train, config_asked_for(words), folder)
    else:
        opened(resume, changed_task)
        begun = partial(training.resume, resume, changed_task=changed_task)
    with terminal.watching() as watch:
        run = begun(watch=watch)
    print(run)


def check(words: tuple[str, ...] = (), /) -> None:
    """Try a task of your own, and say what is wrong with it: headway check my_task.py
    depth=2

    Everything that training and the search for circuits use is tried. A doubt may be
    intended; with an error, the task cannot be used. For a run's folder, every file is
    read, and checked to agree with the others: headway check runs/fast. The exit code
    is 0 if there is no error, 1 if there is one, 2 if nothing could be tried.

    Args:
        words: a Python file that defines a task, which is executed, with :NAME behind
            it if it defines several; then values of the task's fields, each
            FIELD=VALUE. Or the folder of a run.
    """
    from headway import terminal
    from headway.dynamics.whole import faults_of
    from headway.tasks import check_task
    from headway.training.recipes import source_and_fields

    source, fields = source_and_fields(words)
    if source is None:
        raise HeadwayError("Missing from headway check: FILE, that defines a task")
    task: Any = None
    if not is_folder(source):
        task = _task_named(source, fields, words)
        faults = check_task(task)
    elif fields:
        raise HeadwayError(f"a run has no fields to change: {' '.join(fields)}")
    else:
        faults = faults_of(Path(source))
    has_errors = False
    for fault in faults:
        is_doubt = getattr(fault, "doubt", False)
        has_errors = has_errors or not is_doubt
        print(f"{'doubt' if is_doubt else 'error'}  {fault}")
    if not faults:
        print(f"{source}: nothing is wrong")
    if has_errors:
        sys.exit(1)
    if task is not None:
        terminal.print_task(task)


def _task_named(source: str, fields: Sequence[str], words: Sequence[str]) -> Any:
    """The task of a recipe or file; a class with undeclared fields as it is."""
    from headway.fields import hints_of, read, split, values_in
    from headway.tasks import task_in
    from headway.tasks.checking import undeclared
    from headway.training.recipes import RECIPES, config_asked_for, recipe_in

    if source in RECIPES or recipe_in(source):
        return config_asked_for(words).task
    task = task_in(source)
    if undeclared(task):
        return task
    hints = {f"task.{name}": hint for name, hint in hints_of(task).items()}
    given = values_in(map(split, fields), hints, read)
    return task(**{name.removeprefix("task."): value for name, value in given.items()})
