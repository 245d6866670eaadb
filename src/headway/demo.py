"""The whole pipeline in one function: train, find the circuit, date it, compare, report."""

import resource
import sys
import time
from dataclasses import replace
from pathlib import Path

from headway import terminal
from headway.circuits import discover, emergence
from headway.report import write_report
from headway.report.figures import save_figures
from headway.training import Run, fast, train


def demo(folder: Path | None = None, depth: int = 3, seed: int = 0, threads: int = 1) -> Run:
    """Runs the pipeline on the retrieval problem with one head per layer, and prints a summary.

    Args:
        folder: of the run; none means a free one in `runs/`.
        depth: D, attention hops to the answer.
        seed: of weights and data.
        threads: that train; two are quicker on idle cores, and give other last bits.

    Raises:
        HeadwayError: if training ends without solving the task, or a file cannot be written.
    """
    started = time.perf_counter()
    config = replace(fast(depth, seed), threads=threads)
    with terminal.watching() as watch:
        run = train(config, folder, watch)
    terminal.say("finding the circuit …")
    found = discover(run)
    terminal.say("dating its paths …")
    timeline = emergence(run, found)
    terminal.say("drawing the report …")
    page = write_report(run)
    save_figures(run)
    seconds = time.perf_counter() - started
    terminal.print_summary(run, found, timeline, page, seconds, peak_memory())
    return run


def peak_memory() -> float:
    """The most memory this process has held, in GB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e9 if sys.platform == "darwin" else 1e6)
