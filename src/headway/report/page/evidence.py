"""The evidence for the circuit: the verdicts on the circuit, and the tables they rest on."""

from markupsafe import Markup

from headway.circuits import ABLATIONS, verdicts
from headway.circuits.text import said_of_mlps
from headway.report.findings import Findings
from headway.report.page.every import every_circuit
from headway.report.page.templating import of_run


def evidence_section(findings: Findings) -> Markup:
    """Verdicts and tables."""
    if findings.discovery is None:
        return of_run(findings, "run/evidence_section.html")
    parts = {"verdicts": verdict_list(findings), "details": details(findings)}
    return of_run(findings, "run/evidence_section.html", **parts)


def verdict_list(findings: Findings) -> Markup:
    """The verdicts on a run's circuit, and how they were measured."""
    assert findings.discovery is not None
    given = verdicts(findings.discovery, findings.circuits)
    return of_run(findings, "run/verdicts.html", verdicts=given)


def details(findings: Findings) -> Markup:
    """What the verdicts rest on: losses, ways of ablation, paths, and other searches, as tables."""
    assert findings.discovery is not None
    mlps, certificate = findings.discovery.evidence.mlps, findings.certificate
    return of_run(
        findings,
        "run/evidence.html",
        ablations=ABLATIONS,
        mlps_said=None if mlps is None else said_of_mlps(mlps),
        certified=[] if certificate is None else certificate.sentences(),
        every_circuit=every_circuit(findings.circuits),
    )
