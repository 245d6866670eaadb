"""The one table of the circuit's paths: what is known of each, in columns that unfold."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from headway.circuits import Discovery, Necessity, Path, PathHistory, Timeline
from headway.circuits.emergence import MATTERS, crossing
from headway.circuits.routes import Leg, Routes, trace
from headway.report.findings import Findings
from headway.report.page.charts import swatch
from headway.report.page.html import (
    change,
    escape,
    listed,
    named,
    number,
    path_key,
    path_tag,
    tabled,
    tag,
    whole,
)
from headway.report.page.looks import path_looks

MOST_ROWS = 24
"""Tables longer than this scroll by themselves."""

NEVER = '<span class="none">never</span>'
NOW = ("attention", "without")


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        name: of it, as text.
        cell: what stands in the row of a path, as HTML.
        group: with which it unfolds; empty if it is always there.
    """

    name: str
    cell: Callable[[Path], str]
    group: str = ""


def path_table(findings: Findings) -> str:
    """All that is known of every path, a row a path, and what the columns mean.

    All columns are unfolded; the page's script folds them.
    """
    discovery = findings.discovery
    assert discovery is not None
    paths = discovery.circuit.paths
    columns = _columns(findings, discovery)
    notes = _notes(findings, discovery)
    groups = [group for group in dict.fromkeys(c.group for c in columns) if group]
    buttons = "".join(
        tag("button", group, type="button", data_unfold=group, aria_pressed="true")
        for group in groups
    )
    top = "".join(tag("th", escape(c.name), scope="col", **_group(c.group)) for c in columns)
    body = "".join(
        tag("tr", "".join(tag("td", c.cell(path), **_group(c.group)) for c in columns)) + "\n"
        for path in paths
    )
    inner = f"<thead><tr>{top}</tr></thead>\n<tbody>\n{body}</tbody>"
    html = tabled(tag("table", inner, class_="paths"), "paths of the circuit")
    if len(paths) > MOST_ROWS:
        html = tag("div", html, class_="tall")
    html += "".join(
        tag("p", notes[group], class_="under", **_group(group)) for group in ("", *groups)
    )
    html = tag("div", html, class_="unfolding sortable", data_open=" ".join(groups))
    unfold = {"class_": "choice", "role": "group", "aria_label": "columns"}
    choice = tag("span", f"more columns {buttons}", **unfold) if groups else ""
    return tag("p", choice, class_="controls") + html


def found_by(leg: Leg) -> str:
    """What a path can find its key by."""
    if leg.together:
        return "the code they share"
    if leg.by:
        return _and(leg.by)
    if leg.codes:
        return "the code " + _and(leg.codes)
    return "<b>nothing that they share</b>"


def _group(group: str) -> dict[str, str]:
    return {"data_group": group} if group else {}


def _columns(findings: Findings, discovery: Discovery) -> list[Column]:
    paths, timeline = discovery.circuit.paths, findings.timeline
    routes = trace(findings.task, paths)
    looks = path_looks(findings.task, paths)
    necessity = {n.path: n for n in discovery.certificate.necessity}
    histories = {} if timeline is None else {h.path: h for h in timeline.paths}

    def cut(path: Path) -> str:
        switch = {"type": "checkbox", "checked": "", "class_": "switch"}
        name = f"switch off layer {path.layer} head {path.head} {path.relation}"
        return tag("input", "", **switch, aria_label=name, data_path=path_key(path))

    def name(path: Path) -> str:
        look = looks[path]
        line = swatch(look.colour, look.dashes)
        return f"{line}L{path.layer}.H{path.head} {path_tag(path)}"

    found = [Column("on", cut), Column("path", name)]
    if routes is not None:
        found.append(Column("carries", lambda path: _carried(looks[path].carries)))
    if timeline is not None:
        found.append(Column("born", lambda path: whole(histories[path].born)))
    found += [
        Column("circuit without it", lambda path: number(_of(necessity, path, "loss"))),
        *([] if timeline is None else _birth(histories, timeline)),
        *_evidence(necessity, discovery),
        *([] if routes is None else _way(routes)),
    ]
    return found


def _of(necessity: dict[Path, Necessity], path: Path, field: str) -> float | None:
    return getattr(necessity[path], field) if path in necessity else None


def _birth(histories: dict[Path, PathHistory], timeline: Timeline) -> list[Column]:
    def dated(when: Callable[[PathHistory], float | None]) -> Callable[[Path], str]:
        return lambda path: NEVER if (at := when(histories[path])) is None else whole(at)

    def now(kind: str) -> Callable[[Path], str]:
        return lambda path: tag("output", "", data_now=kind, data_path=path_key(path))

    return [
        Column("attention now", now(NOW[0]), "birth"),
        Column("knocked out now", now(NOW[1]), "birth"),
        Column("felt from", dated(lambda h: felt_from(h, timeline)), "birth"),
        Column("needed from", dated(lambda h: h.needed), "birth"),
        Column("largest rise", lambda p: change(max(rises(histories[p], timeline))), "birth"),
    ]


def _evidence(necessity: dict[Path, Necessity], discovery: Discovery) -> list[Column]:
    def measured(field: str) -> Callable[[Path], str]:
        return lambda path: number(_of(necessity, path, field))

    def rise(path: Path) -> str:
        loss = _of(necessity, path, "loss")
        return number(None) if loss is None else change(loss - discovery.replaced_loss)

    def again(path: Path) -> str:
        share = discovery.certificate.stability(path)
        return number(None) if share is None else f"{share:.0%}"

    return [
        Column("needed?", lambda p: needed(necessity.get(p), discovery), "evidence"),
        Column("rise", rise, "evidence"),
        Column("above free", measured("free"), "evidence"),
        Column("head uniform", measured("uniform"), "evidence"),
        Column("mean attention", measured("attention"), "evidence"),
        Column("found again", again, "evidence"),
    ]


def _way(routes: Routes) -> list[Column]:
    return [
        Column("can be found by", lambda path: found_by(routes.legs[path]), "way"),
        Column("part", lambda path: _part(routes, path), "way"),
    ]


def _part(routes: Routes, path: Path) -> str:
    join = routes.last_join()
    parts = []
    if join is not None:
        parts += [f"branch of {named(s)}" for s, paths in join.branches.items() if path in paths]
        if path in join.key_side:
            parts.append("readies the place where they join")
        if path == join.path:
            parts.append(f"<b>joins {_and(join.branches)}</b>")
    wanted = [symbol for symbol, paths in routes.needs.items() if path in paths]
    if path in routes.idle:
        return '<span class="none">none</span>'
    return "; ".join([*parts, f"for {_and(wanted)}"])


def needed(n: Necessity | None, discovery: Discovery) -> str:
    """Whether the circuit needs a path, by the evidence."""
    if n is None or not discovery.faithful:
        return '<span class="none">– open</span>'
    if n.worst < discovery.threshold:
        return "<b>✗ no</b>"
    return "✓ yes" if n.loss >= discovery.threshold else "✓ by those above"


def rises(history: PathHistory, timeline: Timeline) -> list[float]:
    """By how much a path's knock-out raises the loss, at every checkpoint."""
    return [cut - loss for cut, loss in zip(history.loss_without, timeline.loss, strict=True)]


def felt_from(history: PathHistory, timeline: Timeline) -> float | None:
    """The step from which a path's knock-out raises the loss by more than 0.02; none if never."""
    return crossing(timeline.steps, rises(history, timeline), MATTERS)


def _notes(findings: Findings, discovery: Discovery) -> dict[str, str]:
    """What the columns of every group mean, and on which sample they were measured."""
    timeline, sample = findings.timeline, whole(discovery.certificate.sequences)
    dated = ""
    if timeline is not None:
        dated = (
            f"<b>Birth</b>, over {whole(timeline.sequences)} sequences of its own."
            " <b>attention now</b>: of the model, along the path, at the step where the page"
            " stands. <b>knocked out now</b>: the model's loss with this attention set to zero, all"
            f" else as it is; of the model as it is, {tag('output', '', data_now='model')}."
            f" <b>felt</b>: the step at which the rise of that loss first passes {MATTERS:g}."
            " <b>needed</b>: at which it first passes half of its largest value, perhaps much"
            " later, when later hops come to depend on the path too; never, if no rise is above"
            f" {MATTERS:g}."
        )
    return {
        "": (
            "<b>circuit without it</b>: the loss with every head replaced and this path cut, over"
            f" {sample} sequences ({escape(findings.ablation)}); of the whole circuit,"
            f" {number(discovery.replaced_loss)}."
            + (" <b>born</b>: the step at which attention first passes 0.5." * bool(timeline))
        ),
        "birth": dated,
        "evidence": (
            f"<b>Evidence</b>, over the same {sample} sequences. <b>needed?</b>: whether the loss"
            f" is at or above the threshold {discovery.threshold:g} without the path, with"
            " every head replaced or with the heads above free. <b>rise</b>: of the circuit's loss"
            " without it. <b>above free</b>: that loss when the useful heads of the layers above"
            " attend as they like, so that a head which only helps them to find their place counts"
            " too. <b>head uniform</b>: when the path's head looks everywhere equally. <b>mean"
            " attention</b>: the model's own along the path at its last step. <b>found again</b>:"
            " the share of the other searches that found the path."
        ),
        "way": (
            "<b>Way</b>, traced from the paths alone: every position starts with its symbol and the"
            " code of its pair or row, and a path copies all that stands where it looks. <b>can be"
            " found by</b>: what both positions hold before the layer. <b>part</b>: the branch it"
            " belongs to, if any, and the symbols at the query that depend on it."
        ),
    }


def _carried(symbols: Iterable[str]) -> str:
    return ", ".join(map(named, symbols)) or '<span class="none">nothing new</span>'


def _and(names: Iterable[str]) -> str:
    return listed(map(named, names))
