"""Many runs: a plan, carried out side by side, and one table of the results."""

from headway.late import late
from headway.sweeps.depend import clamped_plan as clamped_plan
from headway.sweeps.depend import depend as depend
from headway.sweeps.engines import Engine as Engine
from headway.sweeps.engines import carry_out as carry_out
from headway.sweeps.on_ray import RayEngine as RayEngine
from headway.sweeps.plan import Plan as Plan
from headway.sweeps.plan import default_folder as default_folder
from headway.sweeps.plan import grid as grid
from headway.sweeps.plan import load_plan as load_plan
from headway.sweeps.sweep import Board as Board
from headway.sweeps.sweep import Standing as Standing
from headway.sweeps.sweep import SweepWatch as SweepWatch
from headway.sweeps.sweep import require_same as require_same
from headway.sweeps.sweep import step_cost as step_cost
from headway.sweeps.sweep import sweep as sweep
from headway.sweeps.table import table as table
from headway.sweeps.table import write_table as write_table

__all__, __getattr__, __dir__ = late(__name__)
