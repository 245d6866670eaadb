"""The list of runs in a folder, as data, and the page that says why something has
none.
"""

import math
import os
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from headway.errors import HeadwayError
from headway.judge import THRESHOLD
from headway.judge.verdict import VERDICTS, verdicts
from headway.report.findings import Findings, refusal, solved_at
from headway.report.labels import plain, setting_of
from headway.report.schema import Cell, RunsPage, Table
from headway.text import counted, sparkline
from headway.training import Run
from headway.training.config import Elsewhere
from headway.userfile import described

COLUMNS = (
    *("run", "status", "validation loss", "course", "steps", "task", "model"),
    *("useful heads", "layers used", "flow minimum", "enough", "changed"),
)

LATEST = 250e9
"""The last time that a calendar has, in seconds since 1970; a file's can be beyond."""

NO_RUNS = (
    "There are no runs here yet. This trains a first one in a minute or two, and "
    "it shows here"
    " while it does:"
)

Name = tuple[str, ...]
"""The place of a run in the folder: its own name, in a sweep after the sweep's."""


@dataclass(frozen=True)
class Entry:
    """A run's folder as it is now, unread.

    Attributes:
        name: that it is known by.
        folder: where it lies.
        version: a short text, which changes with everything that a page shows.
        changed: when it was last written to, in seconds since 1970; None if nothing is
            in it.
        refused: why it must not be read, if so.
    """

    name: Name
    folder: Path
    version: str
    changed: float | None = None
    refused: str | None = None

    def open(self) -> Run:
        """The run.

        Raises:
            HeadwayError: if it must not or cannot be read.
        """
        if self.refused is not None:
            raise HeadwayError(self.refused)
        return Run.open(self.folder)


@dataclass(frozen=True)
class Row:
    """A run in the list.

    Attributes:
        name: that it is known by.
        state: in a word; the cell of the status may have a reason behind it.
        cells: in the order of `COLUMNS`.
    """

    name: Name
    state: str
    cells: list[Cell]


def list_page(folder: Path, rows: Sequence[Row], version: str) -> RunsPage:
    """The data of the list.

    Args:
        folder: that holds all.
        rows: of the runs.
        version: of what is shown.
    """
    title = folder.name or Path(os.path.realpath(folder)).name
    if not rows:
        first = shlex.quote(str(folder / "first"))
        return nothing(title, f"{NO_RUNS} headway train fast --folder {first}", version)
    sweeps: dict[Name, list[Row]] = {}
    for row in sorted(rows, key=lambda row: len(row.name)):
        sweeps.setdefault(row.name[:-1], []).append(row)
    tables = [_sweep_table(sweep, members) for sweep, members in sweeps.items()]
    return RunsPage("runs", plain(title), [_counts(rows)], version, tables)


def _counts(rows: Sequence[Row]) -> str:
    """The number of runs, and of those in each state."""
    states = Counter(row.state for row in rows)
    parts = [f"{count} {state}" for state, count in states.most_common()]
    return " · ".join([counted(len(rows), "run"), *parts])


def _sweep_table(sweep: Name, rows: Sequence[Row]) -> Table:
    """The runs of a sweep, or those that are in none."""
    return Table(
        title=plain("/".join(sweep)),
        head=[*COLUMNS],
        rows=[row.cells for row in rows],
        links=[link("run", row.name) for row in rows],
        link=link("sweep", sweep) if sweep else "",
    )


def nothing(title: str, why: str, version: str) -> RunsPage:
    """The page that says why there is none of something; it looks again when that
    changes.
    """
    text = (
        "There is nothing to show now. This page looks again whenever something "
        "changes."
    )
    return RunsPage("runs", plain(title), [text, plain(why)], version)


def listed(entry: Entry) -> Row:
    """The list's row for a run, or why it cannot be read."""
    try:
        state, cells = _read(entry)
    except HeadwayError as error:
        state, cells = _unreadable(entry, str(error))
    except Exception as error:
        state, cells = _unreadable(entry, f"{entry.folder}: {described(error)}")
    if entry.changed:
        seconds = min(max(entry.changed, 0.0), LATEST)
        changed = datetime.fromtimestamp(seconds)
        cells["changed"] = f"{changed:%Y-%m-%d %H:%M:%S}"
    row = Row(entry.name, state, [])
    for column in COLUMNS:
        cell = cells.get(column)
        if isinstance(cell, str):
            cell = plain(cell)
        row.cells.append(cell)
    return row


def _read(entry: Entry) -> tuple[str, dict[str, Cell]]:
    """The state and the cells of a run."""
    run = entry.open()
    member = Findings.of(run, entry.name[-1])
    cells = row_of(member)
    task, size, _, mask, seed = setting_of(run.config)
    if not run.config.model.causal:
        task += f", {mask}"
    cells["task"] = task
    cells["model"] = f"{size} · {seed}"
    return member.status, cells


def _unreadable(entry: Entry, why: str) -> tuple[str, dict[str, Cell]]:
    """The state and the cells of a run that cannot be read."""
    return "unreadable", {"run": entry.name[-1], "status": f"unreadable: {why}"}


def _refused(run: Run) -> str | None:
    """The reason why there is no circuit to look for, or why that cannot be read: an
    error of one run does not spoil the list.
    """
    try:
        return refusal(run)
    except HeadwayError as error:
        return str(error)


def row_of(member: Findings) -> dict[str, Cell]:
    """The cells of a run, by the names of their columns."""
    status = member.status
    why = member.message if status == "failed" else _refused(member.run)
    if why:
        status += f": {why}"
    losses = [line["val_loss"] for line in member.metrics]
    finite = [loss for loss in losses if math.isfinite(loss)]
    solved = solved_at(member.task, member.metrics)
    seconds = member.last.get("seconds")
    cells: dict[str, Cell] = {
        "run": member.name,
        "status": status,
        "validation loss": member.loss,
        "course": sparkline(finite, 20),
        f"step below {THRESHOLD:g}": None if solved is None else solved["step"],
        "steps": _steps(member),
        "seconds": None if seconds is None else round(seconds),
        "in order": member.in_chain_order,
    }
    return cells | _circuit_cells(member)


def _steps(member: Findings) -> Cell:
    """The step of the last evaluation, and of how many while training goes on."""
    steps: int = member.last.get("step", 0)
    training = member.run.config.training
    if member.done or isinstance(training, Elsewhere):
        return steps
    return f"{steps:,} of {training.steps:,}"


def _circuit_cells(member: Findings) -> dict[str, Cell]:
    """A run's circuit in a cell, beside the flow minimum."""
    columns = ("useful heads", "layers used", "flow minimum", "circuit loss", *VERDICTS)
    cells: dict[str, Cell] = dict.fromkeys(columns)
    cells["flow minimum"] = member.least
    discovery = member.discovery
    if discovery is None:
        return cells
    circuit = discovery.circuit
    cells["useful heads"] = f"{len(circuit.useful_heads)} of {len(circuit.mechanisms)}"
    cells["layers used"] = len(circuit.useful_layers)
    cells["circuit loss"] = discovery.replaced_loss
    for verdict in verdicts(discovery):
        cells[verdict.name] = verdict.holds
    return cells


def link(kind: str, name: Name) -> str:
    """The address of a page on the server: of a run, of a sweep, or of runs side by
    side.
    """
    parts = [quote(os.fsencode(part), safe="") for part in name]
    return "/".join(["", kind, *parts, ""])
