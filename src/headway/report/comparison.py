"""The page of several runs: their numbers, circuits and births side by side."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from headway.circuits import THRESHOLD, compare, jaccard
from headway.circuits.emergence import BIRTH
from headway.errors import HeadwayError
from headway.report.circuit import circuit_data, hop_data
from headway.report.headline import number
from headway.report.labels import typeset
from headway.report.members import Link, Member, families, links_from
from headway.report.page import html
from headway.report.run import losses_of
from headway.report.schema import Cell, ComparisonPage, Fact, Section, Table
from headway.report.schema import Member as MemberData
from headway.report.settings import common_parts, label_field, task_words, varied_in_all
from headway.report.span import worth_showing
from headway.report.tables import section, table
from headway.text import counted, enumerated
from headway.training import Run
from headway.training.config import flat
from headway.training.files import write_text
from headway.words import said, short_names

FILE = "comparison.html"
SHOWN = ("task.kind", "seed", "model.n_layers", "model.n_heads", "model.d_model", "model.causal")
"""Fields that have columns of their own."""


def write_comparison(runs: Sequence[Run], out: Path | None = None) -> Path:
    """Writes one page about several runs.

    Args:
        runs: at least two.
        out: the page; by default `comparison.html` in the folder that holds all of the runs.

    Returns: the page's path.

    Raises:
        HeadwayError: if a run is named twice, there are fewer than two, no folder but the root
            holds them all, a file of a run is corrupted, or the disk does not take the page.
    """
    page = out or _shared_folder([run.folder for run in runs]) / FILE
    write_text(page, html(comparison_page(runs, links_from(page.parent))))
    return page


def comparison_page(runs: Sequence[Run], link: Link, live: str = "") -> ComparisonPage:
    """The data of the page.

    Args:
        runs: at least two.
        link: gives the address of a run's own page.
        live: the version of what is shown, if it is served and is to follow changes.

    Raises:
        HeadwayError: if a run is named twice, there are fewer than two, or a file of one is
            corrupted.
    """
    folders = [run.folder.resolve() for run in runs]
    for i, folder in enumerate(folders):
        if folder in folders[:i]:
            raise HeadwayError(f"{runs[i].folder} is named twice: a run is compared to others")
    if len(runs) < 2:
        raise HeadwayError(f"{len(runs)} run cannot be compared: name at least two")
    base = Path(os.path.commonpath([folder.parent for folder in folders]))
    members = [Member.of(i, run, base, link) for i, run in enumerate(runs, start=1)]
    configs = [member.findings.run.config for member in members]
    titles = {typeset(member.findings.task.title) for member in members}
    ends = [line["step"] for member in members for line in member.findings.metrics[-1:]]
    timelines = [m.findings.timeline for m in members if m.findings.timeline is not None]
    marks = [step for member in members for step in member.hops.values() if step is not None]
    marks += [h.born for one in timelines for h in one.paths if h.born is not None]
    end = max([1, *ends, *marks])
    headline, *rest = _headline(members)
    return ComparisonPage(
        kind="comparison",
        name="comparison",
        title=titles.pop() if len(titles) == 1 else "Runs of different tasks",
        headline=headline,
        summary=[f"{len(members)} runs in {base.name or base}, side by side.", headline, *rest],
        setting=common_parts(configs),
        varies=list(short_names(varied_in_all(list(map(flat, configs)))).values()),
        facts=list(_facts(members)),
        members=list(map(_member, members)),
        runs=_runs(members),
        shared=list(_shared(members)),
        learnt=_learnt(members),
        birth=BIRTH,
        threshold=THRESHOLD,
        until=worth_showing(max(marks, default=end), end),
        end=end,
        live=live,
    )


def _member(member: Member) -> MemberData:
    findings = member.findings
    return MemberData(
        number=member.number,
        name=member.name,
        link=member.link,
        status=member.status,
        note=member.lacks,
        hops=hop_data(findings.task, member.hops),
        in_order=member.in_chain_order,
        losses=losses_of(findings.metrics, findings.task.hops),
        circuit=circuit_data(findings),
    )


def _headline(members: Sequence[Member]) -> Iterator[str]:
    """How many solved their task, what the others did, and what the circuits take."""
    solved = [m for m in members if m.status == "done" and m.findings.solved]
    yield (
        f"{len(solved)} of {len(members)} runs solved their task (validation loss below"
        f" {THRESHOLD:g})."
    )
    for status, words in (
        ("failed", "failed"),
        ("running", "still training"),
        ("stopped", "not finished"),
    ):
        if some := [member.name for member in members if member.status == status]:
            yield f"{len(some)} {words}: {enumerated(some)}."
    found = [d for m in members if (d := m.findings.discovery) is not None]
    if not found:
        yield "None has a circuit yet."
        return
    if rest := len(members) - len(found):
        yield f"{counted(rest, 'run')} without a circuit."
    faithful, least = sum(one.faithful for one in found), {m.findings.least for m in members}
    heads = _between([len(one.circuit.useful_heads) for one in found], str)
    layers = _between([len(one.circuit.useful_layers) for one in found], str)
    against = f" ({least.pop().words})" if len(least) == 1 else ""
    yield (
        f"Of {counted(len(found), 'circuit')} {faithful} {'is' if faithful == 1 else 'are'}"
        f" faithful; they take {heads} heads in {layers} layers{against}."
    )


def _facts(members: Sequence[Member]) -> Iterator[Fact]:
    found = [d for m in members if (d := m.findings.discovery) is not None]
    losses = [loss for m in members if (loss := m.findings.loss) is not None]
    replaced = [one.replaced_loss for one in found]
    steps = [s["step"] for m in members if (s := m.findings.solved_at) is not None]
    for name, values, shown in (
        ("Validation loss, median", losses, number),
        ("Circuit loss, median", replaced, number),
        (f"Step below {THRESHOLD:g}, median", steps, _whole),
    ):
        yield Fact(name, shown(median(values) if values else None), _between(values, shown))
    orders = [order for m in members if (order := m.in_chain_order) is not None]
    yield Fact("Hops in order", f"{sum(orders)} of {len(orders)}", "runs that tell")
    groups = [[m.circuit for m in f if m.findings.discovery] for f in families(members)]
    alike = [compare(some).likeness for some in groups if len(some) > 1]
    if len(alike) == 1:
        yield Fact("Alike", number(alike[0]), "mean Jaccard index of two circuits' relations")


def _between(values: Sequence[float], shown: Callable[[Any], str] = number) -> str:
    """The least and the largest of some values, or the only one."""
    return " to ".join(map(shown, sorted({min(values), max(values)}))) if values else "–"


def _whole(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _runs(members: Sequence[Member]) -> Table:
    """Every run with its task in words and the values of the other fields that vary."""
    configs = [flat(member.findings.run.config) for member in members]
    labels = [f"task.{label_field(member.findings.run.config.task)}" for member in members]
    fields = [name for name in varied_in_all(configs) if name not in (*SHOWN, *labels)]
    head = ["run", "task", "model", "seed", "status", "validation loss", "circuit loss", "faithful"]
    head += ["useful heads", "layers used", "flow minimum", f"step below {THRESHOLD:g}", "in order"]
    rows = list[list[Cell]]()
    for member, flat_config in zip(members, configs, strict=True):
        findings, config = member.findings, member.findings.run.config
        found, model = findings.discovery, config.model
        size = f"{model.n_layers} × {model.n_heads}, {model.size}"
        row: list[Cell] = [f"{member.number} {member.name}", task_words(config.task)]
        row += [size if model.causal else f"{size}, no mask", config.seed, member.status]
        row.append(findings.loss)
        if found is None:
            row += [None] * 4
        else:
            heads = f"{len(found.circuit.useful_heads)} of {len(found.circuit.mechanisms)}"
            layers = len(found.circuit.useful_layers)
            row += [found.replaced_loss, found.faithful, heads, layers]
        row.append(findings.least.cell)
        row.append(findings.solved_at["step"] if findings.solved_at else None)
        row += [member.in_chain_order, *(_said(flat_config[name]) for name in fields)]
        rows.append(row)
    note = (
        "circuit loss: with every head replaced by what it was found to do. layers used: with a"
        " useful head. flow minimum: the fewest layers that are enough by the theory."
        f" step below {THRESHOLD:g}: the first evaluation at which it was. in order: whether no hop"
        " was learnt before one that is nearer to the query."
    )
    head += short_names(fields).values()
    return table("the runs", head, rows, _keys(members), note)


def _learnt(members: Sequence[Member]) -> Table:
    hops = list(dict.fromkeys(hop for member in members for hop in member.hops))
    rows = list[list[Cell]]()
    for member in members:
        timeline, row = member.findings.timeline, list[Cell]([f"{member.number} {member.name}"])
        for hop in hops:
            known = member.findings.metrics and hop in member.hops
            step = member.hops.get(hop)
            row.append((round(step) if step is not None else "never") if known else None)
        born = None
        if timeline is not None:
            count = sum(history.born is not None for history in timeline.paths)
            born = f"{count} of {len(timeline.paths)}"
        rows.append([*row, member.in_chain_order, born])
    head = ["run", *(f"{typeset(hop)} learnt at step" for hop in hops), "in order", "paths born"]
    return table("when hops were learnt, run by run", head, rows, _keys(members))


def _keys(members: Sequence[Member]) -> list[str]:
    return [f"run:{member.number}" for member in members]


def _shared(members: Sequence[Member]) -> Iterator[Section]:
    """What the circuits of each task have in common."""
    groups = families(members)
    for i, family in enumerate(groups):
        found = [member for member in family if member.findings.discovery is not None]
        title = task_words(family[0].findings.run.config.task) if len(groups) > 1 else ""
        title = title or "What the circuits share"
        if len(found) > 1:
            yield _together(f"shared{i}", title, found)
        elif found and len(groups) > 1:
            alone = f"{found[0].name} alone has a circuit of this task."
            yield section(f"shared{i}", title, sentences=[alone])


def _together(name: str, title: str, members: Sequence[Member]) -> Section:
    found = compare([member.circuit for member in members])
    whole = "Both" if len(members) == 2 else f"All {len(members)}"
    relations = "no relation in common"
    if found.shared:
        relations = f"{enumerated(found.shared)}, of {len(found.heads)} relations in any of them"
    same = all(first == found.first[0] for first in found.first)
    sentences = [
        f"{whole} circuits attend along {relations}.",
        f"The first useful layer {'attends' if same else 'does not attend'} along the same"
        " relations in all.",
        f"Of two runs' relations, {number(found.likeness)} are common to both on average (Jaccard"
        " index).",
    ]
    born = {m.number: {h.path: h.born for h in _histories(m)} for m in members}
    rows = list[list[Cell]]()
    for relation, by in found.heads.items():
        cells, steps = list[Cell](), list[float]()
        for member, heads in zip(members, by, strict=True):
            dates = born[member.number]
            paths = [p for p in member.circuit.paths if p.relation == relation and p.at in heads]
            steps += [step for path in paths if (step := dates.get(path)) is not None]
            words = [f"{p.layer}.{p.head}" + _date(dates, p) for p in paths]
            cells.append(", ".join(words) or None)
        middle = round(median(steps)) if steps else None
        count = f"{sum(map(bool, by))} of {len(members)}"
        rows.append([typeset(relation), count, middle, *cells])
    head = ["relation", "runs", "median birth", *(str(member.number) for member in members)]
    note = (
        "By run, the heads (layer.head) that attend along a relation, and the step at which that"
        " was born, if it was dated."
    )
    by_run = "the heads that attend along each relation, by run"
    return section(name, title, [table(by_run, head, rows, note=note), *_alike(members)], sentences)


def _histories(member: Member) -> Sequence[Any]:
    return [] if member.findings.timeline is None else member.findings.timeline.paths


def _date(dates: dict[Any, float | None], path: Any) -> str:
    if path not in dates:
        return ""
    return " never" if (step := dates[path]) is None else f" {step:,.0f}"


def _alike(members: Sequence[Member]) -> Iterator[Table]:
    """The Jaccard index of every two runs' relations, where there are more than two."""
    if len(members) < 3:
        return
    used = [sorted({path.relation for path in member.circuit.paths}) for member in members]
    rows = [
        [str(member.number), *(None if a is b else jaccard(a, b) for b in used)]
        for member, a in zip(members, used, strict=True)
    ]
    head = ["run", *(str(member.number) for member in members)]
    note = "Jaccard index of two runs' relations: those in both, of those in either."
    yield table("how alike two runs are", head, rows, _keys(members), note)


def _said(value: Any) -> str:
    """A field's value; computed numbers are rounded."""
    return f"{value:.6g}" if isinstance(value, float) else said(value)


def _shared_folder(folders: Sequence[Path]) -> Path:
    """The folder that holds all of some folders, as the user would write it if they agree."""
    parents = [folder.parent for folder in folders]
    if len(set(parents)) == 1:
        return parents[0]
    base = Path(os.path.commonpath([parent.resolve() for parent in parents]))
    if base == Path(base.anchor):
        raise HeadwayError("no folder holds all of these runs: say where to with --out FILE")
    return base
