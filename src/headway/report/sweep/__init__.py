"""The page of a sweep, or of any folder of runs."""

from headway.report.sweep.entries import gathered, planned_in
from headway.report.sweep.page import render_sweep, write_sweep

__all__ = ["gathered", "planned_in", "render_sweep", "write_sweep"]
