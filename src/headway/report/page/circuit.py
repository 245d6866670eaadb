"""The circuit on the page: its drawing, the way to the answer, paths and heads."""

from collections.abc import Iterable

from markupsafe import Markup

from headway.circuits import Path
from headway.circuits.roles import joins_roles
from headway.circuits.routes import trace
from headway.report.findings import Findings
from headway.report.page.circuit_svg import circuit_svg
from headway.report.page.html import named, tag
from headway.report.page.looks import NOTHING, Look, path_looks
from headway.report.page.paths import MOST_ROWS, path_table
from headway.report.page.templating import of_run
from headway.text import counted, rounded


def circuit_figure(findings: Findings) -> Markup:
    """The drawing, with its caption and the symbols' colours; nothing without a circuit."""
    discovery, task = findings.discovery, findings.task
    if discovery is None:
        return Markup("")
    paths = discovery.circuit.paths
    return of_run(
        findings,
        "run/drawing.html",
        drawing=circuit_svg(discovery.circuit, task, discovery),
        legend=legend(path_looks(task, paths).values()),
        joins_roles=joins_roles(task, paths),
        routes=trace(task, paths),
        told=(
            f"With all {counted(len(paths), 'path')}, and every other head replaced, the loss is"
            f" {rounded(discovery.replaced_loss)}; threshold {discovery.threshold:g}."
            " Click an arrow to cut it."
        ),
    )


def legend(looks: Iterable[Look]) -> Markup:
    """Which symbol every colour of a drawing stands for; empty if no path is known to carry one."""
    looks = list(looks)
    carried = {symbol: look.colour for look in looks for symbol in look.carries[-1:]}
    keys = [(named(symbol), colour) for symbol, colour in sorted(carried.items())]
    if any(look.colour == NOTHING for look in looks):
        keys.append((Markup("nothing new"), NOTHING))
    spans = [tag("span", tag("i"), name, class_=f"carried {colour}") for name, colour in keys]
    return tag("p", "arrows carry ", spans, class_="legend") if keys else Markup("")


def the_circuit(findings: Findings) -> Markup:
    """The way to the answer, the table of paths, what every head does."""
    discovery = findings.discovery
    if discovery is None:
        return of_run(findings, "run/circuit.html")
    routes = trace(findings.task, discovery.circuit.paths)
    together: dict[tuple[Path, ...], list[str]] = {}
    for symbol, paths in routes.arrivals.items() if routes else ():
        together.setdefault(paths, []).append(symbol)
    return of_run(
        findings,
        "run/circuit.html",
        routes=routes,
        together=together,
        path_table=path_table(findings) if discovery.circuit.paths else None,
        mechanisms=sorted(discovery.circuit.mechanisms.items(), key=lambda item: item[0]),
        most_rows=MOST_ROWS,
    )
