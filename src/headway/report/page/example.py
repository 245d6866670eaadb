"""The task on the page: one held-out sequence as the model reads it."""

from markupsafe import Markup

from headway.circuits.roles import block_starts, places, position_labels
from headway.report.findings import Findings
from headway.report.page.templating import of_run

Chip = tuple[str, str, str | None]
"""A position: its label, its look and its role, if it has one."""


def the_task(findings: Findings) -> Markup:
    """The section that the story begins with."""
    task, batch = findings.task, findings.example
    labels, starts = position_labels(task, batch), set(block_starts(task, batch))
    plays: dict[int, tuple[str, int]] = {}
    for place in places(task):
        row = batch.roles[0, task.roles.index(place.role)].tolist()
        plays |= {position: (place.role, chain) for chain, position in enumerate(row)}
    blocks: list[list[Chip]] = [[]]
    for position in findings.shown:
        if position in starts:
            blocks.append([])
        role, chain = plays.get(position, (None, 0))
        look = "chip" if role is None else f"chip chain c{1 + chain % 6}"
        blocks[-1].append((labels[position], look, role))
    return of_run(findings, "run/task.html", blocks=blocks)
