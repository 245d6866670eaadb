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

from headway.errors import HeadwayError
from headway.judge import THRESHOLD
from headway.judge.verdicts import NAMES, verdicts
from headway.report.findings import Findings, refusal, solved_at
from headway.report.labels import plain, setting_of
from headway.report.schema import Cell, RunsPage, Table
from headway.text import counted, sparkline
from headway.training import Run
from headway.training.config import Elsewhere
from headway.userfile import described

COLUMNS = (
    *("run", "task", "model", "status", "steps", "validation loss", "course"),
    *("useful heads", "layers used", "flow minimum", "enough", "changed"),
)
STATUS = COLUMNS.index("status")

LATEST = 250e9
"""The last time that a calendar has, in seconds since 1970; a file's can be beyond."""

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
        )
        for sweep, some in sweeps.items()
    ]
    states = Counter(str(row[STATUS]).partition(":")[0] for _, row in rows)
    parts = [f"{count} {state}" for state, count in states.most_common()]
    headline = " · ".join([counted(len(rows), "run"), *parts])
    return RunsPage("runs", plain(title), [headline], version, tables)


def nothing(title: str, why: str, version: str) -> RunsPage:
    """The page that says why there is none of something; it looks again when that changes."""
    text = "There is nothing to show now. This page looks again whenever something changes."
    return RunsPage("runs", plain(title), [text, plain(why)], version)


def listed(entry: Entry) -> list[Cell]:
    """The list's row for a run, or why it cannot be read."""
    try:
        run = entry.open()
        row = row_of(Findings.of(run, entry.name[-1]))
        task, size, _, mask, seed = setting_of(run.config)
        row["task"] = task if run.config.model.causal else f"{task}, {mask}"
        row["model"] = f"{size} · {seed}"
    except HeadwayError as error:
        row = {"run": entry.name[-1], "status": f"unreadable: {error}"}
    except Exception as error:
        row = {"run": entry.name[-1], "status": f"unreadable: {entry.folder}: {described(error)}"}
    if entry.changed:
        at = datetime.fromtimestamp(min(max(entry.changed, 0.0), LATEST))
        row["changed"] = f"{at:%Y-%m-%d %H:%M:%S}"
    cells = [row.get(name) for name in COLUMNS]
    return [plain(cell) if isinstance(cell, str) else cell for cell in cells]


def _refused(run: Run) -> str | None:
    """Why there is no circuit to look for, or why that cannot be read: one run spoils no list."""
    try:
        return refusal(run)
    except HeadwayError as error:
        return str(error)


def row_of(member: Findings) -> dict[str, Cell]:
    """The cells of a run, by the names of their columns."""
    config, last = member.run.config, (member.metrics or [{}])[-1]
    losses = [line["val_loss"] for line in member.metrics]
    solved, found = solved_at(member.task, member.metrics), member.discovery
    circuit = None if found is None else found.circuit
    heads = circuit and f"{len(circuit.useful_heads)} of {len(circuit.mechanisms)}"
    steps: Cell = last.get("step", 0)
    if not member.done and not isinstance(config.training, Elsewhere):
        steps = f"{steps:,} of {config.training.steps:,}"
    held = {} if found is None else {one.name: one.holds for one in verdicts(found)}
    why = member.message if member.status == "failed" else _refused(member.run)
    return {
        "run": member.name,
        "status": f"{member.status}: {why}" if why else member.status,
        "validation loss": member.loss,
        "course": sparkline([loss for loss in losses if math.isfinite(loss)], 20),
        f"step below {THRESHOLD:g}": None if solved is None else solved["step"],
        "steps": steps,
        "seconds": round(last["seconds"]) if "seconds" in last else None,
        "in order": member.in_chain_order,
        "useful heads": heads,
        "layers used": circuit and len(circuit.useful_layers),
        "flow minimum": member.least,
        "circuit loss": found and found.replaced_loss,
        **{name: held.get(name) for name in NAMES},
    }


def link(kind: str, name: Name) -> str:
    """The address of a page on the server: of a run, of a sweep, or of runs side by side."""
    return f"/{kind}/" + "".join(f"{quote(os.fsencode(part), safe='')}/" for part in name)
