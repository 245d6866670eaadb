"""Many runs: a plan, carried out side by side, and one table of the results."""

from headway.sweeps.depend import clamped_plan, depend
from headway.sweeps.engines import Engine, carry_out
from headway.sweeps.on_ray import RayEngine
from headway.sweeps.plan import Plan, default_folder, grid, load_plan
from headway.sweeps.sweep import (
    Board,
    Standing,
    SweepWatch,
    require_same,
    step_cost,
    sweep,
)
from headway.sweeps.table import table, write_table

__all__ = [
    "Board",
    "Engine",
    "Plan",
    "RayEngine",
    "Standing",
    "SweepWatch",
    "carry_out",
    "clamped_plan",
    "default_folder",
    "depend",
    "grid",
    "load_plan",
    "require_same",
    "step_cost",
    "sweep",
    "table",
    "write_table",
]
