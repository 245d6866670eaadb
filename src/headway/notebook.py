"""In a notebook, runs, circuits and timelines show themselves as drawings and curves.

What is shown is made by `headway.report.cells`, which is loaded when something is shown. Nothing
of IPython is loaded here: whoever works in a notebook has it loaded already. `widget` shows a run
that can be moved through training, and clicked at.
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from headway.errors import HeadwayError

if TYPE_CHECKING:
    from headway.circuits import Circuit, Discovery, Timeline
    from headway.report.widget import View
    from headway.training import Run

SHOWN = {
    "Run": "headway.training.run",
    "Discovery": "headway.circuits.discovery",
    "Circuit": "headway.circuits.mechanism",
    "Timeline": "headway.circuits.emergence",
}
"""The classes whose objects are shown, and the modules that define them."""


def show_in_notebooks() -> None:
    """Tells IPython how to show what this package makes, if this is an IPython session."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = get_shell() if get_shell is not None else None
    if shell is None:
        return
    for name, module in SHOWN.items():
        shell.display_formatter.formatters["text/html"].for_type_by_name(module, name, _show)


def _show(thing: "Run | Discovery | Circuit | Timeline") -> str:
    from headway.report.cells import cell

    return cell(thing)


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
