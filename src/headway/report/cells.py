"""A run, its circuit and its timeline in a notebook: text, and a picture drawn by
matplotlib.

Nothing in it is a script, so that it is shown wherever notebooks are. A `widget` has
one.
"""

import base64
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from headway.dynamics import Timeline
from headway.errors import HeadwayError
from headway.judge import Discovery
from headway.judge.roles import Cast, cast_of
from headway.relations.roles import places_of
from headway.replace import Circuit
from headway.report.findings import Findings
from headway.report.headline import headline
from headway.report.labels import setting_of
from headway.report.run import summary
from headway.text import counted
from headway.training import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from headway.report.widget import View

Shown = Run | Discovery | Circuit | Timeline


def cell(shown: Shown) -> str:
    """The fragment that shows a thing, or says why it cannot: a run's folder may have
    gone.
    """
    try:
        parts = [f"<p>{escape(line)}</p>" for line in _lines(shown)]
        if (data := picture(shown, "svg")) is not None:
            source = f"data:image/svg+xml;base64,{data}"
            about = escape(_lines(shown)[0])
            parts.append(f'<img alt="{about}" style="max-width:100%" src="{source}">')
        if not isinstance(shown, Run):
            parts.append(_fixed_pitch(str(shown)))
    except HeadwayError as error:
        parts = [f"<p>{escape(str(error))}</p>"]
    return f'<div class="headway">{"".join(parts)}</div>'


def _fixed_pitch(text: str) -> str:
    """A text with tables as markup.

    Its lines are ended by entities: where notebooks become Markdown, an empty line
    would end the markup, and tables would be set as paragraphs.
    """
    lines = escape(text).replace("\n", "&#10;")
    look = "font-family:monospace;white-space:pre;overflow-x:auto"
    return f'<pre style="{look}">{lines}</pre>'


def picture(shown: Shown, form: Literal["svg", "png"]) -> str | None:
    """The picture of a thing in base64; None without matplotlib, or if there is nothing
    to draw.
    """
    if find_spec("matplotlib") is None or (figure := _figure(shown)) is None:
        return None
    from headway.report.figures.style import png_bytes, svg_bytes

    drawn = svg_bytes(figure, "headway") if form == "svg" else png_bytes(figure)
    return base64.b64encode(drawn).decode()


def _lines(shown: Shown) -> list[str]:
    if isinstance(shown, Run):
        findings = Findings.of(shown)
        setting = " · ".join(setting_of(shown.config))
        name = f"{shown.folder.name} · {shown.status}"
        return [name, setting, headline(findings), *summary(findings)]
    if isinstance(shown, Timeline):
        return [f"{counted(len(shown.paths), 'path')} through training"]
    circuit = shown if isinstance(shown, Circuit) else shown.circuit
    heads = counted(len(circuit.mechanisms), "head")
    paths = counted(len(circuit.paths), "path")
    return [f"{len(circuit.useful_heads)} of {heads} useful, {paths}"]


def _figure(shown: Shown) -> "Figure | None":
    from headway.report.figures.circuits import draw_circuit
    from headway.report.figures.drawing import draw_emergence
    from headway.report.figures.saving import drawings

    if isinstance(shown, Run):
        drawn = drawings(Findings.of(shown))
        draw = drawn.get("circuit") or drawn.get("losses")
        return draw and draw()
    if isinstance(shown, Timeline):
        if not shown.paths or not shown.steps:
            return None
        cast = Cast(tuple(places_of(shown.standing)), tuple(shown.hops))
        return draw_emergence(shown, cast)
    if isinstance(shown, Circuit) and not shown.paths:
        return None
    return draw_circuit(shown, cast_of(shown))


def widget(run: Run | str | Path) -> "View":
    """A run's circuit and curves with a slider, as a widget for Jupyter, VS Code and
    marimo.

        view = headway.widget(run)
        view            # shows it
        view.step = 850
        view.path       # that was clicked, such as L1.H0 s0←s2, or None

    Args:
        run: or its folder. What is not known yet, the circuit or its emergence, is left
            out.

    Raises:
        HeadwayError: if anywidget is not installed, or a file of the run's folder
            cannot be read.
    """
    from headway.report.widget import View

    return View(Run.open(run))
