"""Many runs: a plan, carried out side by side, and one table of the results."""

from headway.sweeps.board import Board, Standing, step_cost
from headway.sweeps.depend import clamped_plan, depend
from headway.sweeps.engine import Engine
from headway.sweeps.local import LocalEngine
from headway.sweeps.on_ray import RayEngine
from headway.sweeps.plan import Plan, default_folder, grid, load_plan
from headway.sweeps.sweep import SweepWatch, require_same, sweep
from headway.sweeps.table import require_format, table, write_table
from headway.sweeps.work import Work, carry_out

__all__ = [
    "Board",
    "Engine",
    "LocalEngine",
    "Plan",
    "RayEngine",
    "Standing",
    "SweepWatch",
    "Work",
    "carry_out",
    "clamped_plan",
    "default_folder",
    "depend",
    "grid",
    "load_plan",
    "require_format",
    "require_same",
    "step_cost",
    "sweep",
    "table",
    "write_table",
]
