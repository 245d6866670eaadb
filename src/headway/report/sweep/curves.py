"""Validation losses through training, thin lines, a panel for every number of layers."""

from collections.abc import Sequence
from typing import Any

from headway.circuits import THRESHOLD
from headway.report.page.charts import Curve, Group, Panel, stacked
from headway.report.sweep.axes import Axis, value_of
from headway.report.sweep.depths import DEPTH, LAYERS
from headway.report.sweep.entries import Entry
from headway.report.sweep.numbers import bounds

MOST_PANELS = 12
"""With more values than this, all curves stand in one panel."""

COLOURS = 6


def curves(entries: Sequence[Entry], axes: Sequence[Axis]) -> dict[str, Any]:
    """A panel of curves for every value of the field that divides them, and what colours mean.

    Args:
        entries: the runs.
        axes: what varies.
    """
    known = [(str(i), entry) for i, entry in enumerate(entries, start=1) if entry.curve]
    if not known:
        return {"by": None, "panels": []}
    by_field = {axis.field: axis for axis in axes}
    panels = by_field.get(LAYERS) or next((a for a in axes if a.field != DEPTH), None)
    if panels is not None and len(panels.values) > MOST_PANELS:
        panels = None
    coloured = next((a for a in [by_field.get(DEPTH), *axes] if a and a is not panels), None)
    if coloured is not None and len(coloured.values) > COLOURS:
        coloured = None
    looks = {} if coloured is None else {v: f"c{1 + i}" for i, v in enumerate(coloured.values)}
    bottom, top = bounds([value for _, entry in known for _, value in entry.curve])
    end = max(1.0, *(entry.curve[-1][0] for _, entry in known))
    drawn = []
    for value in panels.values if panels else [""]:
        here = [(i, e) for i, e in known if panels is None or panels.of(e) == value]
        lines = []
        for number, entry in here:
            look = "onerun" if coloured is None else looks[value_of(entry, coloured.field)]
            dashes = None if entry.done else "2 3"
            lines.append(Curve(entry.curve, f"{look} thin", dashes, {"run": number}))
        title = f"{panels.name} = {value}" if panels else "all runs"
        panel = Panel(title, lines, top, bottom, [(f"{THRESHOLD:g}", THRESHOLD)], 170)
        drawn.append(stacked([Group([panel], [], [])], end, end))
    return {
        "by": panels.name if panels else None,
        "panels": drawn,
        "count": len(known),
        "coloured": coloured.name if coloured else None,
        "looks": looks,
    }
