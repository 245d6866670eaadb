"""Verbs that train: one run or many."""

import sys
from pathlib import Path
from typing import Literal

from tyro.conf import Positional

from headway.arguments import Flag, Words, flattened, training_asked_for


def demo(folder: Path | None = None, depth: int = 3, seed: int = 0, threads: int = 1) -> None:
    """Train a transformer on the retrieval problem, find its circuit, date it, and report.

    Args:
        folder: of the run; none means a free one in runs/.
        depth: D, attention hops to the answer.
        seed: of weights and data.
        threads: that train; two are quicker on idle cores, and give other last bits.
    """
    from headway.demo import demo

    demo(folder, depth, seed, threads)


def train(args: list[str]) -> None:
    """Trains with a recipe and changes to it, or continues a run."""
    from headway import terminal
    from headway.training import resume, train

    asked = training_asked_for(args)
    with terminal.watching() as watch:
        run = resume(asked, watch) if isinstance(asked, Path) else train(*asked, watch)
    terminal.print_outcome(run)


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
        sort: the column to sort by, such as val_loss; none means by name.
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
    plan: Positional[str] = "fast",
    grid: Words = (),
    folder: Path | None = None,
    workers: int | None = None,
    retry_failed: Flag = False,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    gpus_per_run: float | None = None,
    bring_home: Flag = False,
    stack: int = 1,
) -> None:
    """Train every run of a plan that is not done yet, several side by side.

    Args:
        plan: a recipe, a Python file that defines plan(), or the folder of a sweep to go on with.
        grid: what to cross it with: model.n_layers=1..8 seed=0,1,2 training.optimizer=adam,muon
        folder: of the sweep; none means one in runs/, named after the plan and the grid.
        workers: runs or stacks side by side; none means as many as there are cores for.
        retry_failed: try failed runs again.
        engine: processes on this machine, or tasks of a Ray cluster.
        address: of the cluster, host:port; none means one of this machine alone.
        gpus_per_run: a run's or stack's share of GPUs; none means 1 if its device is cuda.
        bring_home: nodes return a run's files instead of writing to a folder that they share.
        stack: at most so many runs of one shape are trained at once, as one; pays on a GPU.
    """
    from headway import sweeps, terminal

    texts = flattened("grid", grid)
    planned = sweeps.load_plan(plan, texts)
    place = folder or sweeps.default_folder(plan, planned, texts)
    chosen = sweeps.make_engine(engine, workers, address, gpus_per_run, bring_home)
    with terminal.following() as watch:
        board = sweeps.sweep(planned, place, chosen, retry_failed, watch, stack)
    terminal.print_sweep(board, place)
    if board.count("failed"):
        sys.exit(1)
