"""In a notebook, runs, circuits and timelines show themselves as drawings and curves.

What is shown is made by `headway.report.cells`, which is loaded when something is shown. Nothing
of IPython is loaded here: whoever works in a notebook has it loaded already.
"""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.circuits import Circuit, Discovery, Timeline
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
    if shell is not None:
        register(shell.display_formatter.formatters["text/html"])


def register(formatter: Any) -> None:
    """Teaches a formatter of IPython, that for HTML, to show what this package makes."""
    for name, module in SHOWN.items():
        formatter.for_type_by_name(module, name, _show)


def _show(thing: "Run | Discovery | Circuit | Timeline") -> str:
    from headway.report.cells import cell

    return cell(thing)
