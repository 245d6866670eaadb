"""The loss against every field that varies, one dot per run."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from headway.circuits import THRESHOLD
from headway.report.page.charts import Panel
from headway.report.page.dots import Dot, dots, scattered
from headway.report.sweep.axes import Axis, number_of
from headway.report.sweep.entries import Entry
from headway.report.sweep.numbers import Came, bounds
from headway.text import rounded

MOST_VALUES = 16
"""A number with more values than this is an axis; other fields are left to the table."""


def by_field(entries: Sequence[Entry], axes: Sequence[Axis]) -> list[dict[str, Any]]:
    """For every field that varies, a drawing, if there is one, and the rows of a table."""
    done = [entry for entry in entries if entry.done]
    if not done:
        return []
    numbers = {id(entry): str(i) for i, entry in enumerate(entries, start=1)}
    bottom, top = bounds([entry.loss for entry in done if entry.loss is not None])
    pictures = []
    for axis in axes or [None]:
        by = {"all runs": list(entries)}
        if axis is not None:
            by = {value: [e for e in entries if axis.of(e) == value] for value in axis.values}
        title = "validation loss at the end" + (f", by {axis.name}" if axis else "")
        panel = Panel(title, [], top, bottom, [(f"solved, {THRESHOLD:g}", THRESHOLD)], 260)
        pictures.append(
            {
                "title": title,
                "name": axis.name if axis else "runs",
                "drawing": _picture(panel, axis, by, numbers),
                "rows": [(value, *Came.of(some).cells) for value, some in by.items()],
            }
        )
    return pictures


def _picture(
    panel: Panel, axis: Axis | None, by: dict[str, list[Entry]], numbers: dict[int, str]
) -> Markup | None:
    def dot(entry: Entry) -> Dot:
        assert entry.loss is not None
        title = f"{entry.name}: {rounded(entry.loss)}"
        return Dot(entry.loss, entry.solved, title, numbers[id(entry)])

    done = {value: [entry for entry in some if entry.done] for value, some in by.items()}
    name = axis.name if axis else "all runs"
    if len(by) <= MOST_VALUES:
        told = []
        for value, some in by.items():
            came = Came.of(some)
            middle = "none done" if came.median is None else f"median {rounded(came.median)}"
            told.append(f"{value}: {middle}, {came.solved} of {came.done} solved")
        columns = [(value, [dot(entry) for entry in some]) for value, some in done.items()]
        return dots(panel, columns, f"Losses by {name}. {'; '.join(told)}")
    placed = [
        (number, dot(entry))
        for some in done.values()
        for entry in some
        if axis is not None and (number := number_of(entry, axis.field)) is not None
    ]
    return scattered(panel, placed, f"Losses along {name}, {len(placed)} runs") if placed else None
