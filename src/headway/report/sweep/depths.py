"""Two fields across each other, and what the theory allows."""

from collections.abc import Sequence
from itertools import product
from typing import Any

from markupsafe import Markup

from headway.report.page.grids import Cell, grid
from headway.report.page.html import joined, number, tag
from headway.report.sweep.axes import Axis, grouped
from headway.report.sweep.entries import Entry
from headway.report.sweep.numbers import COLUMNS, Came

DEPTH, LAYERS = "task.depth", "model.n_layers"

MOST_CELLS, MOST_GRIDS = 400, 12
"""Larger grids, or more of them, are left out."""


def depths(entries: Sequence[Entry], axes: Sequence[Axis]) -> dict[str, Any] | None:
    """The grids and what they show; None unless at least two fields vary besides the seed.

    Args:
        entries: the runs.
        axes: what varies.
    """
    if len(axes) < 2:
        return None
    by_field = {axis.field: axis for axis in axes}
    down = by_field.get(DEPTH) or next(axis for axis in axes if axis.field != LAYERS)
    across = by_field.get(LAYERS) or next(axis for axis in axes if axis is not down)
    rest = [axis for axis in axes if axis is not down and axis is not across]
    groups = grouped(entries, rest)
    if len(down.values) * len(across.values) > MOST_CELLS or len(groups) > MOST_GRIDS:
        return None
    ranked = sorted(
        groups, key=lambda key: [axis.values.index(v) for axis, v in zip(rest, key, strict=True)]
    )
    names = [
        ", ".join(f"{axis.name}={value}" for axis, value in zip(rest, key, strict=True))
        for key in ranked
    ]
    done = [entry for entry in entries if entry.done]
    below = [entry for entry in done if _side(entry) == "below"]
    return {
        "down": down.name,
        "across": across.name,
        "grids": [
            (name, _grid(groups[key], down, across))
            for name, key in zip(names, ranked, strict=True)
        ],
        "bounded": _bounded(entries, axes),
        "below": len(below),
        "broke": [entry.name for entry in below if entry.solved],
        "least": [entry for entry in done if _side(entry) == "least"],
        "head": [*(axis.name for axis in (down, across, *rest)), *COLUMNS],
        "rows": _rows(entries, [down, across, *rest]),
    }


def _bounded(entries: Sequence[Entry], axes: Sequence[Axis]) -> bool:
    """Whether the minimum is worth showing: layers vary, or the problem does."""
    fields = {axis.field for axis in axes}
    known = any(entry.least.layers is not None for entry in entries)
    return bool(fields & {DEPTH, LAYERS}) and known


def _grid(entries: Sequence[Entry], down: Axis, across: Axis) -> Markup:
    groups = grouped(entries, (down, across))
    cells = [
        [_cell(groups.get((row, column), [])) for column in across.values] for row in down.values
    ]
    label = f"runs that solved the task, by {down.name} and {across.name}"
    return grid((down.name, down.values), (across.name, across.values), cells, label)


def _cell(entries: Sequence[Entry]) -> Cell:
    if not entries:
        return Cell("·", None)
    came = Came.of(entries)
    side = {_side(entry) for entry in entries}
    sign, kind = {"least": (" ◆", "least"), "below": (" ▽", "below")}.get(
        side.pop() if len(side) == 1 else "", ("", "")
    )
    failed = sum(entry.status == "failed" for entry in entries)
    counts = {"failed": failed, "not done": came.runs - came.done - failed}
    notes: list[object] = [number(came.median) if came.done else "none done"]
    notes += [f"{count} {word}" for word, count in counts.items() if count and came.done]
    if kind == "below" and came.solved:
        kind += " some"
    share = tag("b", f"{came.solved} of {came.runs}")
    html = joined(share, sign, [tag("small", note) for note in notes])
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


def _rows(entries: Sequence[Entry], axes: Sequence[Axis]) -> list[tuple[object, ...]]:
    groups = grouped(entries, axes)
    keys = [key for key in product(*(axis.values for axis in axes)) if key in groups]
    return [(*key, *Came.of(groups[key]).cells) for key in keys]
