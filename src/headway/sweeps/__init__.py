"""Many runs: a plan, carried out side by side, and one table of what came of it."""

from headway.sweeps.board import Board
from headway.sweeps.engine import Engine, Event
from headway.sweeps.local import LocalEngine
from headway.sweeps.plan import Plan, grid
from headway.sweeps.sources import default_folder, load_plan
from headway.sweeps.sweep import sweep
from headway.sweeps.table import require_format, table, write_table

__all__ = [
    "Board",
    "Engine",
    "Event",
    "LocalEngine",
    "Plan",
    "default_folder",
    "grid",
    "load_plan",
    "require_format",
    "sweep",
    "table",
    "write_table",
]
