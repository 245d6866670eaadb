"""What the terminal shows: training as it goes, runs, sweeps, comparisons, the theory.

Runs, circuits and timelines have a text of their own: `print(found)`.
"""

from headway.terminal.base import can_draw, columns, console, draw, draw_both, require_file, say
from headway.terminal.checking import print_findings, print_task
from headway.terminal.counting import counting, exhausting
from headway.terminal.language import print_cells
from headway.terminal.progress import watching
from headway.terminal.runs import note_older_report, print_comparison, print_runs
from headway.terminal.summary import print_summary
from headway.terminal.sweep import following, print_sweep
from headway.terminal.theory import (
    TOLD,
    print_bounds,
    print_counts,
    print_flow,
    print_hops,
    print_run,
)

__all__ = [
    "TOLD",
    "can_draw",
    "columns",
    "console",
    "counting",
    "draw",
    "draw_both",
    "exhausting",
    "following",
    "note_older_report",
    "print_bounds",
    "print_cells",
    "print_comparison",
    "print_counts",
    "print_findings",
    "print_flow",
    "print_hops",
    "print_run",
    "print_runs",
    "print_summary",
    "print_sweep",
    "print_task",
    "require_file",
    "say",
    "watching",
]
