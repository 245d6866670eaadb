"""Section 3 of a sweep's page: two fields across each other, and what the theory allows."""

from collections.abc import Sequence
from itertools import product

from headway.report.page.grids import Cell, grid
from headway.report.page.html import counted, escape, figure, number, section, table, tag
from headway.report.sweep.axes import Axis, grouped
from headway.report.sweep.entries import Entry
from headway.report.sweep.numbers import COLUMNS, Came

DEPTH, LAYERS = "task.depth", "model.n_layers"

MOST_CELLS, MOST_GRIDS = 400, 12
"""Larger grids, or more of them, are left out."""


def depths(entries: Sequence[Entry], axes: Sequence[Axis]) -> str:
    """The section; empty unless two fields or more vary besides the seed.

    Args:
        entries: the runs.
        axes: what varies.
    """
    if len(axes) < 2:
        return ""
    by_field = {axis.field: axis for axis in axes}
    down = by_field.get(DEPTH) or next(axis for axis in axes if axis.field != LAYERS)
    across = by_field.get(LAYERS) or next(axis for axis in axes if axis is not down)
    rest = [axis for axis in axes if axis is not down and axis is not across]
    groups = grouped(entries, rest)
    if len(down.values) * len(across.values) > MOST_CELLS or len(groups) > MOST_GRIDS:
        return ""
    ranked = sorted(
        groups, key=lambda key: [axis.values.index(v) for axis, v in zip(rest, key, strict=True)]
    )
    drawn = ""
    for key in ranked:
        words = [f"{axis.name}={value}" for axis, value in zip(rest, key, strict=True)]
        title = tag("h4", escape(", ".join(words))) if words else ""
        drawn += tag("div", title + _grid(groups[key], down, across))
    bounded = _bounded(entries, axes)
    caption = (
        f"In every cell how many of its runs solved the task, and the median validation loss of"
        f" those that are done; the stronger the shade, the larger the share that solved it. Rows:"
        f" {escape(down.name)}, columns: {escape(across.name)}."
    )
    if bounded:
        caption += (
            ' <i class="legendbox"></i>the flow minimum of layers (◆).'
            ' <i class="legendbox below"></i>too few layers by the theory (▽).'
        )
    kind = "multiples wide" if len(groups) > 1 else "onegrid"
    html = figure(tag("div", drawn, class_=kind), caption, "grid")
    html += tag("p", _verdict(entries)) if bounded else ""
    html += _table(entries, [down, across, *rest])
    title = f"{down.name} against {across.name}"
    return section("grid", title, html)


def _bounded(entries: Sequence[Entry], axes: Sequence[Axis]) -> bool:
    """Whether the minimum says something: layers vary, or what they are needed for."""
    fields = {axis.field for axis in axes}
    known = any(entry.least.layers is not None for entry in entries)
    return bool(fields & {DEPTH, LAYERS}) and known


def _grid(entries: Sequence[Entry], down: Axis, across: Axis) -> str:
    groups = grouped(entries, (down, across))
    cells = [
        [_cell(groups.get((row, column), [])) for column in across.values] for row in down.values
    ]
    rows, columns = ([escape(value) for value in axis.values] for axis in (down, across))
    label = f"runs that solved the task, by {down.name} and {across.name}"
    names = escape(down.name), escape(across.name)
    return grid((names[0], rows), (names[1], columns), cells, label)


def _cell(entries: Sequence[Entry]) -> Cell:
    if not entries:
        return Cell("·", None)
    came = Came.of(entries)
    side = {_side(entry) for entry in entries}
    sign, kind = {"least": (" ◆", "least"), "below": (" ▽", "below")}.get(
        side.pop() if len(side) == 1 else "", ("", "")
    )
    html = f"<b>{came.solved} of {came.runs}</b>{sign}"
    html += f"<small>{number(came.median)}</small>" if came.done else "<small>none done</small>"
    failed = sum(entry.status == "failed" for entry in entries)
    waiting = came.runs - came.done - failed
    for count, word in ((failed, "failed"), (waiting, "not done")):
        html += f"<small>{count} {word}</small>" if count and came.done else ""
    if kind == "below" and came.solved:
        kind += " some"
    return Cell(html, came.solved / came.runs, kind)


def _side(entry: Entry) -> str:
    """Whether a run's layers are too few by the theory (`below`), just enough (`least`) or more.

    Empty if that is not known.
    """
    layers, least = entry.config.model.n_layers, entry.least
    if not least.known:
        return ""
    if least.layers is None or layers < least.layers:
        return "below"
    return "least" if layers == least.layers else "above"


def _verdict(entries: Sequence[Entry]) -> str:
    """Whether some run did what the theory rules out, and how many did with the least."""
    done = [entry for entry in entries if entry.done]
    below = [entry for entry in done if _side(entry) == "below"]
    least = [entry for entry in done if _side(entry) == "least"]
    broke = [escape(entry.name) for entry in below if entry.solved]
    told = f"None of {counted(len(below), 'run')} with too few layers solved the task."
    if not below:
        told = "No run has too few layers by the theory."
    if broke:
        told = f"<b>Solved with too few layers by the theory</b>: {', '.join(broke)}."
    if least:
        solved = sum(entry.solved for entry in least)
        told += f" With just enough, {solved} of {len(least)} did."
    return told


def _table(entries: Sequence[Entry], axes: Sequence[Axis]) -> str:
    groups = grouped(entries, axes)
    keys = [key for key in product(*(axis.values for axis in axes)) if key in groups]
    rows = [(*map(escape, key), *Came.of(groups[key]).cells) for key in keys]
    head = (*(axis.name for axis in axes), *COLUMNS)
    html = tag("div", table(head, rows, "cell by cell"), class_="sortable")
    return f"<details><summary>cell by cell ({len(rows)})</summary>{html}</details>"
