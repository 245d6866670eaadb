"""The task on the page: one held-out sequence as the model reads it."""

from headway.circuits.roles import block_starts, places, position_labels
from headway.report.findings import Findings
from headway.report.page.html import escape, named, section, tag, whole


def the_task(findings: Findings) -> str:
    """The section that the story begins with."""
    return section("task", "The task", example(findings))


def example(findings: Findings) -> str:
    """The sequence as chips, coloured by chain, with how it is to be read."""
    task, batch = findings.task, findings.example
    labels, starts = position_labels(task, batch), set(block_starts(task, batch))
    plays: dict[int, tuple[str, int]] = {}
    for place in places(task):
        row = batch.roles[0, task.roles.index(place.role)].tolist()
        plays |= {position: (place.role, chain) for chain, position in enumerate(row)}
    blocks = [""]
    for position in findings.shown:
        look, title = "chip", {}
        if position in plays:
            role, chain = plays[position]
            look, title = f"chip chain c{1 + chain % 6}", {"title": role}
        if position in starts:
            blocks.append("")
        blocks[-1] += tag("span", named(labels[position]), class_=look, **title)
    strip = tag("p", "".join(tag("span", block) for block in blocks), class_="sequence")
    return f"{strip}\n<p class=under>{_reading(findings)}</p>"


def _reading(findings: Findings) -> str:
    told = "One held-out sequence as the model reads it"
    if len(findings.shown) < findings.task.length:
        told += f", the last {len(findings.shown)} of its {whole(findings.task.length)} positions"
    if findings.task.vocabulary is not None:
        told += ", tokens by their numbers"
        if findings.task.roles:
            told += ", those with a role coloured"
    return f"<b>{told}.</b> {prose(findings.task.reading)}"


def prose(text: str) -> str:
    """Plain text as HTML: names with subscripts, and what stands in backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return named(text)
    return "".join(
        tag("code", escape(part)) if i % 2 else named(part) for i, part in enumerate(parts)
    )
