"""The verb that trains many runs."""

import sys
from pathlib import Path
from typing import Literal

from headway.errors import HeadwayError


def sweep(
    words: tuple[str, ...] = (),
    /,
    folder: Path | None = None,
    workers: int | None = None,
    retry_failed: bool = False,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    gpus_per_run: float | None = None,
) -> None:
    """Train many runs, several side by side: headway sweep fast depth=1..3 n_heads=2
    seed=0..9

    Every field is given as to `headway train`, or with several values, 0,1,2 or 1..8:
    there is a run for every combination. Runs that are done are left as they are.

    Args:
        words: a recipe (by default fast), a Python file with a task of your own or with
            plan(), which is executed, or the folder of a sweep to go on with; then the
            fields.
        folder: of the sweep; by default one in runs/, named after the plan and the
            fields.
        workers: runs side by side; by default as many as there are cores for.
        retry_failed: try failed runs again.
        engine: processes on this machine, or tasks of a Ray cluster.
        address: of the cluster, host:port; by default one of this machine alone.
        gpus_per_run: a run's share of GPUs; by default 1 if its device is cuda.
    """
    from headway import sweeps, terminal
    from headway.training.recipes import source_and_fields

    source, fields = source_and_fields(words)
    plan = source or "fast"
    planned = sweeps.load_plan(plan, fields)
    place = folder or sweeps.default_folder(plan, planned, fields)
    if engine == "ray":
        chosen = sweeps.RayEngine(address, workers, gpus_per_run)
    elif address is None and gpus_per_run is None:
        chosen = sweeps.Engine(workers)
    else:
        raise HeadwayError("--address and --gpus-per-run are options of --engine ray")
    with terminal.following() as watch:
        board = sweeps.sweep(planned, place, chosen, retry_failed, watch)
    terminal.print_sweep(board, place)
    if board.named("failed"):
        sys.exit(1)
