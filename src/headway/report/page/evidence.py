"""The evidence for the circuit: the verdicts on the circuit, and the tables they rest on."""

from markupsafe import Markup

from headway.circuits import ABLATIONS
from headway.circuits.certificate_text import sentences
from headway.circuits.evidence import INTERVAL
from headway.circuits.text import said_of_mlps
from headway.circuits.verdicts import held, reasons, untestable
from headway.report.findings import Findings
from headway.report.page.every import every_circuit
from headway.report.page.templating import of_run


def evidence_section(findings: Findings) -> Markup:
    """Verdicts and tables."""
    if findings.discovery is None:
        return of_run(findings, "run/evidence_section.html")
    parts = {"verdicts": verdicts(findings), "details": details(findings)}
    return of_run(findings, "run/evidence_section.html", **parts)


def verdicts(findings: Findings) -> Markup:
    """The five verdicts on a run's circuit, and how they were measured."""
    assert findings.discovery is not None
    return of_run(
        findings,
        "run/verdicts.html",
        held=held(findings.discovery),
        reasons=reasons(findings.discovery),
        interval=INTERVAL,
    )


def details(findings: Findings) -> Markup:
    """What the verdicts rest on: losses, ways of ablation, paths, and other searches, as tables."""
    assert findings.discovery is not None
    evidence, certificate = findings.discovery.evidence, findings.certificate
    mlps = evidence.mlps
    return of_run(
        findings,
        "run/evidence.html",
        ablations={rows: words for rows, words in ABLATIONS.items() if rows in evidence.variants},
        untestable=untestable(findings.discovery),
        mlps_said=None if mlps is None else said_of_mlps(mlps),
        certified=[] if certificate is None else sentences(certificate),
        every_circuit=every_circuit(findings.circuits),
    )
