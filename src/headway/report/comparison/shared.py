"""Section 3 of the comparison: what the circuits share, and where they differ."""

from collections.abc import Sequence
from statistics import median

from headway.circuits import Comparison, Head, Path, compare, jaccard
from headway.report.comparison.members import Member, families
from headway.report.page.grids import Cell, grid
from headway.report.page.html import (
    escape,
    figure,
    listed,
    named,
    number,
    path_key,
    section,
    table,
    tag,
    whole,
)
from headway.report.settings import task_words


def shared(members: Sequence[Member]) -> str:
    """Section 3."""
    groups = families(members)
    parts = []
    for family in groups:
        found = [member for member in family if member.findings.discovery is not None]
        if len(found) > 1:
            name = _name(family) if len(groups) > 1 else ""
            parts.append(name + _together(found))
        elif len(groups) > 1 and found:
            parts.append(
                f"{_name(family)}<p>{found[0].tag} alone has a circuit of this task, so there is"
                " nothing to compare it with.</p>"
            )
    html = "".join(parts)
    if not html:
        html = tag("p", "Fewer than two runs have a circuit, so there is nothing to compare.")
    elif len(groups) > 1:
        html = (
            "<p>The runs learnt different tasks. Only circuits of one task attend between the"
            f" same positions, so they are compared task by task.</p>{html}"
        )
    return section("shared", "What the circuits share", html)


def _name(family: Sequence[Member]) -> str:
    return f"<h3>{escape(task_words(family[0].findings.run.config.task))}</h3>"


def _together(members: Sequence[Member]) -> str:
    discoveries = [m.findings.discovery for m in members if m.findings.discovery is not None]
    found = compare([discovery.circuit for discovery in discoveries])
    relations = len(found.heads)
    every = f"all {len(members)}" if len(members) > 2 else "both"
    told = f"{every.capitalize()} circuits attend along {_relations(found.shared)}"
    told += f", of {relations} relations in any of them." if found.shared else "."
    firsts = {tuple(first) for first in found.first}
    does = "attends" if len(firsts) == 1 else "does not attend"
    told += (
        f" The first useful layer {does} along the same relations in all. Of two runs' relations,"
        f" {number(found.likeness)} are common to both on average (Jaccard index)."
    )
    return f"<p>{told}</p>" + _table(members, found) + _pairs(members)


def _relations(names: Sequence[str]) -> str:
    if not names:
        return "no relation in common"
    return listed(_relation(name) for name in names)


def _relation(name: str) -> str:
    return tag("span", named(name), class_="path", data_relation=name)


def _table(members: Sequence[Member], found: Comparison) -> str:
    born = [{history.path: history.born for history in member.births} for member in members]
    rows = []
    for relation, by in found.heads.items():
        cells = []
        for dates, heads in zip(born, by, strict=True):
            cells.append("<br>".join(_head(head, relation, dates) for head in heads))
        steps = [
            dates[Path.of(*head, relation)]
            for dates, heads in zip(born, by, strict=True)
            for head in heads
            if Path.of(*head, relation) in dates
        ]
        steps = [step for step in steps if step is not None]
        count = f"{sum(map(bool, by))} of {len(by)}"
        middle = whole(median(steps)) if steps else number(None)
        rows.append((_relation(relation), count, middle, *(cell or number(None) for cell in cells)))
    head = ("relation", "runs", "median birth", *(str(member.number) for member in members))
    runs = ", ".join(f"{member.number}: {escape(member.name)}" for member in members)
    return table(head, rows, "the heads that attend along each relation, by run") + (
        '<p class="under">By run, the heads (layer.head) that attend along a relation, and the step'
        f" at which that was born, if it was dated. {runs}.</p>"
    )


def _head(head: Head, relation: str, born: dict[Path, float | None]) -> str:
    path = Path.of(*head, relation)
    name = tag("span", f"{head[0]}.{head[1]}", class_="path", data_path=path_key(path))
    if path not in born:
        return name
    step = born[path]
    return f"{name} <small>{'never' if step is None else whole(step)}</small>"


def _pairs(members: Sequence[Member]) -> str:
    """The Jaccard index of every two runs' relations, where there are more than two."""
    if len(members) < 3:
        return ""
    used = []
    for member in members:
        assert member.findings.discovery is not None
        used.append(sorted({path.relation for path in member.findings.discovery.circuit.paths}))
    names = [tag("span", str(m.number), title=m.name, data_run=str(m.number)) for m in members]
    cells = []
    for i, first in enumerate(used):
        line = [Cell(number(jaccard(first, second)), jaccard(first, second)) for second in used]
        cells.append([*line[:i], Cell("·", None), *line[i + 1 :]])
    html = grid(("run", names), ("run", names), cells, "Jaccard index of two runs' relations")
    caption = "Jaccard index of two runs' relations: those in both, of those in either."
    return "<h3>How alike two runs are</h3>" + figure(html, caption, "alike")
