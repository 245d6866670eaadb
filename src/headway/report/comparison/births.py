"""Births of several runs on one axis, and their validation losses."""

from collections.abc import Sequence
from typing import Any

from headway.circuits import THRESHOLD
from headway.report.comparison.members import Member
from headway.report.labels import typeset
from headway.report.page.charts import Curve, Panel, plot, swatch
from headway.report.page.html import joined, path_key, tag
from headway.report.page.looks import DASHES, path_looks
from headway.report.page.strips import Mark, Strip, hop_marks, strips
from headway.report.span import worth_showing

RUN = "onerun"
"""The class of a run's curve: dashes tell runs apart, as colours stand for symbols."""


def births(members: Sequence[Member]) -> dict[str, Any]:
    """The strips and the curves below them, if a run was evaluated, and the hops of all runs."""
    known = [member for member in members if member.findings.metrics]
    hops = list(dict.fromkeys(hop for member in members for hop in member.hops))
    named = [f"{typeset(hop)} learnt at step" for hop in hops]
    data = {"hops": hops, "hops_learnt": named}
    if not known:
        return {**data, "strips": None}
    rows = [_strip(member) for member in members]
    marked = [mark.step for row in rows for mark in row.marks]
    end = max(1, *(line["step"] for member in known for line in member.findings.metrics), *marked)
    cut = worth_showing(max(marked, default=end), end)
    panel = _losses(known)
    below = joined(tag("h4", panel.title), plot(panel, end, cut))
    return {**data, "strips": strips(rows, end, cut, below=below)}


def _strip(member: Member) -> Strip:
    task, run = member.findings.task, {"run": str(member.number)}
    marks = hop_marks(task, member.hops)
    looks = path_looks(task, [history.path for history in member.births])
    for history in member.births:
        path = history.path
        if history.born is not None:
            carries = ", ".join(looks[path].carries)
            told = f"layer {path.layer} head {path.head} {path.relation}"
            told += f", carries {carries}:" if carries else ":"
            told += f" born at step {history.born:,.0f}"
            look, key = looks[path], {"path": path_key(path)}
            marks.append(Mark(history.born, look.colour, "round", str(path.layer), told, key))
    label = f"run {member.name}: {'; '.join(mark.title for mark in marks) or 'nothing is dated'}"
    order = {True: "in order", False: "not in order", None: ""}
    note = order[member.in_chain_order]
    if not member.births:
        note += "; paths not dated" if note else "paths not dated"
    name = joined(member.tag, swatch(RUN, _dashes(member)))
    return Strip(name, label, marks, note, run)


def _losses(members: Sequence[Member]) -> Panel:
    curves = []
    for member in members:
        points = [(line["step"], line["val_loss"]) for line in member.findings.metrics]
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


def _dashes(member: Member) -> str | None:
    return DASHES[(member.number - 1) % len(DASHES)]
