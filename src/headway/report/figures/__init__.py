"""Figures for papers, as SVG and PNG, made from a run's folder."""

import importlib.util

from headway.errors import HeadwayError

if importlib.util.find_spec("matplotlib") is None:
    raise HeadwayError("figures need matplotlib: pip install 'headway[plot]'")

from headway.report.figures.attention import draw_attention
from headway.report.figures.circuit_drawing import draw_circuit
from headway.report.figures.curves import draw_emergence, draw_losses
from headway.report.figures.saving import figure, save_figure, save_figures

__all__ = [
    "draw_attention",
    "draw_circuit",
    "draw_emergence",
    "draw_losses",
    "figure",
    "save_figure",
    "save_figures",
]
