"""Circuit, curves and slider of a run's page, to stand in a frame of another page."""

from headway.report.findings import Findings
from headway.report.page.births import births
from headway.report.page.circuit import circuit_figure, the_circuit
from headway.report.page.circuit_svg import circuit_svg
from headway.report.page.data import as_script, page_data
from headway.report.page.header import title
from headway.report.page.render import TIME, document

SCRIPTS = ("state.js", "time.js", "circuit.js", "charts.js", "host.js", "start.js")
"""In this order; the last but one speaks with the page around the frame."""


def embedded(findings: Findings) -> str:
    """The part of a run's page, a whole document. Nothing is computed from checkpoints."""
    found = findings.discovery
    if found is None:
        circuit = the_circuit(findings)
    else:
        svg = circuit_svg(found.circuit, findings.task, found)
        circuit = circuit_figure(findings, svg)
    return document(
        f"{title(findings)} — {findings.run.folder.name}",
        header="",
        main=circuit + births(findings),
        after=TIME,
        scripts=SCRIPTS,
        data=as_script(page_data(findings, None)),
        styles=("run.css", "embedded.css"),
        footer="",
    )
