"""Figures for papers, drawn by matplotlib: those of a run, and a look for figures of one's own."""

from headway.report.figures.drawing import draw_attention as draw_attention
from headway.report.figures.drawing import draw_circuit as draw_circuit
from headway.report.figures.drawing import draw_emergence as draw_emergence
from headway.report.figures.saving import figure as figure
from headway.report.figures.saving import save_figures as save_figures
from headway.report.figures.style import FAINT as FAINT
from headway.report.figures.style import PALETTE as PALETTE
from headway.report.figures.style import log_scale as log_scale
from headway.report.figures.style import look as look
from headway.report.figures.style import save_both as save_both
from headway.report.figures.style import styled as styled
from headway.report.labels import typeset as typeset
