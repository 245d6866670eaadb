"""Which paths depend on which."""

from markupsafe import Markup

from headway.circuits.agreement import KINDS, MEANINGS, NEEDS, Share
from headway.circuits.dependence_text import verdict, when
from headway.report.findings import Findings
from headway.report.page.dependence_svg import dependence_svg
from headway.report.page.templating import of_run


def dependences(findings: Findings) -> Markup:
    """The section; empty if no clamped trainings were made."""
    found = findings.dependence
    if found is None:
        return Markup("")
    judged = found.predicts and found.throughout
    return of_run(
        findings,
        "run/dependence.html",
        found=found,
        when=when(found),
        judged=judged,
        verdict=verdict(found) if judged else "",
        drawing=dependence_svg(found),
        shares={kind: Share.of(found.pairs, kind) for kind in KINDS},
        meanings=MEANINGS,
        needs=NEEDS,
    )
