"""Figures for papers, as SVG and PNG, made from a run's folder."""

import importlib.util

from headway.errors import HeadwayError

if importlib.util.find_spec("matplotlib") is None:
    raise HeadwayError("figures need matplotlib: pip install 'headway-interp[plot]'")
