"""A run, its circuit and its timeline in a notebook: text, and a picture drawn by matplotlib.

Nothing in it is a script, so that it is shown wherever notebooks are. A widget can be clicked and
moved (`headway.report.widget`).
"""

import base64
from collections.abc import Callable, Sequence
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING

from headway.circuits import Circuit, Discovery, Timeline
from headway.circuits.roles import cast_of
from headway.errors import HeadwayError
from headway.report.findings import Findings
from headway.report.headline import headline, summary
from headway.report.labels import typeset
from headway.report.settings import setting_of
from headway.text import counted, rounded
from headway.training import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLASS = "headway"
"""Of the element that a fragment is."""


def cell(shown: Run | Discovery | Circuit | Timeline) -> str:
    """The fragment that shows a thing, or says why it cannot: a run's folder may have gone."""
    try:
        match shown:
            case Run():
                return _run(shown)
            case Discovery():
                title = f"{_size(shown.circuit)}, loss {rounded(shown.replaced_loss)}"
            case Circuit():
                title = _size(shown)
            case Timeline():
                title = f"{counted(len(shown.paths), 'path')} through training"
        return _fragment([title], picture(shown), title, str(shown))
    except HeadwayError as error:
        return _fragment([str(error)])


def picture(shown: Run | Discovery | Circuit | Timeline) -> str | None:
    """The picture of a thing as SVG; None without matplotlib, or if there is nothing to draw."""
    if find_spec("matplotlib") is None or (draw := _drawing(shown)) is None:
        return None
    from headway.report.figures.style import svg_bytes

    return svg_bytes(draw(), "headway").decode()


def _drawing(shown: Run | Discovery | Circuit | Timeline) -> "Callable[[], Figure] | None":
    from headway.report.figures import draw_circuit, draw_emergence
    from headway.report.figures.saving import drawings

    match shown:
        case Run():
            drawn = drawings(Findings.of(shown))
            return drawn.get("circuit") or drawn.get("losses")
        case Timeline():
            return (lambda: draw_emergence(shown, [])) if shown.paths and shown.steps else None
        case Discovery() | Circuit():
            circuit = shown if isinstance(shown, Circuit) else shown.circuit
            if shown is circuit and not circuit.paths:
                return None
            return lambda: draw_circuit(shown, cast_of(shown), _size(circuit))


def _run(run: Run) -> str:
    findings, last = Findings.of(run), run.metrics()[-1:]
    lines = [f"{run.folder.name} · {run.status}", " · ".join(setting_of(run.config))]
    lines += [headline(findings), *summary(findings)]
    if last:
        hops = " · ".join(f"{typeset(h)} {rounded(x)}" for h, x in last[0]["partial"].items())
        loss = rounded(last[0]["val_loss"])
        lines.append(f"validation loss {loss} at step {last[0]['step']:,} ({hops})")
    return _fragment(lines, picture(run), run.folder.name)


def _size(circuit: Circuit) -> str:
    heads = f"{len(circuit.useful_heads)} of {counted(len(circuit.mechanisms), 'head')} useful"
    return f"{heads}, {counted(len(circuit.paths), 'path')}"


def _fragment(
    lines: Sequence[str], svg: str | None = None, about: str = "", plain: str = ""
) -> str:
    """Lines of text, a picture, and its content as plain text."""
    parts = [f"<p>{escape(line)}</p>" for line in lines]
    if svg is not None:
        data = base64.b64encode(svg.encode()).decode()
        source = f"data:image/svg+xml;base64,{data}"
        parts.append(f'<img alt="{escape(about)}" style="max-width:100%" src="{source}">')
    if plain:
        parts.append(f"<pre>{escape(plain)}</pre>")
    return f'<div class="{CLASS}">{"".join(parts)}</div>'
