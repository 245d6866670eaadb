"""The circuit on the page: its drawing, the way to the answer, paths and heads."""

from collections.abc import Iterable, Sequence

from headway.circuits import Discovery, Path
from headway.circuits.roles import joins_roles
from headway.circuits.routes import trace
from headway.report.findings import Findings
from headway.report.labels import rounded
from headway.report.page.html import (
    command,
    counted,
    figure,
    missing,
    named,
    number,
    path_tag,
    section,
    table,
    tag,
)
from headway.report.page.looks import NOTHING, Look, path_looks
from headway.report.page.paths import MOST_ROWS, path_table
from headway.report.page.story import branch_caption, the_way
from headway.tasks import Task

TITLE = "The circuit"

HOW = (
    "Click an arrow of the circuit, or switch a path off here, to see what it costs. The losses"
    " were measured one path at a time, so one path is off at a time."
)


def circuit_figure(findings: Findings, drawing: str) -> str:
    """The drawing, with its caption and the symbols' colours."""
    discovery, task = findings.discovery, findings.task
    assert discovery is not None
    paths = discovery.circuit.paths
    looks = path_looks(task, paths).values()
    drawn = figure(drawing + legend(looks) + cost(discovery), caption(task, paths), "circuit")
    return tag("aside", drawn, aria_label="the circuit, drawn")


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
    """The way to the answer, the table of paths, what every head does."""
    discovery = findings.discovery
    if discovery is None and findings.no_circuit is not None:
        return section("circuit", TITLE, tag("p", findings.no_circuit))
    if discovery is None:
        html = missing(
            "The circuit has not been looked for yet. This finds a mechanism for every head and"
            f" tests it: {command(findings.run.folder, 'circuit')}"
        )
        return section("circuit", TITLE, html)
    way = the_way(findings)
    html = way
    if discovery.circuit.paths:
        html += f"<h3>Path by path</h3><p>{HOW}</p>{path_table(findings)}"
    else:
        html += tag("p", "The circuit has no path.")
    html += "<h3>What every head does</h3>" + _heads(findings)
    return section("circuit", TITLE, html)


def cost(discovery: Discovery) -> str:
    """A line for the page's script to say in what cutting a path costs, if there are any."""
    if not discovery.circuit.paths:
        return ""
    told = (
        f"With all {counted(len(discovery.circuit.paths), 'path')}, and every other head replaced,"
        f" the loss is {rounded(discovery.replaced_loss)}; threshold {discovery.threshold:g}."
        " Click an arrow to cut it."
    )
    return tag("p", told, id="switched", role="status", data_whole=told)


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
        " is kept, so a head without a path may still do something that the threshold does not ask"
        " for. <b>model with this head replaced</b>: the loss with this head alone replaced by"
        f" its mechanism, all others as they are; the model as it is: {number(intact)}, over"
        f" {discovery.certificate.sequences} sequences.</p>"
    )
