"""Figures for papers, drawn by matplotlib: those of a run, and a look for figures of one's own."""

from headway.report.figures import draw_attention, draw_circuit, draw_emergence, draw_losses
from headway.report.figures.accuracy_plot import draw_accuracy
from headway.report.figures.depth_plot import draw_depths
from headway.report.figures.flow_drawing import draw_flow
from headway.report.figures.loss import mark_levels
from headway.report.figures.saving import save_both, save_figure, save_figures
from headway.report.figures.style import (
    DASHES,
    FAINT,
    INK,
    MARKERS,
    PALETTE,
    PAPER,
    draw_intervals,
    hop_lines,
    log_scale,
    look,
    path_lines,
    styled,
)
from headway.report.labels import layers_told, signed, typeset

__all__ = [
    "DASHES",
    "FAINT",
    "INK",
    "MARKERS",
    "PALETTE",
    "PAPER",
    "draw_accuracy",
    "draw_attention",
    "draw_circuit",
    "draw_depths",
    "draw_emergence",
    "draw_flow",
    "draw_intervals",
    "draw_losses",
    "hop_lines",
    "layers_told",
    "log_scale",
    "look",
    "mark_levels",
    "path_lines",
    "save_both",
    "save_figure",
    "save_figures",
    "signed",
    "styled",
    "typeset",
]
