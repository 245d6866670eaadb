"""The whole pipeline in one function: train, find the circuit, date it, compare, report."""

import resource
import sys
import time
from pathlib import Path

from headway import terminal
from headway.circuits import discover, emergence, every_circuit
from headway.report import figures_if_possible, write_report
from headway.training import Run, RunConfig, train

MOST = 5_000
"""Sets of paths that are judged at most in the search for other circuits: some seconds."""


def demo(config: RunConfig, folder: Path | None = None) -> Run:
    """Runs the pipeline on a config, and prints a summary.

    Args:
        config: of the run.
        folder: of the run; by default a free one in `runs/`.

    Raises:
        HeadwayError: if training ends without solving the task, or a file cannot be written.
    """
    started = time.perf_counter()
    with terminal.watching() as watch:
        run = train(config, folder, watch)
    terminal.say("finding the circuit …")
    found = discover(run)
    terminal.say("dating its paths …")
    timeline = emergence(run, found)
    terminal.say("searching for other circuits …")
    every = every_circuit(run, most=MOST, workers=run.config.threads)
    terminal.say("drawing the report …")
    page = write_report(run)
    figures_if_possible(run)
    seconds = time.perf_counter() - started
    terminal.print_summary(run, found, timeline, every, page, seconds, peak_memory())
    return run


def peak_memory() -> float:
    """The most memory this process has held, in GB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024) / 1e9
