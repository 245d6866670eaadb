"""What depends on what."""

from headway.circuits.agreement import KINDS, MEANINGS, NEEDS, Share
from headway.circuits.dependence import Dependence, Training
from headway.circuits.dependence_text import verdict, when
from headway.report.findings import Findings
from headway.report.page.dependence_svg import dependence_svg
from headway.report.page.html import (
    escape,
    figure,
    listed,
    named,
    number,
    place_of,
    section,
    table,
    whole,
)

CAPTION = (
    "An arrow leads from a path to one that needs it: the second does not form in a training in"
    " which the first is clamped. Left, as the flow of information predicts; dashed: not confirmed."
    " Right, as measured; orange: not predicted."
)
MEASURED = (
    "An arrow leads from a path to one that does not form in a training in which the first is"
    " clamped."
)


def dependences(findings: Findings) -> str:
    """Nothing if no clamped trainings were made."""
    found = findings.dependence
    if found is None:
        return ""
    judged = found.predicts and found.throughout
    html = f"<p>{escape(when(found))}. " + (escape(verdict(found)) if judged else "") + "</p>"
    html += figure(dependence_svg(found), CAPTION if found.predicts else MEASURED, "dependence")
    rows = [_row(findings, found, training) for training in (found.free, *found.clamped)]
    html += table(("clamped", "loss", "hops learnt", "do not form"), rows, "clamped trainings")
    if judged:
        html += "<h3>How often the prediction came true</h3>"
        html += table(("P is clamped", "then Q", "it does so"), _kinds(found), "prediction")
    return section("dependence", "What depends on what", html)


def _row(findings: Findings, found: Dependence, training: Training) -> tuple[str, ...]:
    """One training: what it learnt when, and which paths it lacks."""
    several = findings.several_heads
    clamped = training.clamped
    what = "nothing" if clamped is None else place_of(clamped, several)
    hops = [f"{named(hop)} (step {whole(training.hops[hop])})" for hop in training.learnt]
    lacks = [grown.path for grown in training.paths if not grown.formed]
    missing = listed([place_of(path, several) for path in lacks]) if lacks else "–"
    return what, number(training.loss), ", ".join(hops) or "none", missing


def _kinds(found: Dependence) -> list[tuple[str, ...]]:
    return [
        (
            f"{kind}: {escape(MEANINGS[kind])}",
            "does not form" if kind in NEEDS else "forms",
            str(share),
        )
        for kind in KINDS
        if (share := Share.of(found.pairs, kind)).count
    ]
