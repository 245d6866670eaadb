"""The page of several runs: their numbers, circuits and births side by side."""

from headway.report.comparison.page import render_comparison, write_comparison

__all__ = ["render_comparison", "write_comparison"]
