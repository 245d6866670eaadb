"""When every run learnt its hops, a row per run, and in which order."""

from collections.abc import Sequence
from statistics import median
from typing import Any

from headway.report.page.html import tag
from headway.report.page.strips import Strip, hop_marks, strips
from headway.report.span import worth_showing
from headway.report.sweep.axes import SEED, Axis
from headway.report.sweep.entries import Entry
from headway.words import natural

SIGNS = {True: "✓", False: "✗", None: ""}


def emergence(entries: Sequence[Entry], axes: Sequence[Axis]) -> dict[str, Any] | None:
    """The strips, the orders in which runs learnt, and the steps of every hop; None without a hop.

    Args:
        entries: the runs.
        axes: what varies; rows of the same values stand together.
    """
    known = [(str(i), entry) for i, entry in enumerate(entries, start=1) if entry.curve]
    dated = [step for _, entry in known for step in entry.hops.values() if step is not None]
    if not dated:
        return None
    known.sort(key=lambda pair: [axis.values.index(axis.of(pair[1])) for axis in axes])
    end = max(1.0, *dated, *(entry.curve[-1][0] for _, entry in known))
    rows = [_strip(number_, entry, axes) for number_, entry in known]
    hops = []
    for hop in sorted({hop for _, entry in known for hop in entry.hops}, key=natural):
        some = [entry.hops[hop] for _, entry in known if hop in entry.hops]
        steps = sorted(step for step in some if step is not None)
        hops.append((hop, len(some), steps, median(steps) if steps else None))
    orders = [entry.in_chain_order for _, entry in known]
    return {
        "by": " · ".join([*(axis.name for axis in axes), SEED]),
        "strips": strips(rows, end, worth_showing(max(dated), end), slim=True),
        "orders": [in_order for in_order in orders if in_order is not None],
        "count": len(known),
        "hops": hops,
    }


def _strip(number_: str, entry: Entry, axes: Sequence[Axis]) -> Strip:
    marks = hop_marks(entry.task, entry.hops, f"{entry.name}: ")
    words = [f"{hop} at step {at:,.0f}" for hop, at in entry.hops.items() if at is not None]
    order = {True: "in order", False: "not in order", None: ""}[entry.in_chain_order]
    label = f"run {entry.name}: {', '.join(words) or 'no hop was learnt'}; {order}"
    short = " · ".join([*(axis.of(entry) for axis in axes), str(entry.config.seed)])
    wide = tag("span", entry.name, class_="wide")
    narrow = tag("span", short, class_="narrow")
    name = tag("span", wide, narrow, class_="run", data_run=number_, title=entry.name)
    return Strip(name, label, marks, SIGNS[entry.in_chain_order], {"run": number_})
