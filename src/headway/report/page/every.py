"""A part of the evidence: the other circuits that there are."""

from headway.circuits import MinimalCircuits
from headway.circuits.minimal_text import sentences
from headway.report.page.html import escape, listed, number, place_of, table

SHOWN = 10
"""The most circuits that have a row."""


def every_circuit(found: MinimalCircuits | None, several_heads: bool) -> str:
    """Every minimal circuit: how many there are, what they share, and the smallest of them."""
    if found is None:
        return ""
    html = "<h3>Are there other circuits?</h3><p>"
    html += escape(". ".join(said[:1].upper() + said[1:] for said in sentences(found))) + ".</p>"
    if not found.circuits:
        return html
    rows = []
    for circuit, loss in zip(found.circuits[:SHOWN], found.losses, strict=False):
        rest = [place_of(path, several_heads) for path in circuit if path not in found.core]
        rows.append((str(len(circuit)), number(loss), listed(rest, "and") if rest else "–"))
    html += table(("paths", "loss", "paths that not all have"), rows, "minimal circuits")
    if found.core:
        core = listed([place_of(path, several_heads) for path in found.core], "and")
        html += f"<p>In all of them: {core}.</p>"
    more = len(found.circuits) - SHOWN
    return html + (f"<p>And {more} more, in <code>circuits.json</code>.</p>" if more > 0 else "")
