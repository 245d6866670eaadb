"""The report: one self-contained HTML page, made from the run's folder alone."""

from pathlib import Path

from headway.report.findings import Findings
from headway.report.history import Memory, history
from headway.report.page.births import births
from headway.report.page.circuit import circuit_figure, the_circuit
from headway.report.page.data import as_script, page_data
from headway.report.page.dependence import dependences
from headway.report.page.document import document
from headway.report.page.evidence import evidence_section
from headway.report.page.example import the_task
from headway.report.page.header import first_screen, title
from headway.report.page.html import joined
from headway.report.page.maps import attention
from headway.report.page.minimum import minimum
from headway.report.page.reproduce import how_to_reproduce
from headway.report.page.templating import about_run
from headway.training import Run
from headway.training.files import write_text

SCRIPTS = (
    *("state.js", "time.js", "circuit.js", "paths.js", "charts.js", "maps.js", "sort.js"),
    *("keep.js", "address.js", "start.js"),
)
"""In this order; together they are one script."""


def write_report(run: Run) -> Path:
    """Writes the run's `report.html`.

    Sections whose data the folder lacks say which command adds it. The page needs no network.

    Returns: the page's path.

    Raises:
        HeadwayError: if a file of the folder is corrupted or the disk does not take the page.
    """
    page = run.folder / "report.html"
    with run.writing(), run.computing():
        write_text(page, render(Findings.of(run)))
    return page


def render(findings: Findings, live: bool = False, memory: Memory | None = None) -> str:
    """The page of a run as text.

    Args:
        findings: of the run.
        live: whether the page is served, and to follow the run as it changes.
        memory: of attention computed before (see `history`), for the next time.

    Raises:
        HeadwayError: if a checkpoint cannot be read.
    """
    seen = history(findings, memory) if findings.no_maps is None else None
    name = findings.run.folder.name
    return document(
        "run/page.html",
        about=f"{title(findings)} — {name}",
        name=name,
        scripts=SCRIPTS,
        styles=("run.css",),
        live=live,
        script_data=as_script(page_data(findings, seen)),
        sections_shown=joined(
            the_task(findings),
            circuit_figure(findings),
            the_circuit(findings),
            births(findings),
            attention(findings, seen),
            evidence_section(findings),
            minimum(findings),
            dependences(findings),
            how_to_reproduce(findings),
        ),
        **about_run(findings),
        **first_screen(findings),
    )
