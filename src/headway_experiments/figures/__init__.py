"""Figures of experiments, drawn with matplotlib."""
