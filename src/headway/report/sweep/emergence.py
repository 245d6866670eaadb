"""When every run learnt its hops, a row a run, and in which order."""

from collections.abc import Sequence
from statistics import median

from headway.circuits.emergence import BIRTH
from headway.report.page.html import escape, figure, named, number, section, table, tag, whole
from headway.report.page.looks import hop_sign, symbol_colours
from headway.report.page.strips import Mark, Strip, shown_until, strips
from headway.report.sweep.axes import SEED, Axis
from headway.report.sweep.entries import Entry

SIGNS = {True: "✓", False: "✗", None: ""}


def emergence(entries: Sequence[Entry], axes: Sequence[Axis]) -> str:
    """The section.

    Args:
        entries: the runs.
        axes: what varies; rows of the same values stand together.
    """
    known = [(str(i), entry) for i, entry in enumerate(entries, start=1) if entry.curve]
    dated = [step for _, entry in known for step in entry.hops.values() if step is not None]
    if not dated:
        html = tag("p", "No run has learnt a hop yet.")
        return section("emergence", "When the hops were learnt", html)
    known.sort(key=lambda pair: [axis.values.index(axis.of(pair[1])) for axis in axes])
    end = max(1.0, *dated, *(entry.curve[-1][0] for _, entry in known))
    rows = [_strip(number_, entry, axes) for number_, entry in known]
    order = " · ".join([*(axis.name for axis in axes), SEED])
    caption = (
        f"One row a run: the step at which the partial loss of each hop first falls below {BIRTH:g}"
        " (interpolated between evaluations), with the number of the hop. ✓: no hop was learnt"
        " before one that is nearer to the query; ✗: some was."
    )
    drawn = tag("h4", f"steps at which hops were learnt, by {escape(order)}")
    drawn += strips(rows, end, shown_until(max(dated), end), slim=True)
    html = figure(drawn, caption, "emergence")
    html += f"<p>{_order([entry for _, entry in known])}</p>"
    html += _table([entry for _, entry in known])
    return section("emergence", "When the hops were learnt", html)


def _strip(number_: str, entry: Entry, axes: Sequence[Axis]) -> Strip:
    colours = symbol_colours(entry.task)
    marks, words = [], []
    for hop, step in entry.hops.items():
        if step is not None:
            told = f"{entry.name}: {hop} learnt at step {step:,.0f}"
            words.append(f"{hop} at step {step:,.0f}")
            marks.append(Mark(step, colours[hop], "square", hop_sign(hop), told))
    order = {True: "in order", False: "not in order", None: ""}[entry.in_chain_order]
    label = f"run {entry.name}: {', '.join(words) or 'no hop was learnt'}; {order}"
    short = " · ".join([*(axis.of(entry) for axis in axes), str(entry.config.seed)])
    name = tag("span", escape(entry.name), class_="wide")
    name += tag("span", escape(short), class_="narrow")
    look = {"class_": "run", "data_run": number_, "title": entry.name}
    return Strip(
        tag("span", name, **look), label, marks, SIGNS[entry.in_chain_order], {"run": number_}
    )


def _order(entries: Sequence[Entry]) -> str:
    told = [entry for entry in entries if entry.in_chain_order is not None]
    if not told:
        return "No run has two hops to compare, so none tells of an order."
    yes = sum(entry.in_chain_order is True for entry in told)
    return (
        f"In order: {yes} of {len(told)} runs that learnt a hop of several. The other"
        f" {len(entries) - len(told)} learnt none, or have but one."
    )


def _table(entries: Sequence[Entry]) -> str:
    hops = sorted({hop for entry in entries for hop in entry.hops})
    rows = []
    for hop in hops:
        some = [entry.hops[hop] for entry in entries if hop in entry.hops]
        steps = sorted(step for step in some if step is not None)
        count = f"{len(steps)} of {len(some)}"
        ends = (steps[0], steps[-1]) if steps else (None, None)
        middle = median(steps) if steps else None
        shown = [number(None) if step is None else whole(step) for step in (middle, *ends)]
        rows.append((named(hop), count, *shown))
    head = ("hop", "learnt in runs", "median step", "earliest", "latest")
    return table(head, rows, "when every hop was learnt, over all runs")
