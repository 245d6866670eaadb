"""The report: one self-contained HTML page, made from the run's folder alone."""

from importlib import resources
from pathlib import Path

from headway.report.findings import Findings
from headway.report.history import Memory, history
from headway.report.page.births import births
from headway.report.page.certificate import evidence_section
from headway.report.page.circuit import circuit_figure, the_circuit
from headway.report.page.circuit_svg import circuit_svg
from headway.report.page.data import as_script, page_data
from headway.report.page.dependence import dependences
from headway.report.page.example import the_task
from headway.report.page.header import header, title
from headway.report.page.html import escape
from headway.report.page.maps import attention
from headway.report.page.minimum import minimum
from headway.report.page.policy import policy_tag, script_tag
from headway.report.page.reproduce import how_to_reproduce
from headway.training import Run
from headway.training.files import write_text

SECTIONS = {
    "task": "Task",
    "circuit": "Circuit",
    "births": "Birth",
    "attention": "Attention",
    "evidence": "Evidence",
    "minimum": "Minimum",
    "dependence": "Dependence",
    "reproduce": "Reproduce",
}

SCRIPTS = (
    "state.js",
    "time.js",
    "circuit.js",
    "paths.js",
    "charts.js",
    "maps.js",
    "sort.js",
    "keep.js",
    "address.js",
    "start.js",
)
"""In this order; together they are one script."""

TIME = """\
<div id="time" role="region" aria-label="time" hidden>
<button type="button" id="play" aria-label="play">▶</button>
<output id="now" for="when"></output>
<span class="rail"><span id="marks" aria-hidden="true"></span>
<input type="range" id="when" min="0" value="0" step="1" aria-label="checkpoint"></span>
<output id="losses"></output>
<button type="button" id="dock" aria-pressed="false" hidden>circuit</button>
</div>
"""

FOOTER = """\
Every number on this page was read from the run's folder, or recomputed from its
checkpoints."""


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
    drawing = ""
    if findings.discovery is not None:
        svg = circuit_svg(findings.discovery.circuit, findings.task, findings.discovery)
        drawing = circuit_figure(findings, svg)
    main = (
        the_task(findings)
        + drawing
        + the_circuit(findings)
        + births(findings)
        + attention(findings, seen)
        + evidence_section(findings)
        + minimum(findings)
        + dependences(findings)
        + how_to_reproduce(findings)
    )
    about = f"{title(findings)} — {findings.run.folder.name}"
    links = {name: said for name, said in SECTIONS.items() if f'id="{name}"' in main}
    top = header(findings, links)
    data = as_script(page_data(findings, seen))
    name = findings.run.folder.name
    return document(about, top, main, name, TIME, SCRIPTS, data, live, ("run.css",))


def document(
    about: str,
    header: str,
    main: str,
    name: str = "headway",
    after: str = "",
    scripts: tuple[str, ...] = ("state.js", "keep.js", "start.js"),
    data: str = "{}",
    live: bool = False,
    styles: tuple[str, ...] = (),
    footer: str = FOOTER,
) -> str:
    """A whole page.

    Args:
        about: its title, as text.
        header: its first screen, as HTML.
        main: its sections, as HTML.
        name: with which the names of figures begin that are kept as files.
        after: what stands outside the flow of the page, as HTML.
        scripts: files of `web/`, which become one script.
        data: JSON that they work on.
        live: whether to follow changes.
        styles: more files of `web/`, after the one that every page has.
        footer: where its numbers are from, as HTML.
    """
    newline = "\n"
    looks = "".join(asset(name) for name in ("page.css", *styles))
    code = [joined(scripts), *([asset("live.js")] if live else [])]
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
{policy_tag(code, live)}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{escape(about)}</title>
<style>
{looks}</style>
</head>
<body data-name="{escape(name)}">
<button type="button" id="theme" aria-label="dark or light" title="dark or light">◐</button>
<header>
{header}</header>
<main>
{main}</main>
<footer>{footer}</footer>
{after}<script type="application/json" id="data">{data}</script>
{newline.join(map(script_tag, code))}
</body>
</html>
"""


def joined(scripts: tuple[str, ...]) -> str:
    """Files of `web/` as one script."""
    return "\n".join(['"use strict";', *map(asset, scripts)])


def asset(name: str) -> str:
    """A file of `web/`."""
    return resources.files("headway.report.page.web").joinpath(name).read_text(encoding="utf-8")
