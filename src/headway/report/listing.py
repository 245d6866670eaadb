"""The list of runs in a folder, as data, and the page that says why something has none."""

import math
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
from headway.report.findings import refusal
from headway.report.labels import plain, setting_of
from headway.report.schema import Cell, RunsPage, Table
from headway.text import counted, sparkline
from headway.training import Run
from headway.training.config import Elsewhere
from headway.training.files import clear_content_errors
from headway.userfile import described

LEAST, DECADES = 0.002, 3
"""The loss at the foot of a course, and how many powers of ten it is high."""

COLUMNS = (
    *("run", "task", "model", "status", "step", "validation loss", "course", "circuit", "changed"),
)
STATUS = COLUMNS.index("status")
NOTE = f"Courses of the loss are logarithmic, from {LEAST:g} to {LEAST * 10**DECADES:g}."

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


def list_page(folder: Path, rows: Sequence[tuple[Entry, list[Cell]]], version: str) -> RunsPage:
    """The data of the list.

    Args:
        folder: that holds all.
        rows: of the runs.
        version: of what is shown.
    """
    title = folder.name or Path(os.path.realpath(folder)).name
    if not rows:
        why = (
            "There are no runs here yet. This trains a first one in a minute or two, and it shows"
            f" here while it does: headway train fast --folder {shlex.quote(str(folder / 'first'))}"
        )
        return nothing(title, why, version)
    sweeps = dict[Name, list[tuple[Entry, list[Cell]]]]()
    for entry, row in sorted(rows, key=lambda one: len(one[0].name)):
        sweeps.setdefault(entry.name[:-1], []).append((entry, row))
    tables = [
        Table(
            title=plain("/".join(sweep)),
            head=[*COLUMNS],
            rows=[row for _, row in some],
            links=[link("run", entry.name) for entry, _ in some],
            link=link("sweep", sweep) if sweep else "",
            note=NOTE,
        )
        for sweep, some in sweeps.items()
    ]
    states = Counter(str(row[STATUS]).partition(":")[0] for _, row in rows)
    parts = [f"{states[state]} {state}" for state in STATES if states[state]]
    headline = " · ".join([counted(len(rows), "run"), *parts])
    return RunsPage("runs", plain(title), [headline], version, tables)


def nothing(title: str, why: str, version: str) -> RunsPage:
    """The page that says why there is none of something; it looks again when that changes."""
    text = "There is nothing to show now. This page looks again whenever something changes."
    return RunsPage("runs", plain(title), [text, plain(why)], version)


def listed(entry: Entry) -> list[Cell]:
    """The list's row for a run, or why it cannot be read."""
    row = dict[str, Cell]()
    try:
        row = _read(entry.open())
    except HeadwayError as error:
        row["status"] = f"unreadable: {error}"
    except Exception as error:
        row["status"] = f"unreadable: {entry.folder}: {described(error)}"
    row["run"] = entry.name[-1]
    if entry.changed:
        at = datetime.fromtimestamp(min(max(entry.changed, 0.0), LATEST))
        row["changed"] = f"{at:%Y-%m-%d %H:%M:%S}"
    cells = [row.get(name) for name in COLUMNS]
    return [plain(cell) if isinstance(cell, str) else cell for cell in cells]


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
        "course": _course([line["val_loss"] for line in metrics]),
        "circuit": circuit,
    }


def _course(losses: Sequence[float]) -> str | None:
    """Losses that are finite, as a small curve."""
    rises = [math.log10(max(loss, LEAST) / LEAST) for loss in losses if math.isfinite(loss)]
    return sparkline(rises, 20, DECADES) or None


def link(kind: str, name: Name) -> str:
    """The address of a page on the server: of a run, of a sweep, or of runs side by side."""
    return f"/{kind}/" + "".join(f"{quote(os.fsencode(part), safe='')}/" for part in name)
