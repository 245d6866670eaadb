"""What the terminal shows: training as it goes, circuits, timelines, runs, sweeps."""

from headway.terminal.circuit import drawing, print_circuit, print_comparison
from headway.terminal.progress import print_outcome, watching
from headway.terminal.runs import print_runs
from headway.terminal.summary import print_summary, say
from headway.terminal.sweep import following, print_sweep
from headway.terminal.timeline import print_timeline
from headway.terminal.truth import print_score, print_scores

__all__ = [
    "drawing",
    "following",
    "print_circuit",
    "print_comparison",
    "print_outcome",
    "print_runs",
    "print_score",
    "print_scores",
    "print_summary",
    "print_sweep",
    "print_timeline",
    "say",
    "watching",
]
