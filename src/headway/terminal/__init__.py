"""What the terminal shows: training as it goes, circuits, timelines, runs, sweeps."""

from headway.terminal.base import require_file
from headway.terminal.circuit import drawing, print_circuit, print_comparison
from headway.terminal.depths import draw_depths, print_depths
from headway.terminal.heads import following_heads, print_heads
from headway.terminal.language import asking, print_cells
from headway.terminal.progress import print_outcome, watching
from headway.terminal.reproduce import print_costs, print_verdicts
from headway.terminal.runs import print_runs
from headway.terminal.summary import print_summary, say
from headway.terminal.sweep import following, print_sweep
from headway.terminal.theory import TOLD, print_bounds, print_flow, print_hops, print_run
from headway.terminal.timeline import print_timeline
from headway.terminal.truncation import print_effects, print_truncated, truncating
from headway.terminal.truth import print_score, print_scores

__all__ = [
    "TOLD",
    "asking",
    "draw_depths",
    "drawing",
    "following",
    "following_heads",
    "print_bounds",
    "print_cells",
    "print_circuit",
    "print_comparison",
    "print_costs",
    "print_depths",
    "print_effects",
    "print_flow",
    "print_heads",
    "print_hops",
    "print_outcome",
    "print_run",
    "print_runs",
    "print_score",
    "print_scores",
    "print_summary",
    "print_sweep",
    "print_timeline",
    "print_truncated",
    "print_verdicts",
    "require_file",
    "say",
    "truncating",
    "watching",
]
