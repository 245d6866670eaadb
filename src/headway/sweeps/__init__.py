"""Many runs: a plan, carried out side by side, and one table of the results."""

from typing import Literal

from headway.bases import Base
from headway.errors import HeadwayError
from headway.sweeps.board import Board, step_cost
from headway.sweeps.depend import clamped_plan, depend, measure_clamped, stays_of, train_clamped
from headway.sweeps.engine import Engine
from headway.sweeps.jobs import Event
from headway.sweeps.local import LocalEngine
from headway.sweeps.on_ray import RayEngine
from headway.sweeps.plan import Cell, Plan, cells, grid
from headway.sweeps.sources import default_folder, load_plan
from headway.sweeps.sweep import require_same, sweep
from headway.sweeps.table import require_format, table, write_table


def make_engine(
    kind: Literal["local", "ray"],
    workers: int | None,
    address: str | None,
    gpus_per_run: float | None,
) -> Engine:
    """The engine that the command line asks for.

    Raises:
        HeadwayError: if it has no such option, or a value is not allowed.
    """
    if kind == "ray":
        return RayEngine(address, workers, gpus_per_run)
    for option, given in (
        ("address", address is not None),
        ("gpus-per-run", gpus_per_run is not None),
    ):
        if given:
            raise HeadwayError(f"--{option} is an option of --engine ray")
    return LocalEngine(workers)


__all__ = [
    "Base",
    "Board",
    "Cell",
    "Engine",
    "Event",
    "LocalEngine",
    "Plan",
    "RayEngine",
    "cells",
    "clamped_plan",
    "default_folder",
    "depend",
    "grid",
    "load_plan",
    "make_engine",
    "measure_clamped",
    "require_format",
    "require_same",
    "stays_of",
    "step_cost",
    "sweep",
    "table",
    "train_clamped",
    "write_table",
]
