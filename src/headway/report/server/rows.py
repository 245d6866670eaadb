"""A run as a row of the page of all runs."""

import math
import os
from datetime import UTC, datetime
from urllib.parse import quote

from headway.circuits import THRESHOLD
from headway.report.labels import rounded
from headway.report.page.html import counted, tag
from headway.report.server.catalogue import Entry, Name
from headway.report.server.document import plain
from headway.report.server.summary import Summary

COLUMNS = ("run", "task", "status", "validation loss", "circuit", "changed")

WIDTH, HEIGHT = 96.0, 26.0
LOSSES = (0.002, 2.0)
"""What the small curves span from bottom to top, on a logarithmic scale, so that they compare."""

LATEST = 250e9
"""The last time that a calendar has, in seconds since 1970; a file's can be beyond."""


def link(name: Name) -> str:
    """The address of a run's page on the server."""
    return "/run/" + "/".join(quote(os.fsencode(part), safe="") for part in name) + "/"


def row_of(entry: Entry, row: Summary | str) -> str:
    """A run as a row of the table, with what the filter looks at.

    Args:
        entry: the run's folder.
        row: what is said of it; if it cannot be read, why.
    """
    full = "/".join(entry.name)
    words = [full, "unreadable", row] if isinstance(row, str) else _words(full, row)
    start = f'<tr data-words="{plain(" ".join(words))}"><th scope=row>'
    name = f'<a href="{plain(link(entry.name))}"><bdi>{plain(entry.name[-1])}</bdi></a>'
    changed = _time(entry.changed)
    if isinstance(row, str):
        why = f'<td colspan="4" class="why">{_status("unreadable")} {plain(row)}</td>'
        return f"{start}{name}</th>{why}<td>{changed}</td></tr>"
    cells = (
        f"{plain(row.task)}<small>{plain(row.model)} · seed {row.seed}</small>",
        f"{_status(row.status)}{_progress(row)}",
        f'<div class="loss">{_loss(row)}{_curve(row)}</div>',
        _circuit(row),
        changed,
    )
    if row.status == "failed" and row.message:
        told = row.message.replace(f" in {entry.folder.absolute()}", "")
        name += f'<small class="why">{plain(told.replace(f" in {entry.folder}", ""))}</small>'
    return f"{start}{name}</th>" + "".join(tag("td", cell) for cell in cells) + "</tr>"


def _words(name: str, row: Summary) -> list[str]:
    """What the filter looks at."""
    return [name, row.task, row.model, f"seed {row.seed}", row.status, row.message or ""]


def _status(status: str) -> str:
    return f'<span class="state {status}">{status}</span>'


def _progress(row: Summary) -> str:
    if row.status == "done":
        return f"<small>{row.step:,} steps</small>"
    if row.steps is None:
        return f"<small>step {row.step:,}</small>"
    share = min(1.0, row.step / row.steps)
    bar = f'<i class="bar"><i style="width:{share:.1%}"></i></i>' if row.status == "running" else ""
    return f"<small>step {row.step:,} of {row.steps:,}</small>{bar}"


def _loss(row: Summary) -> str:
    if row.loss is None:
        return '<span class="none">—</span>'
    solved = ' class="solved"' if row.loss < THRESHOLD else ""
    return f'<data value="{row.loss!r}"{solved}>{rounded(row.loss)}</data>'


def _curve(row: Summary) -> str:
    """The validation loss over training, with a dotted line below which the task is solved."""
    if len(row.curve) < 2:
        return ""
    first, last = row.curve[0][0], row.curve[-1][0]
    across = [(step - first) / max(1, last - first) * WIDTH for step, _ in row.curve]
    line = " ".join(
        f"{x:.1f},{_height(loss):.1f}" for x, (_, loss) in zip(across, row.curve, strict=True)
    )
    level = f"{_height(THRESHOLD):.1f}"
    return (
        f'<svg viewBox="0 -1 {WIDTH + 3:g} {HEIGHT + 2:g}" role="img" aria-label="its course">'
        f'<line x1="0" x2="{WIDTH:g}" y1="{level}" y2="{level}"/><polyline points="{line}"/>'
        f'<circle cx="{WIDTH:g}" cy="{_height(row.curve[-1][1]):.1f}" r="2"/></svg>'
    )


def _height(loss: float) -> float:
    low, high = map(math.log, LOSSES)
    return HEIGHT * (high - math.log(min(LOSSES[1], max(LOSSES[0], loss)))) / (high - low)


def _circuit(row: Summary) -> str:
    if row.heads is None:
        return '<span class="none">—</span>'
    heads, layers = row.heads
    told = f"in {counted(layers, 'layer')}"
    if row.least.known:
        told += f", flow minimum {row.least.cell}"
    return f"{counted(heads, 'useful head')}<small>{told}</small>"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return '<span class="none">—</span>'
    exact = datetime.fromtimestamp(min(max(seconds, 0.0), LATEST), UTC)
    return f'<time datetime="{exact:%Y-%m-%dT%H:%M:%SZ}">{exact.astimezone():%Y-%m-%d %H:%M}</time>'
