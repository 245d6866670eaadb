"""Section 1 of the page: the circuit path by path, with the loss that cutting each one costs."""

from collections.abc import Iterable, Sequence

from headway.circuits import Path
from headway.report.findings import Findings
from headway.report.labels import rounded
from headway.report.page.html import (
    command,
    escape,
    figure,
    missing,
    named,
    number,
    path_key,
    path_tag,
    section,
    table,
    tag,
)
from headway.report.page.looks import NOTHING, Look, path_looks
from headway.report.page.story import branch_caption, the_way
from headway.report.roles import joins_roles
from headway.report.routes import trace
from headway.tasks import Task

MOST_ROWS = 24
"""Tables longer than this start folded."""


def circuit_figure(findings: Findings, drawing: str) -> str:
    """The drawing, with its caption and the symbols' colours."""
    discovery, task = findings.discovery, findings.task
    assert discovery is not None
    paths = discovery.circuit.paths
    looks = path_looks(task, paths).values()
    return figure(drawing + legend(looks), caption(task, paths), "circuit")


def caption(task: Task, paths: Sequence[Path]) -> str:
    """How to read the drawing of a circuit."""
    carries = trace(task, paths) is not None
    ends = (
        " from the position attended to, before the layer, to the position that attends, after it;"
    )
    what = "symbol" if carries else "head"
    width = f" its width is the attention at this step, its colour the {what}"
    if not joins_roles(task, paths):
        return (
            f"Layers upwards. An arrow runs{ends}{width}. It bears the name of the relation"
            " between the two positions, and the attention along it."
        )
    if not carries:
        return (
            "Roles across, in the order in which they stand in a sequence (on average), layers"
            f" upwards. An arrow runs{ends}{width}."
        )
    return (
        f"One chain, its positions in the order of the sequence. An arrow runs{ends}{width} that it"
        " carries. Small labels: what a position comes by if the heads copy all"
        f" that stands where they look.{branch_caption(task, paths)}"
    )


def legend(looks: Iterable[Look]) -> str:
    """Which symbol every colour of a drawing stands for; empty if no path is known to carry one."""
    looks = list(looks)
    carried = {symbol: look.colour for look in looks for symbol in look.carries[-1:]}
    html = "".join(
        tag("span", f"<i></i>{named(symbol)}", class_=f"carried {colour}")
        for symbol, colour in sorted(carried.items())
    )
    if any(look.colour == NOTHING for look in looks):
        html += tag("span", "<i></i>nothing new", class_=f"carried {NOTHING}")
    return tag("p", f"arrows carry {html}", class_="legend") if html else ""


def the_circuit(findings: Findings) -> str:
    """Section 1: paths to switch off, the way to the answer, what every head does."""
    discovery = findings.discovery
    if discovery is None and findings.no_circuit is not None:
        return section("circuit", 1, "The circuit, path by path", tag("p", findings.no_circuit))
    if discovery is None:
        html = missing(
            "The circuit has not been looked for yet. This finds a mechanism for every head and"
            f" tests it: {command(findings.run.folder, 'circuit')}"
        )
        return section("circuit", 1, "The circuit, path by path", html)
    way = the_way(findings)
    html = _switches(findings)
    html += f"<h3>How it comes by the answer</h3>{way}" if way else ""
    html += "<h3>What every head does</h3>" + _heads(findings)
    return section("circuit", 1, "The circuit, path by path", html)


def _switches(findings: Findings) -> str:
    discovery, task = findings.discovery, findings.task
    assert discovery is not None
    if not discovery.circuit.paths:
        return tag("p", "The circuit has no path.")
    looks = path_looks(task, discovery.circuit.paths)
    necessity = {n.path: n for n in discovery.certificate.necessity}
    dated, carries = findings.timeline is not None, trace(task, discovery.circuit.paths) is not None
    rows = []
    for path in discovery.circuit.paths:
        look, n = looks[path], necessity.get(path)
        name = f"switch off layer {path.layer} head {path.head} {path.relation}"
        switch = {"type": "checkbox", "checked": "", "aria_label": name, "class_": "switch"}
        cells = [
            tag("input", "", **switch, data_path=path_key(path)),
            str(path.layer),
            str(path.head),
            f'<i class="dot {look.colour}"></i>{path_tag(path)}',
        ]
        if carries:
            brings = ", ".join(map(named, look.carries))
            cells.append(brings or '<span class="none">nothing new</span>')
        cells += [
            number(n and n.loss),
            number(n and n.free),
        ]
        if dated:
            key = path_key(path)
            cells += [tag("output", "", data_now=kind, data_path=key) for kind in _NOW]
        rows.append(cells)
    heads = ["on", "layer", "head", "path", *(["carries"] if carries else [])]
    heads += ["circuit without it", "above free"]
    if dated:
        heads += ["attention now", "model without it, now"]
    whole = rounded(discovery.replaced_loss)
    told = (
        f"With all {len(rows)} paths on, and every other head replaced, the loss is {whole}; to"
        f" stay below {discovery.threshold:g}."
    )
    return (
        "<p>Switch a path off to see what it costs. The losses were measured when the circuit was"
        " found, one path at a time; two at once were only tried for whether the loss stays below"
        " the threshold (section 4), so one path is off at a time here.</p>"
        + table(heads, rows, "paths of the circuit, to switch off")
        + tag("p", told, id="switched", role="status", data_whole=told)
        + '<p class="under"><b>circuit without it</b>: the loss with every head replaced and this'
        f" path cut (ablation: {escape(findings.ablation)}). <b>above free</b>: the same, while the"
        " useful heads of the layers above attend as they like. <b>model without it, now</b>: the"
        " loss of the model at the step where the page stands, with this attention set to zero,"
        " over other sequences than the evidence's (section 2).</p>"
    )


_NOW = ("attention", "without")


def _heads(findings: Findings) -> str:
    discovery = findings.discovery
    assert discovery is not None
    alone, intact = discovery.certificate.alone, discovery.certificate.intact_loss
    rows = []
    for head, mechanism in sorted(discovery.circuit.mechanisms.items(), key=lambda item: item[0]):
        paths = [path for path in discovery.circuit.paths if path.at == head]
        does = "&emsp;".join(map(path_tag, paths)) or f"<em>{mechanism}</em>"
        rows.append((str(head[0]), str(head[1]), does, number(alone.get(head))))
    columns = ("layer", "head", "mechanism", "model with this head replaced")
    html = table(columns, rows, "mechanisms of all heads")
    if len(rows) > MOST_ROWS:
        html = f"<details><summary>{len(rows)} heads</summary>{html}</details>"
    return html + (
        '<p class="under"><b>uniform</b>: the mean over all it may see; <b>identity</b>: itself;'
        " else it attends along these paths only. The simplest mechanism that keeps the loss small"
        " is kept: that a head is not needed to stay below the threshold does not mean that it does"
        " nothing. <b>model with this head replaced</b>: the loss with this head alone replaced by"
        f" its mechanism, all others as they are; the model as it is: {number(intact)}, over"
        f" {discovery.certificate.sequences} sequences.</p>"
    )
