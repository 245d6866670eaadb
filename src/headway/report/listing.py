"""The list of runs in a folder, as data, and the page that says why something has none."""

import os
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from headway.circuits.flows import Least
from headway.errors import HeadwayError
from headway.report.curves import points, thinned
from headway.report.findings import refusal
from headway.report.labels import plain, setting_of
from headway.report.schema import Cell, ListedGroup, ListPage, Table
from headway.text import counted
from headway.training import Run
from headway.training.config import Elsewhere
from headway.training.files import clear_content_errors
from headway.userfile import described

POINTS = 48
"""The most evaluations in a small curve."""

COLUMNS = ["run", "task", "model", "status", "step", "validation loss", "circuit", "changed"]
STATUS = COLUMNS.index("status")

LATEST = 250e9
"""The last time that a calendar has, in seconds since 1970; a file's can be beyond."""

STATES = ("running", "done", "stopped", "failed", "unreadable")

Name = tuple[str, ...]
"""The place of a run in the folder: its own name, in a sweep after the sweep's."""


@dataclass(frozen=True)
class Entry:
    """A run's folder as it is now, unread.

    Attributes:
        name: that it is known by.
        folder: where it lies.
        version: a short text, which changes with everything that a page shows.
        changed: when it was last written to, in seconds since 1970; None if nothing is in it.
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
class Line:
    """A run's line in the list: its cells, and at most so many steps and losses."""

    cells: list[Cell]
    curve: list[tuple[float, float]]


def list_page(folder: Path, lines: Sequence[tuple[Entry, Line]], version: str) -> ListPage:
    """The data of the list.

    Args:
        folder: that holds all.
        lines: of the runs.
        version: of what is shown.
    """
    title = folder.name or Path(os.path.realpath(folder)).name
    if not lines:
        why = (
            "There are no runs here yet. This trains a first one in a minute or two, and it shows"
            f" here while it does: headway train fast --folder {shlex.quote(str(folder / 'first'))}"
        )
        return nothing(title, why, version, back=None)
    groups = dict[Name, list[tuple[Entry, Line]]]()
    for entry, line in sorted(lines, key=lambda one: len(one[0].name)):
        groups.setdefault(entry.name[:-1], []).append((entry, line))
    states = Counter(str(line.cells[STATUS]).partition(":")[0] for _, line in lines)
    parts = [f"{states[state]} {state}" for state in STATES if states[state]]
    headline = " · ".join([counted(len(lines), "run"), *parts])
    listed = [_group(name, some) for name, some in groups.items()]
    return ListPage("runs", plain(title), [headline], version, listed)


def _group(sweep: Name, lines: Sequence[tuple[Entry, Line]]) -> ListedGroup:
    names = [entry.name for entry, _ in lines]
    return ListedGroup(
        link=link("sweep", sweep) if sweep else "",
        table=Table(
            title=plain("/".join(sweep)),
            head=COLUMNS,
            rows=[line.cells for _, line in lines],
            keys=[_quoted("/".join(name)) for name in names],
            links=[link("run", name) for name in names],
        ),
        curves=[line.curve for _, line in lines],
    )


def nothing(title: str, why: str, version: str, back: str | None = "/") -> ListPage:
    """The page that says why there is none of something; it looks again when that changes."""
    text = "There is nothing to show now. This page looks again whenever something changes."
    return ListPage("runs", plain(title), [text, plain(why)], version, why=plain(why), back=back)


def listed(entry: Entry) -> Line:
    """The list's line for a run, or why it cannot be read."""
    row, curve = dict[str, Cell](), list[tuple[float, float]]()
    try:
        run = entry.open()
        row = _read(run)
        curve = points((m["step"], m["val_loss"]) for m in thinned(run.metrics(), POINTS))
    except HeadwayError as error:
        row["status"] = f"unreadable: {error}"
    except Exception as error:
        row["status"] = f"unreadable: {entry.folder}: {described(error)}"
    row["run"] = entry.name[-1]
    if entry.changed:
        at = datetime.fromtimestamp(min(max(entry.changed, 0.0), LATEST))
        row["changed"] = f"{at:%Y-%m-%d %H:%M:%S}"
    cells = [row.get(name) for name in COLUMNS]
    return Line([plain(cell) if isinstance(cell, str) else cell for cell in cells], curve)


def _read(run: Run) -> dict[str, Cell]:
    """The cells of a run, by the names of their columns.

    Raises:
        HeadwayError: if its folder cannot be read, or a file in it is corrupted.
    """
    config, status, metrics, found = run.config, run.status, run.metrics(), run.read("circuit.json")
    last, circuit = metrics[-1] if metrics else {}, refusal(run)
    if found is not None:
        with clear_content_errors(run.folder / "circuit.json"):
            useful = counted(int(found["useful_heads"]), "useful head")
            circuit = f"{useful} in {counted(int(found['useful_layers']), 'layer')}"
        least = Least.of(config.task, config.model.causal)
        circuit += f", flow minimum {least.cell}" if least.known else ""
    if status == "failed":
        status += f": {(run.outcome() or {}).get('message') or ''}"
    task, size, _, mask, seed = setting_of(config)
    step: Cell = last.get("step", 0)
    if status != "done" and not isinstance(config.training, Elsewhere):
        step = f"{step:,} of {config.training.steps:,}"
    return {
        "task": task if config.model.causal else f"{task}, {mask}",
        "model": f"{size} · {seed}",
        "status": status,
        "step": step,
        "validation loss": last.get("val_loss"),
        "circuit": circuit,
    }


def link(kind: str, name: Name) -> str:
    """The address of a page on the server: of a run, of a sweep, or of runs side by side."""
    return f"/{kind}/" + "".join(f"{_quoted(part)}/" for part in name)


def _quoted(text: str) -> str:
    return quote(os.fsencode(text), safe="")
