"""The report: one page for looking, and figures for papers, both made from a run's folder."""

from headway.report.findings import Findings
from headway.report.page.render import render, write_report

__all__ = ["Findings", "render", "write_report"]
