"""Figures for papers, as SVG and PNG, made from a run's folder."""

import importlib.util

from headway.errors import HeadwayError

if importlib.util.find_spec("matplotlib") is None:
    raise HeadwayError("figures need matplotlib: pip install 'headway[plot]'")

from headway.report.figures.drawing import draw_attention as draw_attention
from headway.report.figures.drawing import draw_circuit as draw_circuit
from headway.report.figures.drawing import draw_emergence as draw_emergence
from headway.report.figures.drawing import draw_losses as draw_losses
from headway.report.figures.saving import figure as figure
from headway.report.figures.saving import save_figures as save_figures
