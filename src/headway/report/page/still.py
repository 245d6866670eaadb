"""A picture of a run's circuit for places where no script runs: one SVG that needs nothing else."""

import re

from markupsafe import Markup

from headway.report.findings import Findings
from headway.report.labels import typeset
from headway.report.page.circuit_svg import circuit_svg
from headway.report.page.html import tag
from headway.report.page.looks import path_looks
from headway.report.page.scoped import CLASS, scoped_style

LINE, EDGE, LEAST = 20, 12, 420
"""Pixels: the height of a line of text, around all, and the least width."""


def still(findings: Findings) -> Markup:
    """The drawing of the circuit, and under it when every path was born, as an SVG file."""
    drawing, width, height = _drawing(findings)
    lines = _lines(findings)
    y = height + EDGE
    height, width = y + LINE * len(lines) + EDGE, max(width, LEAST)
    return tag(
        "svg",
        tag("style", scoped_style(("Colours", "The circuit"))),
        drawing,
        [_row(y + LINE * (i + 1), *line) for i, line in enumerate(lines)],
        xmlns="http://www.w3.org/2000/svg",
        class_=CLASS,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        style="margin: 0; padding: 0; border: 0",
    )


def _drawing(findings: Findings) -> tuple[Markup, int, int]:
    """The circuit in a box of its size, with its width and height in pixels."""
    found = findings.discovery
    if found is None or not found.circuit.paths:
        return Markup(""), 0, 0
    svg = circuit_svg(found.circuit, findings.task, found, pressable=False)
    size = re.search(r'viewBox="0 0 (\d+) (\d+)"', svg)
    assert size is not None
    width, height = int(size[1]), int(size[2])
    return tag("svg", svg, width=width, height=height), width, height


def _lines(findings: Findings) -> list[tuple[str, str]]:
    """What is said under the drawing, each with the class of its colour."""
    found, timeline = findings.discovery, findings.timeline
    name = findings.run.folder.name
    if found is None:
        return [("", f"{name}: the circuit has not been looked for yet.")]
    looks = path_looks(findings.task, found.circuit.paths)
    born = {} if timeline is None else {h.path: h.born for h in timeline.paths}
    lines = []
    for path in found.circuit.paths:
        step = born.get(path)
        when = f", born at step {step:,.0f}" if step is not None else ""
        text = f"{typeset(str(path))}{when}"
        lines.append((looks[path].colour, text))
    return lines or [("", f"{name}: a circuit without paths.")]


def _row(y: int, colour: str, text: str) -> Markup:
    style = "fill: var(--ink); font: 13px var(--sans)"
    words = tag("text", text, x=EDGE + 18 if colour else EDGE, y=y, style=style)
    if not colour:
        return words
    return (
        tag("circle", class_=colour, cx=EDGE + 6, cy=y - 4, r=4.5, style="fill: var(--c)") + words
    )
