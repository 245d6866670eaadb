"""What the circuits of several runs share, and where they differ, as data."""

from collections.abc import Sequence
from statistics import median
from typing import Any

from markupsafe import Markup

from headway.circuits import Comparison, Path, compare, jaccard
from headway.report.comparison.members import Member, families
from headway.report.page.grids import Cell, grid
from headway.report.page.html import number, tag
from headway.report.settings import task_words


def shared(members: Sequence[Member]) -> list[dict[str, Any]]:
    """A comparison per task, and the tasks of which only one run has a circuit."""
    groups, told = families(members), []
    for family in groups:
        found = [member for member in family if member.findings.discovery is not None]
        name = task_words(family[0].findings.run.config.task) if len(groups) > 1 else ""
        if len(found) > 1:
            compared = compare([member.circuit for member in found])
            told.append(
                {
                    "task": name,
                    "members": found,
                    "found": compared,
                    "rows": _rows(found, compared),
                    "alike": _alike(found),
                }
            )
        elif name and found:
            told.append({"task": name, "members": found})
    return told


def _rows(members: Sequence[Member], found: Comparison) -> list[tuple[Any, ...]]:
    """Every relation: in how many runs, its median birth, and by run the paths with their births.

    A path has whether it was dated, and the step of its birth.
    """
    born = [{history.path: history.born for history in member.births} for member in members]
    rows = []
    for relation, by in found.heads.items():
        cells = [
            [(path, path in dates, dates.get(path)) for path in (Path.of(*h, relation) for h in hs)]
            for dates, hs in zip(born, by, strict=True)
        ]
        steps = [step for cell in cells for _, _, step in cell if step is not None]
        rows.append((relation, sum(map(bool, by)), median(steps) if steps else None, cells))
    return rows


def _alike(members: Sequence[Member]) -> Markup | None:
    """The Jaccard index of every two runs' relations, where there are more than two."""
    if len(members) < 3:
        return None
    used = [sorted({path.relation for path in member.circuit.paths}) for member in members]
    names = [tag("span", m.number, title=m.name, data_run=m.number) for m in members]
    cells = []
    for i, first in enumerate(used):
        likeness = [jaccard(first, second) for second in used]
        line = [Cell(number(share), share) for share in likeness]
        cells.append([*line[:i], Cell("·", None), *line[i + 1 :]])
    return grid(("run", names), ("run", names), cells, "Jaccard index of two runs' relations")
