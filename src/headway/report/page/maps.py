"""Attention on the page: every head's attention, between roles or position by position."""

from markupsafe import Markup

from headway.circuits.roles import places
from headway.circuits.strays import STRONG, Stray
from headway.report.findings import SEQUENCES, Findings
from headway.report.history import History
from headway.report.page.templating import of_run

MOST_NAMED = 8
"""Places of strong attention that are named, of each kind."""


def attention(findings: Findings, seen: History | None) -> Markup:
    """The page's script draws the maps, at the checkpoint where the page stands."""
    return of_run(
        findings,
        "run/attention.html",
        seen=seen,
        sequences=SEQUENCES,
        symbols=any(place.symbol for place in places(findings.task)),
        cost=cost,
        most_named=MOST_NAMED,
        STRONG=STRONG,
    )


def cost(stray: Stray) -> str:
    """What cutting strong attention costs, to three places after the point."""
    return f"{max(stray.rise, 0):.3f}"
