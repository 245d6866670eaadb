"""A run, its circuit and its timeline in a notebook, as fragments of HTML.

Each is one element with its own style, without a script, and with no name that another could have.
A widget can be clicked and moved (`headway.report.widget`).
"""

from collections.abc import Sequence
from dataclasses import replace

from markupsafe import Markup

from headway.circuits import Circuit, Discovery, Timeline, verdicts
from headway.circuits.casting import cast_of
from headway.circuits.emergence import hop_steps
from headway.circuits.roles import Cast
from headway.errors import HeadwayError
from headway.report.findings import Findings
from headway.report.page.births import loss_group, path_group
from headway.report.page.charts import Group, stacked
from headway.report.page.circuit import legend
from headway.report.page.circuit_svg import circuit_svg
from headway.report.page.html import number, tag
from headway.report.page.looks import path_looks
from headway.report.page.scoped import CLASS, scoped_style
from headway.report.page.templating import filled
from headway.report.settings import setting_of
from headway.report.span import ending, shown_until
from headway.training import Run

LOOKS = ("Colours", "Text", "Figures and tables")
DRAWING, CURVES = (*LOOKS, "The circuit"), (*LOOKS, "Curves")
"""The parts of page.css that a drawing needs, and that curves need."""


def cell(shown: Run | Discovery | Circuit | Timeline) -> str:
    """The fragment that shows a thing, or says why it cannot: a run's folder may have gone."""
    try:
        match shown:
            case Run():
                return run_cell(shown)
            case Discovery():
                return discovery_cell(shown)
            case Circuit():
                return circuit_cell(shown)
            case Timeline():
                return timeline_cell(shown)
    except HeadwayError as error:
        return _cell(tag("p", error), LOOKS)


def run_cell(run: Run) -> str:
    """A run: what was trained, how it ended, and its losses.

    Raises:
        HeadwayError: if a file of the run's folder cannot be read.
    """
    metrics, outcome = run.metrics(), run.outcome()
    last, drawing = metrics[-1] if metrics else None, None
    if last is not None:
        findings = Findings(run, metrics, outcome, [], None, None, None, [])
        group = loss_group(findings, hop_steps(metrics, run.task.hops))
        ends = [[name.like.points[-1][1]] for name in group.names]
        end = max(1, last["step"])
        drawing = stacked([_ended(group, ends)], end, end, pressable=False)
    data = {"run": run, "outcome": outcome, "last": last, "drawing": drawing}
    html = filled("cell/run.html", **data, setting=setting_of(run.config))
    return _cell(html, LOOKS if drawing is None else CURVES)


def discovery_cell(found: Discovery) -> str:
    """A circuit with the evidence for it: the verdict, the drawing, and every path's losses."""
    cast = cast_of(found)
    html = filled(
        "cell/discovery.html",
        found=found,
        properties=[
            one.name if one.holds else tag("b", "not") + f" {one.name}"
            for one in verdicts(found)
            if one.holds is not None
        ],
        drawing=_drawing(found.circuit, cast, found),
        looks=path_looks(cast, found.circuit.paths),
    )
    return _cell(html, DRAWING)


def circuit_cell(circuit: Circuit) -> str:
    """A circuit: the drawing alone."""
    if not circuit.paths:
        words = str(circuit) or "A circuit of no heads."
        return _cell(tag("p", Markup("<br>").join(words.split("\n"))), LOOKS)
    return _cell(_drawing(circuit, cast_of(circuit)), DRAWING)


def timeline_cell(timeline: Timeline) -> str:
    """When every path was born and every hop learnt, and the curves of both."""
    drawing = None
    if timeline.paths and timeline.steps:
        ends = [[h.attention[-1], h.loss_without[-1]] for h in timeline.paths]
        group = path_group(timeline, cast_of(timeline))
        last, _ = shown_until(timeline, [])
        ended = _ended(group, [*ends, [timeline.loss[-1]]])
        drawing = stacked([ended], last, last, pressable=False)
    data = {"timeline": timeline, "drawing": drawing, "ending": ending(timeline)}
    return _cell(filled("cell/timeline.html", **data), CURVES)


def _cell(html: Markup, parts: Sequence[str]) -> str:
    content = tag("div", tag("style", Markup(scoped_style(parts))), "\n", html, class_=CLASS)
    return str(content)


def _drawing(circuit: Circuit, cast: Cast, found: Discovery | None = None) -> Markup:
    svg = circuit_svg(circuit, cast, found, pressable=False)
    return tag("div", svg, class_="scroll") + legend(path_looks(cast, circuit.paths).values())


def _ended(group: Group, ends: Sequence[Sequence[float]]) -> Group:
    """The group with values at the end in the columns that a script would fill."""
    names = [
        replace(name, cells=[*name.cells, *map(number, values)], now=())
        for name, values in zip(group.names, ends, strict=True)
    ]
    head = ["at the end" if word == "now" else word for word in group.head]
    return replace(group, names=names, head=head)
