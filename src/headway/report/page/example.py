"""The task on the page: one held-out sequence as the model reads it."""

from markupsafe import Markup

from headway.circuits.roles import block_starts, places, position_labels
from headway.report.findings import Findings
from headway.report.page.templating import of_run

Chip = tuple[str, str | None, int]
"""A position: its label, its role, if it has one, and its chain."""


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
        blocks[-1].append((labels[position], role, chain))
    return of_run(findings, "run/task.html", blocks=blocks)
