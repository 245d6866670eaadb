"""Section 4 of the comparison: births on one axis, and the validation losses of all runs."""

import math
from collections.abc import Sequence

from headway.circuits import THRESHOLD
from headway.report.comparison.members import Member
from headway.report.comparison.runs import yes_or_no
from headway.report.labels import typeset
from headway.report.page.charts import Curve, Panel, plot
from headway.report.page.html import (
    figure,
    number,
    path_key,
    section,
    table,
    tag,
    whole,
)
from headway.report.page.looks import DASHES, hop_sign, path_looks, symbol_colours
from headway.report.page.strips import Mark, Strip, shown_until, strips

RUN = "onerun"
"""The class of a run's curve: colours stand for symbols, so dashes tell runs apart."""


def births(members: Sequence[Member]) -> str:
    """Section 4."""
    known = [member for member in members if member.findings.metrics]
    if not known:
        html = tag("p", "No run has been evaluated yet, so there is nothing to date.")
        return section("births", "How they were born", html)
    rows = [_strip(member) for member in members]
    end = max(line["step"] for member in known for line in member.findings.metrics)
    marked = [mark.step for row in rows for mark in row.marks]
    end = max(1, end, *marked)
    cut = shown_until(max(marked, default=end), end)
    panel = _losses(known)
    below = tag("h4", panel.title) + plot(panel, end, cut)
    drawn = tag("h4", "when every hop was learnt, and every path of the circuit was born")
    html = figure(drawn + strips(rows, end, cut, below=below), _caption(), "births")
    return section("births", "How they were born", html + _table(members))


def _strip(member: Member) -> Strip:
    task = member.findings.task
    colours, run = symbol_colours(task), {"run": str(member.number)}
    marks, words = [], []
    for hop, step in member.hops.items():
        if step is not None:
            told = f"{hop} learnt at step {step:,.0f}"
            words.append(told)
            digit = hop_sign(hop)
            marks.append(Mark(step, colours[hop], "square", digit, told))
    looks = path_looks(task, [history.path for history in member.births])
    for history in member.births:
        path = history.path
        if history.born is not None:
            carries = ", ".join(looks[path].carries)
            told = f"layer {path.layer} head {path.head} {path.relation}"
            told += f", carries {carries}:" if carries else ":"
            told += f" born at step {history.born:,.0f}"
            words.append(told)
            look, key = looks[path], {"path": path_key(path)}
            marks.append(Mark(history.born, look.colour, "round", str(path.layer), told, key))
    label = f"run {member.name}: {'; '.join(words) or 'nothing is dated'}"
    order = {True: "in order", False: "not in order", None: ""}
    note = order[member.in_chain_order]
    if not member.births:
        note += "; paths not dated" if note else "paths not dated"
    look = {} if _dashes(member) == "none" else {"stroke_dasharray": _dashes(member)}
    line = tag("line", "", x1="0", x2="26", y1="5", y2="5", **look)
    curve = {"viewBox": "0 0 26 10", "class_": f"swatch {RUN}", "aria_hidden": "true"}
    return Strip(member.tag + tag("svg", line, **curve), label, marks, note, run)


def _losses(members: Sequence[Member]) -> Panel:
    curves = []
    for member in members:
        points = [(line["step"], line["val_loss"]) for line in member.findings.metrics]
        points = [point for point in points if math.isfinite(point[1])]
        curves.append(Curve(points, RUN, _dashes(member), {"run": str(member.number)}))
    values = [value for curve in curves for _, value in curve.points]
    losses = sorted({member.findings.task.targets.loss_name for member in members})
    return Panel(
        f"validation loss of every run ({', '.join(losses)}) on held-out sequences",
        curves,
        top=max(1.3, *values),
        bottom=0.8 * max(min([*values, 0.3]), 1e-9),
        levels=[(f"solved, {THRESHOLD:g}", THRESHOLD)],
        height=300,
    )


def _dashes(member: Member) -> str:
    return DASHES[(member.number - 1) % len(DASHES)]


def _caption() -> str:
    return (
        "<b>Squares</b>: the step at which a hop's partial loss first falls below 0.5, with the"
        " number of the hop. <b>Circles</b>: the step at which the attention along a path first"
        " passes 0.5, with the layer of the path; coloured by the symbol that it carries, as in the"
        " circuits. Point at a mark for its name; at a run, to find it everywhere. Interpolated"
        " between evaluations and checkpoints. Below, on the same axis, the dashes beside a run's"
        " name are those of its curve."
    )


def _table(members: Sequence[Member]) -> str:
    hops = list(dict.fromkeys(hop for member in members for hop in member.hops))
    never = '<span class="none">never</span>'
    rows = []
    for member in members:
        cells = [number(None)] * len(hops)
        if member.findings.metrics:
            steps = [member.hops.get(hop) for hop in hops]
            cells = [never if step is None else whole(step) for step in steps]
            gone = [hop not in member.hops for hop in hops]
            cells = [number(None) if no else c for no, c in zip(gone, cells, strict=True)]
        dated = [history.born for history in member.births]
        count = f"{sum(step is not None for step in dated)} of {len(dated)}" if dated else "—"
        rows.append((member.tag, *cells, yes_or_no(member.in_chain_order), count))
    head = ("run", *(f"{typeset(hop)} learnt at step" for hop in hops), "in order", "paths born")
    html = tag("div", table(head, rows, "when hops were learnt, run by run"), class_="sortable")
    return f"<h3>When hops were learnt</h3>{html}"
