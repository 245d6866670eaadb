"""Section 1 of a sweep's page: its runs, a row each."""

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from headway.report.page.html import escape, missing, number, section, table, tag, whole
from headway.report.sweep.axes import SEED, Axis, value_of
from headway.report.sweep.entries import Entry, Gathered

FEW = 16
"""So many rows stand on the page as they are; more scroll in a box."""


def the_runs(found: Gathered, axes: Sequence[Axis], out: Path) -> str:
    """Section 1.

    Args:
        found: the folder.
        axes: what varies.
        out: the folder that the page will lie in.
    """
    fields = [(axis.name, axis.field) for axis in axes]
    if len({entry.config.seed for entry in found.entries}) > 1 or not fields:
        fields.append((SEED, SEED))
    rows = [
        (
            run_tag(number_, entry, out),
            status(entry),
            *(escape(value_of(entry, field)) for _, field in fields),
            number(entry.loss),
            whole(entry.step),
            number(None) if entry.seconds is None else whole(entry.seconds),
            number(None) if entry.heads is None else str(entry.heads),
        )
        for number_, entry in enumerate(found.entries, start=1)
    ]
    columns = ("run", "status", *(name for name, _ in fields), *FIGURES)
    look = "sortable tall" if len(rows) > FEW else "sortable"
    html = tag("div", table(columns, rows, "the runs"), class_=look) if rows else ""
    told = "Click a column's name to sort by it."
    for axis in axes:
        if axis.along:
            along = ", ".join(map(escape, axis.along))
            told += f" With <b>{escape(axis.name)}</b> goes: {along}."
    html += tag("p", told, class_="under") if rows else ""
    if found.missing:
        names = ", ".join(map(escape, found.missing))
        html += f"<details><summary>not started yet ({len(found.missing)})</summary>{names}"
        html += "</details>"
    if found.unreadable:
        html += missing("Cannot be read:<br>" + "<br>".join(map(escape, found.unreadable)))
    return section("runs", "The runs", html)


FIGURES = ("validation loss", "steps", "seconds", "useful heads")


def run_tag(number_: int, entry: Entry, out: Path) -> str:
    """A run's name, linked to its own page if it has one."""
    name = escape(entry.name)
    if entry.page:
        page = os.path.relpath((entry.folder / "report.html").resolve(), out.resolve())
        name = tag("a", name, href=quote(os.fsencode(Path(page))))
    return tag("span", name, class_="run", data_run=str(number_))


def status(entry: Entry) -> str:
    """How a run stands, and why it failed."""
    word = f'<span class="status {entry.status}">{entry.status}</span>'
    if entry.status == "failed" and entry.message:
        word += f'<span class="why">{escape(entry.message)}</span>'
    return word
