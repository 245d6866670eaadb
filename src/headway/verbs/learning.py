"""Verbs that train: one run or many."""

import sys
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from headway.arguments import (
    Fields,
    Flag,
    Words,
    config_asked_for,
    flattened,
    note,
    opened,
)
from headway.errors import HeadwayError


def demo(words: Fields = (), folder: Path | None = None) -> None:
    """Train a transformer, find its circuit, date it, and report: headway demo depth=2 threads=2

    Args:
        words: as for headway train.
        folder: of the run; by default a free one in runs/.
    """
    config = config_asked_for(words)
    from headway.demo import demo

    demo(config, folder)


def train(
    words: Fields = (),
    folder: Path | None = None,
    resume: Path | None = None,
    changed_task: Flag = False,
) -> None:
    """Train a model on a task: headway train fast depth=4 model.n_heads=2 training.steps=300

    A value is a number, true, false, none, a name, or several numbers: 1,2 or 1..8. A field that
    only one section has may be named alone: n_heads=2. `headway train RECIPE --help` lists all.

    Args:
        words: a recipe (by default fast), or a Python file with a task of your own, which is
            executed; then changes to its arguments and to all fields of a run's config, each
            FIELD=VALUE.
        folder: of the run; by default a free one in runs/.
        resume: the folder of a run that was stopped, to continue from its last saved state.
        changed_task: continue although the file of the run's task has changed.
    """
    if resume is not None and (words or folder):
        given = " ".join([*words, *(["--folder"] if folder else [])])
        raise HeadwayError(f"--resume continues a run as it was begun: {given} cannot be changed")
    from headway import terminal

    if resume is None:
        config = config_asked_for(words)
        from headway.training import train

        with terminal.watching() as watch:
            run = train(config, folder, watch)
    else:
        opened(resume, changed_task)
        from headway import training

        with terminal.watching() as watch:
            run = training.resume(resume, watch, changed_task)
    terminal.say(str(run))


def runs(
    folder: Positional[Path] = Path("runs"),
    where: Words = (),
    sort: str | None = None,
    table: Path | None = None,
) -> None:
    """List the runs in a folder, in its sweeps and folders of sweeps, and their state.

    Args:
        folder: that holds run folders, or sweeps' folders.
        where: which runs, by fields of their configs or by status: seed=0..3 status=done,failed
        sort: the column to sort by, such as val_loss; by default the name.
        table: a file to write every field and figure to: .csv, .parquet or .json
    """
    from headway import sweeps, terminal

    if table is not None:
        sweeps.require_format(table)
    conditions = flattened("where", where)
    rows = sweeps.table(folder, conditions, sort)
    if conditions:
        terminal.print_runs(rows, folder, f"no run here is {' and '.join(conditions)}")
    else:
        terminal.print_runs(rows, folder)
    if table is not None:
        sweeps.write_table(table, rows)
        terminal.say(f"written to {table}")


def sweep(
    plan: Annotated[Positional[str], arg(metavar="[PLAN]")] = "fast",
    grid: Words = (),
    folder: Path | None = None,
    workers: int | None = None,
    retry_failed: Flag = False,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    gpus_per_run: float | None = None,
    stack: int = 1,
) -> None:
    """Train every run of a plan that is not done yet, several side by side.

    Args:
        plan: a recipe, a Python file with a task of your own or with plan(), which is executed, or
            the folder of a sweep to go on with.
        grid: what to cross it with: model.n_layers=1..8 seed=0,1,2 training.optimizer=adam,muon
        folder: of the sweep; by default one in runs/, named after the plan and the grid.
        workers: runs or stacks side by side; by default as many as there are cores for.
        retry_failed: try failed runs again.
        engine: processes on this machine, or tasks of a Ray cluster.
        address: of the cluster, host:port; by default one of this machine alone.
        gpus_per_run: a run's or stack's share of GPUs; by default 1 if its device is cuda.
        stack: the most runs of one shape that are trained together; pays on a GPU.
    """
    from headway import sweeps, terminal
    from headway.changes import told

    texts = flattened("grid", grid)
    planned = sweeps.load_plan(plan, texts)
    for line in told(planned.carried):
        note(line)
    place = folder or sweeps.default_folder(plan, planned, texts)
    if engine == "ray":
        chosen = sweeps.RayEngine(address, workers, gpus_per_run)
    elif address is None and gpus_per_run is None:
        chosen = sweeps.LocalEngine(workers)
    else:
        raise HeadwayError("--address and --gpus-per-run are options of --engine ray")
    with terminal.following() as watch:
        board = sweeps.sweep(planned, place, chosen, retry_failed, watch, stack)
    terminal.print_sweep(board, place)
    if board.count("failed"):
        sys.exit(1)
