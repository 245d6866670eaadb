"""Circuit, curves and slider of a run's page, to stand in a frame of another page."""

from headway.report.findings import Findings
from headway.report.page.births import births
from headway.report.page.circuit import circuit_figure, the_circuit
from headway.report.page.data import as_script, page_data
from headway.report.page.document import document
from headway.report.page.header import title
from headway.report.page.html import joined
from headway.report.page.templating import about_run

SCRIPTS = ("state.js", "time.js", "circuit.js", "charts.js", "host.js", "start.js")
"""In this order; the last but one speaks with the page around the frame."""


def embedded(findings: Findings) -> str:
    """The part of a run's page, a whole document. Nothing is computed from checkpoints."""
    drawn = circuit_figure if findings.discovery else the_circuit
    name = findings.run.folder.name
    return document(
        "run/embedded.html",
        about=f"{title(findings)} — {name}",
        name=name,
        scripts=SCRIPTS,
        styles=("run.css", "embedded.css"),
        live=False,
        script_data=as_script(page_data(findings, None)),
        sections_shown=joined(drawn(findings), births(findings)),
        **about_run(findings),
    )
