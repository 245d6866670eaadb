"""The report: pages for looking, and figures for papers, both made from runs'
folders.
"""

from importlib.util import find_spec
from pathlib import Path

from headway.report.findings import Findings
from headway.report.page import write_report
from headway.training import Run

__all__ = ["Findings", "figures_if_possible", "write_report"]


def figures_if_possible(run: Run) -> Path | None:
    """Draws a run's figures for papers; the folder that they are in, or None without
    matplotlib.

    Raises:
        HeadwayError: if a file of the run's folder is corrupted or the disk does not
            take them.
    """
    if find_spec("matplotlib") is None:
        return None
    from headway.report.figures.saving import save_figures

    save_figures(run)
    return run.folder / "figures"
