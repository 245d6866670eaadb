"""The report: one self-contained HTML page, made from the run's folder alone."""

from importlib import resources
from pathlib import Path

from headway.report.figures.saving import save_figures_of
from headway.report.findings import Findings
from headway.report.page.births import births
from headway.report.page.header import header, title
from headway.report.page.html import escape
from headway.report.page.minimum import minimum
from headway.report.page.reproduce import how_to_reproduce
from headway.report.page.sections import the_circuit, what_was_learned
from headway.report.page.viewer import attention
from headway.training import Run
from headway.training.files import write_whole

SECTIONS = {
    "learned": "What was learned",
    "circuit": "The circuit",
    "births": "Births",
    "minimum": "The minimum",
    "attention": "Attention",
    "reproduce": "Reproduce",
}


def write_report(run: Run) -> Path:
    """Draws the run's figures and writes its `report.html`.

    Sections whose data the folder lacks say which command adds it. The page needs no network.

    Returns: the page's path.

    Raises:
        HeadwayError: if a file of the folder is corrupted or the disk does not take the page.
    """
    page = run.folder / "report.html"
    with run.writing(), run.computing():
        findings = Findings.of(run)
        svgs = {
            name: path.read_text(encoding="utf-8")
            for name, path in save_figures_of(findings).items()
        }
        write_whole(page, render(findings, svgs).encode())
    return page


def render(findings: Findings, svgs: dict[str, str]) -> str:
    """The page as text.

    Args:
        findings: of the run.
        svgs: the figures' SVG files by name, as far as there are any.
    """
    about = escape(f"{title(findings)} — {findings.run.folder.name}")
    body = (
        what_was_learned(findings, svgs)
        + the_circuit(findings, svgs)
        + births(findings, svgs)
        + minimum(findings)
        + attention(findings, svgs)
        + how_to_reproduce(findings)
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{about}</title>
<style>
{_asset("page.css")}</style>
</head>
<body>
<header>
{header(findings, SECTIONS)}</header>
<main>
{body}</main>
<footer>Every number on this page was read from the run's folder, or recomputed from its
checkpoints.</footer>
<script>
{_asset("page.js")}</script>
</body>
</html>
"""


def _asset(name: str) -> str:
    return resources.files("headway.report.page.web").joinpath(name).read_text(encoding="utf-8")
