"""Validation losses through training, thin lines, a panel for every number of layers."""

from collections.abc import Sequence

from headway.circuits import THRESHOLD
from headway.report.page.charts import Curve, Group, Panel, stacked
from headway.report.page.html import escape, figure, section, tag
from headway.report.sweep.axes import Axis, value_of
from headway.report.sweep.depths import DEPTH, LAYERS
from headway.report.sweep.entries import Entry
from headway.report.sweep.numbers import bounds

MOST_PANELS = 12
"""With more values than this, all curves stand in one panel."""

COLOURS = 6


def curves(entries: Sequence[Entry], axes: Sequence[Axis]) -> str:
    """The section.

    Args:
        entries: the runs.
        axes: what varies.
    """
    known = [(str(i), entry) for i, entry in enumerate(entries, start=1) if entry.curve]
    if not known:
        html = tag("p", "No run has been evaluated yet.")
        return section("curves", "Losses through training", html)
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
    drawn = ""
    for value in panels.values if panels else [""]:
        here = [(i, e) for i, e in known if panels is None or panels.of(e) == value]
        lines = []
        for number, entry in here:
            look = "onerun" if coloured is None else looks[value_of(entry, coloured.field)]
            dashes = "none" if entry.done else "2 3"
            lines.append(Curve(entry.curve, f"{look} thin", dashes, {"run": number}))
        title = f"{panels.name} = {value}" if panels else "all runs"
        panel = Panel(escape(title), lines, top, bottom, [(f"{THRESHOLD:g}", THRESHOLD)], 170)
        drawn += tag("div", stacked([Group([panel], [], [])], end, end))
    legend = ""
    if coloured is not None:
        legend = "".join(
            tag("span", f"<i></i>{escape(value)}", class_=f"carried {look}")
            for value, look in looks.items()
        )
        legend = tag("p", f"{escape(coloured.name)}: {legend}", class_="legend")
    caption = (
        "Validation loss by step, one line a run, all panels on the same axes; dashed: not done."
        " Point at a line to find its run in the table and the other figures."
    )
    kind = "multiples" if panels else "one"
    label = {
        "role": "img",
        "aria_label": f"validation losses of {len(known)} runs through training",
    }
    html = figure(tag("div", drawn, class_=kind, **label) + legend, caption, "curves")
    title = f"Losses through training, by {panels.name}" if panels else "Losses through training"
    return section("curves", title, html)
