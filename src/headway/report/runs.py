"""The page of several runs: those that were named, or all of a sweep or folder."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from statistics import mean, median, stdev

from headway.dynamics.emergence import EMERGES_AT
from headway.fields import natural
from headway.judge import THRESHOLD, Discovery
from headway.judge.verdict import verdicts
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
from headway.report.schema import (
    Cell,
    Circuit,
    Curve,
    RunsPage,
    Section,
    Table,
    Varied,
)
from headway.report.still import still_of_runs
from headway.text import counted, enumerated, rounded
from headway.training import Run
from headway.training.files import write_whole
from headway.training.losses import mean_accuracy

Members = Sequence[Findings]

FEW = 12
"""Of more runs, circuits are not drawn."""

MOST_COLUMNS = 6
"""Of more runs, tables have no column a run."""

OUTCOMES = (
    "done",
    "solved",
    "flow minimum",
    "median loss",
    "mean ± st. dev.",
    "least",
    "largest",
)

COLUMNS_NOTE = (
    "in order: whether no hop was learnt before one that is nearer to the query. "
    "layers used:"
    " with a useful head. flow minimum: the fewest layers that are enough by the "
    "theory."
    " circuit loss: with every head replaced by what it was found to do."
)
HOPS_NOTE = (
    f"The step at which a hop's partial loss first falls below {EMERGES_AT:g}, "
    "interpolated between"
    " evaluations."
)
RELATIONS_TITLE = "the heads that attend along each relation, by run"
RELATIONS_NOTE = (
    "By run, the heads (layer.head) that attend along a relation, and the step at "
    "which that"
    " emerged, if it was dated."
)

MOST_COLOURS, MOST_POINTS, MOST_NOTES = 6, 120, 24
"""With more runs or values than this, curves are not coloured by them; of more points,
evenly many are kept; of more notes on what runs lack, the first are shown."""


def write_runs(shown: Path | Sequence[Run], out: Path | None = None) -> Path:
    """Writes one page about several runs.

    Args:
        shown: at least two runs; or a folder, of a sweep or any that holds runs.
        out: the page; by default `comparison.html` in the folder that holds all that
            are named, and `report.html` in a folder of runs.

    Returns: the page's path.

    Raises:
        HeadwayError: if a run is named twice, there are fewer than two, or none in the
            folder; if a file that was named, or the folder's plan, is corrupted; or if
            the disk does not take the page.
    """
    if isinstance(shown, Path):
        runs = Runs.of(shown)
        name = "report.html"
    else:
        runs = Runs.named(shown)
        name = "comparison.html"
    page = out or runs.folder / name
    link = links_from(page.parent)
    data = runs_page(runs, link)
    write_whole(page, html(data, still_of_runs(data)))
    return page


def runs_page(runs: Runs, link: Link, live: str = "") -> RunsPage:
    """The data of the page.

    Args:
        runs: the runs.
        link: gives the address of a run's own page.
        live: the version of what is shown, if it is served and is to follow changes.
    """
    members = runs.members
    axes = axes_of(members)
    axes_but_seed = [axis for axis in axes if axis.field != SEED]
    sections = [
        *_by_field(members, axes_but_seed),
        _learnt(members),
        *_shared(members),
    ]
    return RunsPage(
        name=runs.name,
        title=f"{runs.title}: {_compared(members, axes)}",
        summary=[" ".join(_headline(runs)), _setting(members, axes)],
        tables=[_table(members, axes, link)],
        circuits=_circuits(members),
        sections=sections,
        lacking=_lacking(runs),
        curves=_curves(members),
        fields=_fields(members, axes),
        end=max(1.0, *(member.last.get("step", 1.0) for member in members)),
        live=live,
    )


def _compared(members: Members, axes: Sequence[Axis]) -> str:
    """The common task of runs, and the fields by which they differ."""
    tasks = [member.run.config.task for member in members]
    words = {task_words(task) for task in tasks}
    kinds = {task.kind.replace("_", " ") for task in tasks}
    names = words if len(words) == 1 else kinds
    task = names.pop() if len(names) == 1 else "several tasks"
    if not axes:
        return f"{task}, one setting"
    return f"{task} by {enumerated([axis.name for axis in axes[:4]])}"


def _setting(members: Members, axes: Sequence[Axis]) -> str:
    """The setting that all runs have in common, and what varies."""
    common = common_parts([member.run.config for member in members])
    varying = [f"{axis.name} ({len(axis.values)} values)" for axis in axes]
    varies = " × ".join(varying) or "nothing"
    return " · ".join([*common, f"varies: {varies}"])


def _circuits(members: Members) -> dict[str, Circuit]:
    """The circuits of runs by name, if the runs are few."""
    circuits: dict[str, Circuit] = {}
    for member in members if len(members) <= FEW else ():
        if member.too_large is not None:
            continue
        circuit = circuit_data(member)
        if circuit is not None:
            circuits[member.name] = circuit
    return circuits


def _lacking(runs: Runs) -> list[str]:
    """Notes on folders that lack something, and on runs that are missing or cannot be
    read.
    """
    notes = _notes(runs.members)
    if len(notes) > MOST_NOTES:
        more = len(notes) - MOST_NOTES
        notes = [*notes[:MOST_NOTES], f"And {more} more."]
    if runs.missing:
        notes.append(f"Not started yet: {', '.join(runs.missing)}.")
    return notes + runs.unreadable


def _notes(members: Members) -> list[str]:
    """The findings that runs lack, each with the names of the runs."""
    alike: dict[str, list[Findings]] = {}
    for member in members:
        folder = shlex.quote(str(member.run.folder))
        lack = member.lacks.replace(folder, "RUN")
        if lack:
            alike.setdefault(lack, []).append(member)
    notes = list[str]()
    for lack, lacking in alike.items():
        who = enumerated([member.name for member in lacking])
        if len(lacking) == len(members):
            who = f"All {len(members)} runs"
        what = lacking[0].lacks if len(lacking) == 1 else lack
        notes.append(f"{who}: {what}")
    return notes


def _headline(runs: Runs) -> Iterator[str]:
    """Counts of runs done and solved, what the others did, and the cost of circuits."""
    members = runs.members
    losses = _final_losses(members)
    yield _progress(runs, len(losses))
    if losses:
        middle = rounded(median(losses))
        least = rounded(losses[0])
        largest = rounded(losses[-1])
        yield (
            f"{_n_solved(members)} of {len(losses)} solved the task (validation "
            "loss below"
            f" {THRESHOLD:g}); the median loss is {middle}, from {least} to {largest}."
        )
    discoveries = [m.discovery for m in members if m.discovery is not None]
    if discoveries:
        yield _sizes_of_circuits(discoveries, _common_minimum(members))


def _progress(runs: Runs, n_done: int) -> str:
    """The number of runs that are done, and the end of the others."""
    states = Counter(member.status for member in runs.members)
    counts = {state: states[state] for state in ("failed", "running", "stopped")}
    counts["not started"] = len(runs.missing)
    counts["cannot be read"] = len(runs.unreadable)
    done = f"{n_done} of {counted(runs.expected, 'run')} done"
    rest = [f"{count} {state}" for state, count in counts.items() if count]
    if rest:
        done += f"; {enumerated(rest)}"
    return f"{done}."


def _sizes_of_circuits(discoveries: Sequence[Discovery], minimum: str | None) -> str:
    """The number of circuits that are enough, and their size beside the flow
    minimum.
    """
    is_enough = [
        verdict.holds is True
        for discovery in discoveries
        for verdict in verdicts(discovery)
        if verdict.name == "enough"
    ]
    n_enough = sum(is_enough)
    are = "is" if n_enough == 1 else "are"
    circuits = [discovery.circuit for discovery in discoveries]
    heads = _between(len(circuit.useful_heads) for circuit in circuits)
    layers = _between(len(circuit.useful_layers) for circuit in circuits)
    line = f"Of {counted(len(circuits), 'circuit')} {n_enough} {are} enough; they take"
    line += f" {_in_plural(heads, 'head')} in {_in_plural(layers, 'layer')}"
    if minimum is not None:
        line += f" (flow minimum: {minimum})"
    return f"{line}."


def _final_losses(members: Members) -> list[float]:
    """The losses of the runs that are done, the least first."""
    return sorted(m.loss for m in members if m.done and m.loss is not None)


def _n_solved(members: Members) -> int:
    return sum(member.done and member.solved for member in members)


def _common_minimum(members: Members) -> str | None:
    """The flow minimum of all runs; None if they have different ones."""
    minima = {member.least for member in members}
    return minima.pop() if len(minima) == 1 else None


def _in_plural(count: str, thing: str) -> str:
    """Things by a count in text, which may be a span."""
    return f"{count} {thing}" + ("" if count == "1" else "s")


def _between(values: Iterable[int]) -> str:
    """The least and the largest of some values, or the only one."""
    least, *others = sorted(set(values))
    return f"{least} to {others[-1]}" if others else f"{least}"


def _table(members: Members, axes: Sequence[Axis], link: Link) -> Table:
    """A row for every run, with its values of what varies."""
    rows = list[dict[str, Cell]]()
    for member in members:
        cells = row_of(member)
        leading = ("run", "status", "validation loss")
        first = {column: cells[column] for column in leading}
        values = {axis.name: axis.of(member) for axis in axes}
        rows.append({**first, **values, **cells})
    if any("training_set" in member.last for member in members):
        for row, member in zip(rows, members, strict=True):
            row.update(_accuracies(member))
    notes = list[str]()
    for axis in axes:
        if axis.along:
            notes.append(f"With {axis.name} goes {enumerated(axis.along[:6])}.")
    notes.append(COLUMNS_NOTE)
    return Table(
        title="",
        head=list(rows[0]),
        rows=[list(row.values()) for row in rows],
        keys=[member.name for member in members],
        links=[link(member.run.folder) for member in members],
        note=" ".join(notes),
    )


def _accuracies(member: Findings) -> dict[str, Cell]:
    """The accuracies of a run at its last evaluation, held out and on its fixed
    training set.
    """
    trained = member.last.get("training_set") or {}
    return {
        "accuracy": mean_accuracy(member.last),
        "training accuracy": mean_accuracy(trained),
    }


def _by_field(members: Members, axes: Sequence[Axis]) -> Iterator[Section]:
    """Outcomes by every value of each field that varies, and by those of the first two
    together.

    Left out where most have one run only.
    """
    choices = [[axis] for axis in axes]
    if len(axes) > 1:
        choices.append([*axes[:2]])
    tables = [_outcome_table(members, chosen) for chosen in choices]
    kept = [table for table in tables if table is not None]
    if kept:
        yield Section("What the loss depends on", tables=kept)


def _outcome_table(members: Members, axes: Sequence[Axis]) -> Table | None:
    """Outcomes by the values of fields; None where most values have one run only."""
    groups: dict[tuple[str, ...], list[Findings]] = {}
    for member in members:
        values = tuple(axis.of(member) for axis in axes)
        groups.setdefault(values, []).append(member)
    if 2 * len(groups) > len(members):
        return None
    rows = list[list[Cell]]()
    for values in product(*(axis.values for axis in axes)):
        if values in groups:
            rows.append([*values, *_outcomes(groups[values])])
    names = [axis.name for axis in axes]
    title = f"validation loss at the end, by {enumerated(names)}"
    return Table(title, [*names, *OUTCOMES], rows)


def _outcomes(members: Members) -> list[Cell]:
    """The cells of several runs together, in the columns of `OUTCOMES`."""
    losses = _final_losses(members)
    n_done = len(losses)
    done = f"{n_done} of {len(members)}"
    solved = f"{_n_solved(members)} of {n_done}"
    cells: list[Cell] = [done, solved, _common_minimum(members)]
    if not losses:
        return [*cells, None, None, None, None]
    average = rounded(mean(losses))
    if n_done > 1:
        average += f" ± {rounded(stdev(losses))}"
    return [*cells, median(losses), average, losses[0], losses[-1]]


def _curves(members: Members) -> list[Curve]:
    """Losses through training, each run in its colour as far as there are some."""
    curves = list[Curve]()
    for i, member in enumerate(members):
        colour = 1 + i % MOST_COLOURS
        dashes = i // MOST_COLOURS % DASHES
        lines = thinned(member.metrics, MOST_POINTS)
        drawn = points((line["step"], line["val_loss"]) for line in lines)
        curves.append(Curve(member.name, member.name, colour, dashes, drawn))
    return curves


def _fields(members: Members, axes: Sequence[Axis]) -> list[Varied]:
    """The fields by which the curves of many runs are told apart: those of few
    values.
    """
    if len(members) <= MOST_COLOURS:
        return []
    fields = list[Varied]()
    for axis in axes:
        if len(axis.values) <= MOST_COLOURS:
            numbers = [axis.values.index(axis.of(member)) for member in members]
            fields.append(Varied(axis.name, axis.values, numbers))
    return fields


def _learnt(members: Members) -> Section:
    """The steps at which hops were learnt, over all runs, and in each if they are
    few.
    """
    few = members if len(members) <= MOST_COLUMNS else []
    hops = {hop for member in members for hop in member.hops}
    rows = [_hop_row(hop, members, few) for hop in sorted(hops, key=natural)]
    head = ["hop", "learnt in runs", "median step", "earliest", "latest"]
    head += [member.name for member in few]
    table = Table("", head, rows, note=HOPS_NOTE)
    orders = list[bool]()
    for member in members:
        if member.in_chain_order is not None:
            orders.append(member.in_chain_order)
    sentences = list[str]()
    if orders:
        counts = f"{sum(orders)} of {len(orders)}"
        sentences.append(f"In order: {counts} runs that learnt a hop of several.")
    return Section("When hops were learnt", sentences, [table])


def _hop_row(hop: str, members: Members, few: Members) -> list[Cell]:
    """The steps at which the runs learnt a hop, and each of some alone."""
    known = [member.hops[hop] for member in members if hop in member.hops]
    steps = sorted(step for step in known if step is not None)
    row: list[Cell] = [typeset(hop), f"{len(steps)} of {len(known)}"]
    if steps:
        row += [round(median(steps)), round(steps[0]), round(steps[-1])]
    else:
        row += [None, None, None]
    for member in few:
        cell = _at_step(member.hops[hop]) if hop in member.hops else None
        row.append(cell)
    return row


def _at_step(step: float | None) -> Cell:
    return "never" if step is None else round(step)


def _shared(members: Members) -> Iterator[Section]:
    """The common part of the circuits of one kind of task with the same roles, if they
    are few.
    """
    families: dict[tuple[str, ...], list[Findings]] = {}
    for member in members if len(members) <= FEW else ():
        if member.discovery is not None:
            family = member.task.kind, *member.discovery.standing
            families.setdefault(family, []).append(member)
    for alike in families.values():
        if len(alike) > 1:
            task = alike[0].run.config.task
            words = task_words(task) if len(families) > 1 else ""
            yield _together(words or "What the circuits share", alike)


def _together(title: str, members: Members) -> Section:
    """Common relations of the circuits of alike runs, and every relation of theirs, by
    run.
    """
    circuits = [member.discovery.circuit for member in members if member.discovery]
    comparison = compare(circuits)
    relations = "no relation in common"
    if comparison.shared:
        relations = enumerated(map(typeset, comparison.shared))
        relations += f", of {len(comparison.heads)} relations in any of them"
    all_of_them = "Both" if len(members) == 2 else f"All {len(members)}"
    sentences = [
        f"{all_of_them} circuits attend along {relations}.",
        f"Of two runs' relations, {rounded(comparison.likeness)} are common to "
        "both on average"
        " (Jaccard index).",
    ]
    rows = [_relation_row(relation, members) for relation in comparison.heads]
    head = ["relation", "runs", "median step"]
    note = "The step is that at which a relation's paths emerged, if they were dated."
    title = "relations by the number of circuits that attend along them"
    if len(members) <= MOST_COLUMNS:
        head += [member.name for member in members]
        title, note = RELATIONS_TITLE, RELATIONS_NOTE
    table = Table(title, head, [row[: len(head)] for row in rows], note=note)
    return Section(title, sentences, [table])


def _relation_row(relation: str, members: Members) -> list[Cell]:
    """The heads that attend along a relation, run by run, with the steps at which they
    did so.
    """
    cells = list[Cell]()
    steps = list[float]()
    for member in members:
        heads = list[str]()
        emerged = member.emerged
        for path in member.paths:
            if path.relation != relation:
                continue
            head = f"{path.layer}.{path.head}"
            if path in emerged:
                step = emerged[path]
                head += f" {_at_step(step)}"
                steps += [] if step is None else [step]
            heads.append(head)
        cells.append(", ".join(heads) or None)
    n_attending = len(cells) - cells.count(None)
    middle = round(median(steps)) if steps else None
    return [typeset(relation), f"{n_attending} of {len(members)}", middle, *cells]
