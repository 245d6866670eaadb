"""The page of a sweep, or of any folder of runs."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import mean, median, stdev

from headway.circuits import THRESHOLD
from headway.circuits.emergence import BIRTH
from headway.report import schema
from headway.report.axes import SEED, Axis, axes_of, grouped, number_of, value_of
from headway.report.entries import Entry, Gathered, gather
from headway.report.headline import number
from headway.report.labels import typeset
from headway.report.members import Link, links_from
from headway.report.page import html
from headway.report.settings import common_parts
from headway.report.span import worth_showing
from headway.report.tables import table
from headway.text import counted, enumerated, rounded
from headway.training.files import write_text
from headway.words import natural

FILE = "report.html"
DEPTH, LAYERS = "task.depth", "model.n_layers"
MOST_CELLS, MOST_GRIDS = 400, 12
"""Larger grids, or more of them, are left out."""

MOST_PANELS, MOST_COLOURS = 12, 6
"""With more values than this, curves are not parted, and not coloured."""

COLUMNS = ("done", "solved", "median loss", "mean ± st. dev.", "least", "largest")


def write_sweep(folder: Path, out: Path | None = None) -> Path:
    """Writes one page about all runs of a folder.

    Args:
        folder: of a sweep, or any that holds runs.
        out: the page; by default `report.html` in the folder.

    Returns: the page's path.

    Raises:
        HeadwayError: if there is no run in the folder, its plan is corrupted, or the disk does not
            take the page.
    """
    page = out or folder / FILE
    write_text(page, html(sweep_page(gather(folder), links_from(page.parent))))
    return page


def sweep_page(found: Gathered, link: Link, live: str = "") -> schema.SweepPage:
    """The data of the page.

    Args:
        found: the folder.
        link: gives the address of a run's own page.
        live: the version of what is shown, if it is served and is to follow changes.
    """
    entries, axes = found.entries, axes_of(found.entries)
    name = found.folder.resolve().name
    dated = [step for one in entries for step in one.hops.values() if step is not None]
    end = max([1.0, *dated, *(entry.curve[-1][0] for entry in entries if entry.curve)])
    headline, varies = _headline(found), _varies(entries, axes)
    panels, coloured = _divided(axes)
    grids, bounds = _grids(entries, axes)
    return schema.SweepPage(
        kind="sweep",
        name=name,
        title=name,
        headline=headline,
        summary=[headline, f"What varies: {varies}."],
        setting=[*common_parts([entry.config for entry in entries]), f"what varies: {varies}"],
        facts=list(_facts(found)),
        axes=[_axis(entries, axis) for axis in axes],
        runs=[_run(i, entry, axes, link) for i, entry in enumerate(entries, start=1)],
        panels=panels,
        coloured=coloured,
        table=_table(found, axes),
        fields=list(_by_field(entries, axes)),
        grids=grids,
        bounds=bounds,
        learnt=_learnt(entries),
        order=_order(entries),
        waiting=found.missing,
        unreadable=found.unreadable,
        birth=BIRTH,
        threshold=THRESHOLD,
        until=worth_showing(max(dated), end) if dated else end,
        end=end,
        live=live,
    )


@dataclass(frozen=True)
class Came:
    """The results of some runs.

    Attributes:
        runs: how many there are.
        done: how many of them are done; what follows is about these.
        solved: how many of them solved the task.
        losses: their validation losses at the end, the least first.
    """

    runs: int
    done: int
    solved: int
    losses: list[float]

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> "Came":
        """Counts the runs."""
        done = [entry for entry in entries if entry.done]
        losses = sorted(entry.loss for entry in done if entry.loss is not None)
        return cls(len(entries), len(done), sum(entry.solved for entry in done), losses)

    @property
    def median(self) -> float | None:
        """Of the losses."""
        return median(self.losses) if self.losses else None

    @property
    def cells(self) -> list[schema.Cell]:
        """The cells of a table; their names are `COLUMNS`."""
        average = rounded(mean(self.losses)) if self.losses else None
        if len(self.losses) > 1:
            average = f"{average} ± {rounded(stdev(self.losses))}"
        least, most = (self.losses[0], self.losses[-1]) if self.losses else (None, None)
        counts = f"{self.done} of {self.runs}", f"{self.solved} of {self.done}"
        return [*counts, self.median, average, least, most]


def _headline(found: Gathered) -> str:
    came, states = Came.of(found.entries), Counter(entry.status for entry in found.entries)
    counts = {word: states[word] for word in ("failed", "running", "stopped")}
    counts |= {"not started": len(found.missing), "cannot be read": len(found.unreadable)}
    unfinished = [f"{count} {word}" for word, count in counts.items() if count]
    text = f"{came.done} of {counted(found.planned or came.runs, 'run')} done"
    text += f"; {enumerated(unfinished)}." if unfinished else "."
    if came.done:
        text += (
            f" {came.solved} of {came.done} solved the task (validation loss below {THRESHOLD:g});"
            f" the median loss is {number(came.median)}, from {rounded(came.losses[0])} to"
            f" {rounded(came.losses[-1])}."
        )
    return text


def _varies(entries: Sequence[Entry], axes: Sequence[Axis]) -> str:
    seeds = len({entry.config.seed for entry in entries})
    parts = [f"{axis.name} ({len(axis.values)} values)" for axis in axes]
    return " × ".join([*parts, *([f"seed ({seeds})"] if seeds > 1 else [])]) or "nothing"


def _facts(found: Gathered) -> Iterator[schema.Fact]:
    came, states = Came.of(found.entries), Counter(entry.status for entry in found.entries)
    seconds = [entry.seconds for entry in found.entries if entry.seconds is not None]
    of = "runs of the plan" if found.planned else "runs in the folder"
    yield schema.Fact("Done", f"{came.done} of {found.planned or came.runs}", of)
    yield schema.Fact("Solved", f"{came.solved} of {came.done}", f"loss below {THRESHOLD:g}")
    failed = "messages in the table of runs" if states["failed"] else ""
    yield schema.Fact("Failed", str(states["failed"]), failed)
    rest = f"{states['stopped']} stopped, {len(found.missing)} not started"
    yield schema.Fact("Running", str(states["running"]), rest)
    yield schema.Fact("Median loss", number(came.median), "of the runs that are done")
    middle = f"{median(seconds):,.0f}" if seconds else "–"
    hours = f"median; {sum(seconds) / 3600:.3g} hours in all"
    yield schema.Fact("Seconds a run", middle, hours)


def _axis(entries: Sequence[Entry], axis: Axis) -> schema.Axis:
    by_value = {axis.of(entry): number_of(entry, axis.field) for entry in entries}
    numbers = [value for name in axis.values if (value := by_value[name]) is not None]
    known = numbers if len(numbers) == len(axis.values) else None
    return schema.Axis(axis.field, axis.name, axis.values, known, axis.along)


def _run(i: int, entry: Entry, axes: Sequence[Axis], link: Link) -> schema.SweepRun:
    return schema.SweepRun(
        number=i,
        name=entry.name,
        link=link(entry.folder),
        status=entry.status,
        values=[axis.values.index(axis.of(entry)) for axis in axes],
        loss=entry.loss,
        done=entry.done,
        solved=entry.solved,
        steps=[step for step, _ in entry.curve],
        losses=[loss for _, loss in entry.curve],
        learnt=entry.hops,
        in_order=entry.in_chain_order,
    )


def _divided(axes: Sequence[Axis]) -> tuple[int | None, int | None]:
    """The axis that parts curves into panels, and the one that colours them."""
    by_field = {axis.field: axis for axis in axes}
    panels = by_field.get(LAYERS) or next((a for a in axes if a.field != DEPTH), None)
    if panels is not None and len(panels.values) > MOST_PANELS:
        panels = None
    coloured = next((a for a in [by_field.get(DEPTH), *axes] if a and a is not panels), None)
    if coloured is not None and len(coloured.values) > MOST_COLOURS:
        coloured = None
    at = {axis.field: i for i, axis in enumerate(axes)}
    return panels and at[panels.field], coloured and at[coloured.field]


def _table(found: Gathered, axes: Sequence[Axis]) -> schema.Table:
    """A row for every run, with its values of what varies."""
    fields = {axis.name: axis.field for axis in axes}
    if len({entry.config.seed for entry in found.entries}) > 1 or not fields:
        fields[SEED] = SEED
    rows = list[list[schema.Cell]]()
    for entry in found.entries:
        failed = entry.status == "failed" and entry.message
        status = f"failed: {entry.message}" if failed else entry.status
        values = [value_of(entry, field) for field in fields.values()]
        seconds = None if entry.seconds is None else round(entry.seconds)
        rows.append([entry.name, status, *values, entry.loss, entry.step, seconds, entry.heads])
    along = [f"With {axis.name} goes: {', '.join(axis.along)}." for axis in axes if axis.along]
    head = ["run", "status", *fields, "validation loss", "steps", "seconds", "useful heads"]
    keys = [f"run:{i}" for i in range(1, 1 + len(rows))]
    return table("the runs", head, rows, keys, " ".join(along))


def _by_field(entries: Sequence[Entry], axes: Sequence[Axis]) -> Iterator[schema.Table]:
    """What came out by every value of each field that varies."""
    if not any(entry.done for entry in entries):
        return
    if not axes:
        row: list[schema.Cell] = ["all runs", *Came.of(entries).cells]
        yield table("validation loss at the end", ["runs", *COLUMNS], [row])
    for axis in axes:
        by = grouped(entries, [axis])
        rows = [[value, *Came.of(by[value,]).cells] for value in axis.values]
        yield table(f"validation loss at the end, by {axis.name}", [axis.name, *COLUMNS], rows)


def _grids(entries: Sequence[Entry], axes: Sequence[Axis]) -> tuple[list[schema.Grid], list[str]]:
    """Two fields across each other, and what the theory allows, in sentences."""
    if len(axes) < 2:
        return [], []
    by_field = {axis.field: axis for axis in axes}
    down = by_field.get(DEPTH) or next(axis for axis in axes if axis.field != LAYERS)
    across = by_field.get(LAYERS) or next(axis for axis in axes if axis is not down)
    rest = [axis for axis in axes if axis is not down and axis is not across]
    groups = grouped(entries, rest)
    if len(down.values) * len(across.values) > MOST_CELLS or len(groups) > MOST_GRIDS:
        return [], []
    found = []
    for key in product(*(axis.values for axis in rest)):
        if key in groups:
            cells = grouped(groups[key], (down, across))
            found.append(
                schema.Grid(
                    title=", ".join(f"{a.name}={v}" for a, v in zip(rest, key, strict=True)),
                    down=axes.index(down),
                    across=axes.index(across),
                    cells=[
                        [_cell(cells.get((r, c), [])) for c in across.values] for r in down.values
                    ],
                )
            )
    bounded = {DEPTH, LAYERS} & by_field.keys() and any(e.least.layers is not None for e in entries)
    return found, list(_bounds(entries)) if bounded else []


def _cell(entries: Sequence[Entry]) -> schema.GridCell | None:
    if not entries:
        return None
    came, sides = Came.of(entries), {_side(entry) for entry in entries}
    failed = sum(entry.status == "failed" for entry in entries)
    side = sides.pop() if len(sides) == 1 else ""
    return schema.GridCell(came.runs, came.done, came.solved, failed, came.median, side)


def _side(entry: Entry) -> str:
    """Whether a run's layers are too few by the theory (`below`), just enough (`least`) or more.

    Empty if that is not known.
    """
    layers, least = entry.config.model.n_layers, entry.least
    if not least.known:
        return ""
    if least.layers is None or layers < least.layers:
        return "below"
    return "least" if layers == least.layers else "above"


def _bounds(entries: Sequence[Entry]) -> Iterator[str]:
    done = [entry for entry in entries if entry.done]
    below = [entry for entry in done if _side(entry) == "below"]
    least = [entry for entry in done if _side(entry) == "least"]
    if broke := [entry.name for entry in below if entry.solved]:
        yield f"Solved with too few layers by the theory: {', '.join(broke)}."
    elif below:
        yield f"None of {counted(len(below), 'run')} with too few layers solved the task."
    else:
        yield "No run has too few layers by the theory."
    if least:
        yield f"With just enough, {sum(e.solved for e in least)} of {len(least)} did."


def _learnt(entries: Sequence[Entry]) -> schema.Table:
    """When every hop was learnt, over all runs that were evaluated."""
    known, rows = [entry for entry in entries if entry.curve], list[list[schema.Cell]]()
    for hop in sorted({hop for entry in known for hop in entry.hops}, key=natural):
        some = [entry.hops[hop] for entry in known if hop in entry.hops]
        steps = sorted(step for step in some if step is not None)
        ends = [round(s) for s in (median(steps), steps[0], steps[-1])] if steps else [None] * 3
        rows.append([typeset(hop), f"{len(steps)} of {len(some)}", *ends])
    head = ["hop", "learnt in runs", "median step", "earliest", "latest"]
    note = (
        f"The step at which the partial loss of a hop first falls below {BIRTH:g}, interpolated"
        " between evaluations."
    )
    return table("when every hop was learnt, over all runs", head, rows, note=note)


def _order(entries: Iterable[Entry]) -> str:
    known = [entry for entry in entries if entry.curve]
    orders = [e.in_chain_order for e in known if e.in_chain_order is not None]
    if not any(step is not None for entry in known for step in entry.hops.values()):
        return "No run has learnt a hop yet."
    if not orders:
        return "No run has two hops to compare, so none tells of an order."
    return (
        f"In order: {sum(orders)} of {len(orders)} runs that learnt a hop of several. The other"
        f" {len(known) - len(orders)} learnt none, or have but one."
    )
