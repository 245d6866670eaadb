"""A part of the evidence: the other circuits that there are."""

from markupsafe import Markup

from headway.circuits import MinimalCircuits
from headway.circuits.minimal_text import SHOWN, sentences
from headway.report.page.templating import filled


def every_circuit(found: MinimalCircuits | None) -> Markup:
    """Every minimal circuit: how many there are, what they share, and the smallest of them."""
    if found is None:
        return Markup("")
    data = {"found": found, "sentences": sentences(found)}
    return filled("run/every.html", **data, shown=SHOWN)
