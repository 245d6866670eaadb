"""The page of several runs: those that were named, or all of a sweep or folder."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from statistics import mean, median, stdev

from headway.dynamics.emergence import EMERGES_AT
from headway.fields import natural
from headway.judge import THRESHOLD
from headway.judge.verdicts import verdicts
from headway.replace import compare
from headway.report.axes import SEED, Axis, axes_of
from headway.report.circuit import circuit_data
from headway.report.curves import points, thinned
from headway.report.findings import Findings
from headway.report.labels import common_parts, task_words, typeset
from headway.report.listing import row_of
from headway.report.looks import DASHES
from headway.report.members import Link, Runs, links_from
from headway.report.page import html
from headway.report.schema import Cell, Curve, RunsPage, Section, Table
from headway.text import counted, enumerated, rounded
from headway.training import Run
from headway.training.files import write_whole
from headway.training.losses import mean_accuracy

FEW = 12
"""Of more runs, circuits are not drawn, and tables have no column a run."""

OUTCOMES = ("done", "solved", "flow minimum", "median loss", "mean ± st. dev.", "least", "largest")

MOST_COLOURS, MOST_POINTS, MOST_NOTES = 6, 120, 24
"""With more values than this, curves are not coloured by them; of more points, evenly many are
kept; of more runs, the page does not say what each lacks."""


def write_runs(shown: Path | Sequence[Run], out: Path | None = None) -> Path:
    """Writes one page about several runs.

    Args:
        shown: at least two runs; or a folder, of a sweep or any that holds runs.
        out: the page; by default `comparison.html` in the folder that holds all that are named, and
            `report.html` in a folder of runs.

    Returns: the page's path.

    Raises:
        HeadwayError: if a run is named twice, there are fewer than two, or none in the folder; if a
            file that was named, or the folder's plan, is corrupted; or if the disk does not take
            the page.
    """
    if isinstance(shown, Path):
        found, name = Runs.of(shown), "report.html"
    else:
        found, name = Runs.named(shown), "comparison.html"
    page = out or found.folder / name
    write_whole(page, html(runs_page(found, links_from(page.parent))))
    return page


def runs_page(found: Runs, link: Link, live: str = "") -> RunsPage:
    """The data of the page.

    Args:
        found: the runs.
        link: gives the address of a run's own page.
        live: the version of what is shown, if it is served and is to follow changes.
    """
    members, every = found.members, axes_of(found.members)
    axes = [axis for axis in every if axis.field != SEED]
    end = max([1.0, *(m.metrics[-1]["step"] for m in members if m.metrics)])
    parts = [f"{axis.name} ({len(axis.values)} values)" for axis in every] or ["nothing"]
    varies = f"varies: {' × '.join(parts)}"
    notes = [f"{member.name}: {member.lacks}" for member in members if member.lacks]
    if len(notes) > MOST_NOTES:
        notes[MOST_NOTES:] = [f"And so of {len(notes) - MOST_NOTES} more."]
    notes += [f"Not started yet: {', '.join(found.missing)}."] if found.missing else []
    notes += found.unreadable
    return RunsPage(
        name=found.name,
        title=found.title,
        summary=[
            " ".join(_headline(found)),
            " · ".join([*common_parts([m.run.config for m in members]), varies]),
        ],
        tables=[_table(members, every, link)],
        circuits={
            member.name: circuit
            for member in (members if len(members) <= FEW else ())
            if member.too_large is None
            if (circuit := circuit_data(member)) is not None
        },
        sections=[
            *([Section("What is not there", notes)] if notes else []),
            *_by_field(members, axes),
            _learnt(members),
            *_shared(members),
        ],
        curves=_curves(members, axes),
        end=end,
        live=live,
    )


def _headline(found: Runs) -> Iterator[str]:
    """Counts of runs done and solved, what the others did, and the cost of circuits."""
    members, states = found.members, Counter(member.status for member in found.members)
    counts = {word: states[word] for word in ("failed", "running", "stopped")}
    counts |= {"not started": len(found.missing), "cannot be read": len(found.unreadable)}
    done, losses, solved = _outcome(members)
    text = f"{done} of {counted(found.expected, 'run')} done"
    rest = [f"{count} {word}" for word, count in counts.items() if count]
    yield f"{text}; {enumerated(rest)}." if rest else f"{text}."
    if losses:
        yield (
            f"{solved} of {done} solved the task (validation loss below {THRESHOLD:g}); the median"
            f" loss is {rounded(median(losses))}, from {rounded(losses[0])} to"
            f" {rounded(losses[-1])}."
        )
    if circuits := [d for m in members if (d := m.discovery) is not None]:
        enough = sum(verdicts(d)[0].holds is True for d in circuits)
        least = {m.least for m in members}
        heads = _between(len(d.circuit.useful_heads) for d in circuits)
        layers = _between(len(d.circuit.useful_layers) for d in circuits)
        against = f" (flow minimum: {least.pop()})" if len(least) == 1 else ""
        yield (
            f"Of {counted(len(circuits), 'circuit')} {enough} {'is' if enough == 1 else 'are'}"
            f" enough; they take {heads} heads in {layers} layers{against}."
        )


def _outcome(members: Sequence[Findings]) -> tuple[int, list[float], int]:
    """The number of runs done, their losses, the least first, and how many solved the task."""
    losses = sorted(m.loss for m in members if m.done and m.loss is not None)
    return len(losses), losses, sum(one.done and one.solved for one in members)


def _between(values: Iterable[int]) -> str:
    """The least and the largest of some values, or the only one."""
    ends = sorted(set(values))
    return " to ".join(map(str, ends[:1] + ends[1:][-1:]))


def _table(members: Sequence[Findings], axes: Sequence[Axis], link: Link) -> Table:
    """A row for every run, with its values of what varies."""
    rows = list[dict[str, Cell]]()
    for member in members:
        row, values = row_of(member), {axis.name: axis.of(member) for axis in axes}
        rows.append({"run": row["run"], "status": row["status"], **values, **row})
    if any("training_set" in line for member in members for line in member.metrics[-1:]):
        for row, member in zip(rows, members, strict=True):
            row.update(_accuracies(member))
    along = [f"With {a.name} goes {enumerated(a.along[:6])}." for a in axes if a.along]
    note = (
        "in order: whether no hop was learnt before one that is nearer to the query. layers used:"
        " with a useful head. flow minimum: the fewest layers that are enough by the theory."
        " circuit loss: with every head replaced by what it was found to do."
    )
    return Table(
        title="",
        head=list(rows[0]),
        rows=[list(row.values()) for row in rows],
        keys=[member.name for member in members],
        links=[link(member.run.folder) for member in members],
        note=" ".join([*along, note]),
    )


def _accuracies(member: Findings) -> dict[str, Cell]:
    """The accuracies of a run at its last evaluation, held out and on its fixed training set."""
    last = (member.metrics or [{}])[-1]
    trained = mean_accuracy(last.get("training_set") or {})
    return {"accuracy": mean_accuracy(last), "training accuracy": trained}


def _by_field(members: Sequence[Findings], axes: Sequence[Axis]) -> Iterator[Section]:
    """Outcomes by every value of each field that varies, and by those of the first two together.

    Left out where most have one run only.
    """
    tables = list[Table]()
    for chosen in [*([axis] for axis in axes), *([axes[:2]] if len(axes) > 1 else [])]:
        by, names = dict[tuple[str, ...], list[Findings]](), [axis.name for axis in chosen]
        for member in members:
            by.setdefault(tuple(axis.of(member) for axis in chosen), []).append(member)
        if 2 * len(by) <= len(members):
            order = product(*(axis.values for axis in chosen))
            rows = [[*values, *_outcomes(by[values])] for values in order if values in by]
            title = f"validation loss at the end, by {enumerated(names)}"
            tables.append(Table(title, [*names, *OUTCOMES], rows))
    if tables:
        yield Section("What the loss depends on", tables=tables)


def _outcomes(members: Sequence[Findings]) -> list[Cell]:
    """The cells of several runs together, in the columns of `OUTCOMES`."""
    done, losses, solved = _outcome(members)
    least = {member.least for member in members}
    counts = f"{done} of {len(members)}", f"{solved} of {done}"
    cells: list[Cell] = [*counts, least.pop() if len(least) == 1 else None]
    if not losses:
        return [*cells, *[None] * 4]
    spread = f" ± {rounded(stdev(losses))}" if done > 1 else ""
    return [*cells, median(losses), f"{rounded(mean(losses))}{spread}", losses[0], losses[-1]]


def _curves(members: Sequence[Findings], axes: Sequence[Axis]) -> list[Curve]:
    """Losses through training: few runs each in its colour, many coloured by a field."""
    few = len(members) <= MOST_COLOURS
    by = next((one for one in axes if not few and len(one.values) <= MOST_COLOURS), None)
    return [
        Curve(
            name=member.name if by is None else f"{by.name} = {by.of(member)}",
            key=member.name,
            colour=1 + (i if by is None else by.values.index(by.of(member))) % MOST_COLOURS,
            dashes=i // MOST_COLOURS % DASHES if by is None else 0 if member.done else 1,
            points=points((m["step"], m["val_loss"]) for m in thinned(member.metrics, MOST_POINTS)),
        )
        for i, member in enumerate(members)
    ]


def _learnt(members: Sequence[Findings]) -> Section:
    """The steps at which hops were learnt, over all runs, and in each if they are few."""
    rows, few = list[list[Cell]](), members if len(members) <= FEW else []
    for hop in sorted({hop for member in members for hop in member.hops}, key=natural):
        some = [member.hops[hop] for member in members if hop in member.hops]
        steps = sorted(step for step in some if step is not None)
        ends = [round(s) for s in (median(steps), steps[0], steps[-1])] if steps else [None] * 3
        own = (_at_step(m.hops[hop]) if hop in m.hops else None for m in few)
        rows.append([typeset(hop), f"{len(steps)} of {len(some)}", *ends, *own])
    head = ["hop", "learnt in runs", "median step", "earliest", "latest"]
    note = (
        f"The step at which a hop's partial loss first falls below {EMERGES_AT:g}, interpolated"
        " between evaluations."
    )
    table = Table("", [*head, *(m.name for m in few)], rows, note=note)
    orders = [m.in_chain_order for m in members if m.in_chain_order is not None]
    order = f"In order: {sum(orders)} of {len(orders)} runs that learnt a hop of several."
    return Section("When hops were learnt", [order] if orders else [], [table])


def _at_step(step: float | None) -> Cell:
    return "never" if step is None else round(step)


def _shared(members: Sequence[Findings]) -> Iterator[Section]:
    """The common part of the circuits of one kind of task with the same roles, if they are few."""
    families: dict[tuple[str, ...], list[Findings]] = {}
    for member in members if len(members) <= FEW else ():
        if member.discovery is not None:
            family = member.task.kind, *member.discovery.standing
            families.setdefault(family, []).append(member)
    for found in families.values():
        if len(found) > 1:
            words = task_words(found[0].run.config.task) if len(families) > 1 else ""
            yield _together(words or "What the circuits share", found)


def _together(title: str, members: Sequence[Findings]) -> Section:
    circuits = [m.discovery.circuit for m in members if m.discovery]
    found, relations = compare(circuits), "no relation in common"
    if found.shared:
        names = enumerated(map(typeset, found.shared))
        relations = f"{names}, of {len(found.heads)} relations in any of them"
    sentences = [
        f"{'Both' if len(members) == 2 else f'All {len(members)}'} circuits attend along"
        f" {relations}.",
        f"Of two runs' relations, {rounded(found.likeness)} are common to both on average (Jaccard"
        " index).",
    ]
    timelines = [member.timeline for member in members]
    dates = [{} if one is None else {h.path: h.emerged for h in one.paths} for one in timelines]
    rows = list[list[Cell]]()
    for relation, by in found.heads.items():
        cells, steps = list[Cell](), list[float]()
        for circuit, dated in zip(circuits, dates, strict=True):
            paths = [path for path in circuit.paths if path.relation == relation]
            steps += [step for path in paths if (step := dated.get(path)) is not None]
            when = {p: f" {_at_step(dated[p])}" if p in dated else "" for p in paths}
            cells.append(", ".join(f"{p.layer}.{p.head}{when[p]}" for p in paths) or None)
        middle = round(median(steps)) if steps else None
        rows.append([typeset(relation), f"{sum(map(bool, by))} of {len(members)}", middle, *cells])
    head = ["relation", "runs", "median step", *(member.name for member in members)]
    note = (
        "By run, the heads (layer.head) that attend along a relation, and the step at which that"
        " emerged, if it was dated."
    )
    by_run = "the heads that attend along each relation, by run"
    return Section(title, sentences, [Table(by_run, head, rows, note=note)])
