"""What a run, its circuit and its timeline show of themselves in a notebook: fragments of HTML.

Each is one element with its own style, without a script, and with no name that another could have.
What can be moved and clicked is a widget (`headway.report.widget`).
"""

from collections.abc import Sequence
from dataclasses import replace

from headway.circuits import Circuit, Discovery, Timeline
from headway.circuits.casting import cast_of
from headway.circuits.emergence import hop_steps
from headway.circuits.roles import Cast
from headway.errors import HeadwayError
from headway.report.findings import Findings
from headway.report.page.births import loss_group, path_group
from headway.report.page.charts import Group, stacked
from headway.report.page.circuit import legend
from headway.report.page.circuit_svg import circuit_svg
from headway.report.page.header import setting
from headway.report.page.html import (
    counted,
    escape,
    listed,
    named,
    number,
    path_tag,
    plain_table,
    tag,
    whole,
)
from headway.report.page.looks import path_looks
from headway.report.page.scoped import CLASS, scoped_style
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
        return _cell(tag("p", escape(error)), LOOKS)


def run_cell(run: Run) -> str:
    """A run: what was trained, how it ended, and its losses.

    Raises:
        HeadwayError: if a file of the run's folder cannot be read.
    """
    metrics, outcome = run.metrics(), run.outcome()
    findings = Findings(run, metrics, outcome, [], None, None, None, [])
    ended = "" if outcome is None or run.status == "done" else f": {escape(outcome['message'])}"
    html = tag("p", f"<b>{escape(run.folder.name)}</b> · {run.status}{ended}")
    html += tag("p", setting(findings), class_="soft")
    if not metrics:
        return _cell(html + tag("p", "There is no evaluation yet."), LOOKS)
    last = metrics[-1]
    partial = " · ".join(f"{named(hop)} {number(loss)}" for hop, loss in last["partial"].items())
    html += tag(
        "p",
        f"validation loss <b>{number(last['val_loss'])}</b> at step {whole(last['step'])}"
        f" ({partial})",
    )
    group = loss_group(findings, hop_steps(metrics, run.task.hops))
    ends = [[name.like.points[-1][1]] for name in group.names]
    end = max(1, last["step"])
    return _cell(html + stacked([_ended(group, ends)], end, end, pressable=False), CURVES)


def discovery_cell(found: Discovery) -> str:
    """A circuit with the evidence for it: the verdict, the drawing, and every path's losses."""
    html = tag("p", _verdict(found)) + tag("p", _properties(found), class_="soft")
    cast = cast_of(found)
    html += _drawing(found.circuit, cast, found)
    if found.circuit.paths:
        html += tag("div", _paths(found, cast), class_="scroll")
        html += tag(
            "p",
            "<b>circuit without it</b>: the loss with every head replaced and this path cut."
            " <b>above free</b>: the same, while the useful heads of the layers above attend as"
            " they like.",
            class_="soft",
        )
    return _cell(html, DRAWING)


def circuit_cell(circuit: Circuit) -> str:
    """A circuit: the drawing alone."""
    if not circuit.paths:
        words = escape(circuit).replace("\n", "<br>") or "A circuit of no heads."
        return _cell(tag("p", words), LOOKS)
    return _cell(_drawing(circuit, cast_of(circuit)), DRAWING)


def timeline_cell(timeline: Timeline) -> str:
    """When every path was born and every hop learnt, and the curves that tell it."""
    html = tag("p", _order(timeline))
    if timeline.paths and timeline.steps:
        cast = cast_of(timeline)
        several = any(history.path.head for history in timeline.paths)
        ends = [[h.attention[-1], h.loss_without[-1]] for h in timeline.paths]
        group = _ended(path_group(timeline, cast, several), [*ends, [timeline.loss[-1]]])
        last, _ = shown_until(timeline, [])
        html += stacked([group], last, last, pressable=False)
        told = (
            "<b>born</b>: the step at which attention along the path first passes 0.5."
            " <b>needed</b>: from where the rise of the loss with it knocked out first passes half"
            " of its largest value. The last two columns: at the last checkpoint."
        )
        html += tag("p", told + escape(ending(timeline, [])), class_="soft")
    return _cell(html, CURVES)


def _cell(html: str, parts: Sequence[str]) -> str:
    return tag("div", f"<style>{scoped_style(parts)}</style>\n{html}", class_=CLASS)


def _drawing(circuit: Circuit, cast: Cast, found: Discovery | None = None) -> str:
    svg = circuit_svg(circuit, cast, found, pressable=False)
    return tag("div", svg, class_="scroll") + legend(path_looks(cast, circuit.paths).values())


def _verdict(found: Discovery) -> str:
    heads, every = len(found.circuit.useful_heads), len(found.circuit.mechanisms)
    side = "below" if found.faithful else "<b>not</b> below"
    layers, least = counted(len(found.circuit.useful_layers), "layer"), found.certificate.minimum
    minimum = "" if least is None else f" (flow minimum: {least})"
    return (
        f"<b>{heads} of {counted(every, 'head')}</b> useful, in {layers}{minimum}. With every head"
        f" replaced the loss is <b>{number(found.replaced_loss)}</b>, {side} the threshold of"
        f" {found.threshold:g}; the model's own is {number(found.intact_loss)}."
    )


def _properties(found: Discovery) -> str:
    """Which properties the circuit has, but for those that cannot be said."""
    held = {
        "faithful": found.faithful,
        "necessary": found.necessary,
        "minimal": found.minimal,
        "feasible": found.feasible,
    }
    known = [(name, holds) for name, holds in held.items() if holds is not None]
    return listed(name if holds else f"<b>not</b> {name}" for name, holds in known)


def _paths(found: Discovery, cast: Cast) -> str:
    looks = path_looks(cast, found.circuit.paths)
    rows = []
    for n in found.certificate.necessity:
        dot = f'<i class="dot {looks[n.path].colour}"></i>' if n.path in looks else ""
        again = found.certificate.stability(n.path)
        rows.append(
            [
                str(n.path.layer),
                str(n.path.head),
                dot + path_tag(n.path),
                number(n.attention),
                number(n.loss),
                number(n.free),
                *([] if again is None else [f"{again:.0%}"]),
            ]
        )
    head = ["layer", "head", "path", "mean attention", "circuit without it", "above free"]
    return plain_table(head + ["found again"] * bool(found.certificate.trials), rows)


def _order(timeline: Timeline) -> str:
    """When the hops were learnt, and whether in the order of the chain."""
    hops = [
        f"{named(hop)} learnt at step {whole(step)}" if step is not None else f"{named(hop)} never"
        for hop, step in timeline.hops.items()
    ]
    order = ""
    if timeline.in_chain_order is not None:
        how = ", in" if timeline.in_chain_order else ", <b>not</b> in"
        order = f"{how} order"
    dated = counted(len(timeline.paths), "path")
    return f"{dated}; {listed(hops) if hops else 'no hops'}{order}."


def _ended(group: Group, ends: Sequence[Sequence[float]]) -> Group:
    """The group with values at the end in the columns that a script would fill."""
    names = [
        replace(name, cells=[*name.cells, *map(number, values)], now=())
        for name, values in zip(group.names, ends, strict=True)
    ]
    head = ["at the end" if word == "now" else word for word in group.head]
    return replace(group, names=names, head=head)
