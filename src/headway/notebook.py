"""A widget for notebooks that shows a run, can be moved through training, and clicked at."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from headway.errors import HeadwayError

if TYPE_CHECKING:
    from headway.report.widget import View
    from headway.training import Run


def widget(run: "Run | str | Path") -> "View":
    """A run's circuit and curves with a slider, as a widget for Jupyter, VS Code and marimo.

        view = headway.widget(run)
        view            # shows it
        view.step = 850
        view.path       # that was clicked, such as L1.H0 s0←s2, or None

    Where no script runs, as on GitHub, a picture of the circuit stands in its place.

    Args:
        run: or its folder. What is not known yet, the circuit or its emergence, is left out.

    Raises:
        HeadwayError: if anywidget is not installed, or a file of the run's folder cannot be read.
    """
    if find_spec("anywidget") is None:
        raise HeadwayError("a widget needs anywidget: pip install 'headway[notebook]'")
    from headway.report.widget import View
    from headway.training import Run

    return View(run if isinstance(run, Run) else Run.open(run))
