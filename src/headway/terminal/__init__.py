"""What the terminal shows: training as it goes, runs, sweeps, comparisons, the theory.

Runs, circuits and timelines have a text of their own: `print(found)`.
"""

from headway.terminal.arena import print_arena, print_row
from headway.terminal.base import can_draw, columns, console, draw, draw_both, require_file
from headway.terminal.checking import print_findings, print_task
from headway.terminal.circuit import note_older_report, print_comparison
from headway.terminal.counting import counting, exhausting
from headway.terminal.counts import print_counts
from headway.terminal.fields import print_fields
from headway.terminal.heads import print_heads
from headway.terminal.language import accuracy_curves, print_cells
from headway.terminal.progress import watching
from headway.terminal.runs import print_runs
from headway.terminal.summary import print_summary, say
from headway.terminal.sweep import following, print_sweep
from headway.terminal.theory import TOLD, print_bounds, print_flow, print_hops, print_run
from headway.terminal.truncation import print_effects, print_losses
from headway.terminal.truth import print_score, print_scores

__all__ = [
    "TOLD",
    "accuracy_curves",
    "can_draw",
    "columns",
    "console",
    "counting",
    "draw",
    "draw_both",
    "exhausting",
    "following",
    "note_older_report",
    "print_arena",
    "print_bounds",
    "print_cells",
    "print_comparison",
    "print_counts",
    "print_effects",
    "print_fields",
    "print_findings",
    "print_flow",
    "print_heads",
    "print_hops",
    "print_losses",
    "print_row",
    "print_run",
    "print_runs",
    "print_score",
    "print_scores",
    "print_summary",
    "print_sweep",
    "print_task",
    "require_file",
    "say",
    "watching",
]
