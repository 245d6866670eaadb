"""The report: figures for papers and one page for looking, both made from a run's folder."""

import importlib.util

from headway.errors import HeadwayError

if importlib.util.find_spec("matplotlib") is None:
    raise HeadwayError("figures need matplotlib: pip install 'headway[plot]'")

from headway.report.attention import draw_attention
from headway.report.circuit_drawing import draw_circuit
from headway.report.emergence_plot import draw_emergence
from headway.report.figures import save_figures
from headway.report.loss import draw_losses
from headway.report.page import write_report

__all__ = [
    "draw_attention",
    "draw_circuit",
    "draw_emergence",
    "draw_losses",
    "save_figures",
    "write_report",
]
