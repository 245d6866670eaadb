"""Section 2 of the comparison: the circuits as small drawings beside each other."""

from collections.abc import Sequence

from headway.report.comparison.members import Member
from headway.report.labels import rounded
from headway.report.page.circuit import legend
from headway.report.page.circuit_svg import circuit_svg
from headway.report.page.html import counted, figure, section, tag
from headway.report.page.looks import Look, path_looks


def circuits(members: Sequence[Member]) -> str:
    """Section 2."""
    drawn = [_small(member) for member in members if member.findings.discovery is not None]
    if not drawn:
        html = tag("p", "No run has a circuit yet.")
        return section("circuits", "The circuits", html)
    caption = (
        "An arrow runs from the position attended to, before the layer, to the position that"
        " attends, after it; its width is the attention along it, its colour the symbol that it"
        " carries, or the head where the task names no symbols. Point at an arrow: the same"
        " relation lights up in every circuit, <b>whatever its layer and head</b>, as heads of"
        " different models have nothing in common but what they do."
    )
    html = figure(
        tag("div", "".join(drawn), class_="minis") + legend(_looks(members)), caption, "all"
    )
    return section("circuits", "The circuits", html)


def _small(member: Member) -> str:
    discovery = member.findings.discovery
    assert discovery is not None
    circuit = discovery.circuit
    told = (
        f"{counted(len(circuit.useful_heads), 'head')} in"
        f" {counted(len(circuit.useful_layers), 'layer')}, loss {rounded(discovery.replaced_loss)},"
        f" {'' if discovery.faithful else '<b>not</b> '}faithful"
    )
    drawing = circuit_svg(circuit, member.findings.task, discovery, bare=True)
    head = tag("h4", member.tag) + tag("p", told)
    return tag("div", head + drawing, class_="mini", data_run=str(member.number))


def _looks(members: Sequence[Member]) -> list[Look]:
    """Of the paths of all circuits; a symbol has the same colour in each."""
    return [
        look
        for member in members
        if (found := member.findings.discovery) is not None
        for look in path_looks(member.findings.task, found.circuit.paths).values()
    ]
