"""One table of many runs: a row a run, a column a field or final figure."""

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from headway.errors import HeadwayError, require
from headway.fields import hints_of, said, split, values_in, values_of
from headway.tasks import KINDS
from headway.tasks.registry import OFFERED
from headway.training import Run, fast
from headway.training.config import flat
from headway.training.files import clear_content_errors, write_whole
from headway.training.finding import run_folders
from headway.training.losses import mean_accuracy
from headway.training.recipes import annotations

Row = dict[str, Any]
STATUSES = ("done", "failed", "running", "stopped", "unreadable")


FORMULAS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Characters that begin formulas in spreadsheets, in both widths."""

UNWRITABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Characters that break a line or the cells of it, or are half of one."""


def table(
    folder: str | Path = "runs", where: Sequence[str] = (), sort: str | None = None
) -> list[Row]:
    """The runs in a folder, its sweeps and folders of sweeps, as rows for pandas.

    Every row has the run's name, folder and status, why it failed, every field of its
    config by dotted name, and its figures: `step`, `val_loss`, `test_loss`,
    `partial.x_1` and so on, `seconds`, `given_up_steps`, `attempts`, `useful_heads`,
    `accuracy`; None where it is not known yet. With a fixed training set there are
    `training_set.loss` and `training_set.accuracy`, too. What cannot be read has the
    status `unreadable`, and the reason in `message`.

    Args:
        folder: that holds run folders, or sweeps' folders, or both; or a run's own.
        where: which rows to keep, each `FIELD=VALUES`; all must hold.
        sort: the column to sort by; rows without a value come last. By default, by
            name.

    Raises:
        HeadwayError: if there is no such folder, field or column, or a value is not
            one.
    """
    rows = [row_of(path) for path in run_folders(Path(folder))]
    if where:
        wanted = values_in(map(split, where), _annotations(), values_of)
        for field, allowed in wanted.items():
            rows = [row for row in rows if field in row and row[field] in allowed]
    if sort is not None:
        names = columns(rows)
        require(sort in names or not rows, "sort", sort, f"one of {', '.join(names)}")
        rows.sort(key=lambda row: _rank(row.get(sort)))
    return rows


def row_of(folder: Path) -> Row:
    """The row of the run in a folder."""
    row: Row = {"name": folder.name, "folder": str(folder)}
    try:
        return row | _figures(Run.open(folder))
    except HeadwayError as error:
        return {**row, "status": "unreadable", "message": str(error)}


def _figures(run: Run) -> Row:
    """The status of a run, its fields, and its figures as far as they are known.

    Raises:
        HeadwayError: if a file of it cannot be read.
    """
    outcome = run.outcome() or {}
    metrics = run.metrics()
    circuit = run.read("circuit.json")
    last = {"step": 0, **(metrics[-1] if metrics else {}), **outcome}
    given_up = last.get("given_up", [])
    row: Row = {"status": run.status, "message": last.get("message")}
    row |= flat(run.config)
    for name in ("step", "val_loss", "test_loss", "seconds"):
        row[name] = last.get(name)
    row["given_up_steps"] = sum(attempt["step"] for attempt in given_up)
    row["attempts"] = len(given_up) + 1
    with clear_content_errors(run.folder / "circuit.json"):
        row["useful_heads"] = None if circuit is None else int(circuit["useful_heads"])
    row |= accuracies(last)
    for hop, loss in last.get("partial", {}).items():
        row[f"partial.{hop}"] = loss
    return row


def accuracies(evaluation: Row) -> Row:
    """The accuracy of an evaluation; with a fixed training set, its loss too."""
    shares: Row = {"accuracy": mean_accuracy(evaluation)}
    trained = evaluation.get("training_set")
    if trained is not None:
        shares["training_set.loss"] = trained["loss"]
        shares["training_set.accuracy"] = mean_accuracy(trained)
    return shares


def columns(rows: Sequence[Row]) -> list[str]:
    """The names of all columns, in the order of the rows."""
    return list(dict.fromkeys(name for row in rows for name in row))


def write_table(file: str | Path, rows: Sequence[Row]) -> None:
    """Writes rows as CSV, whole or not at all; what is not known is empty.

    Raises:
        HeadwayError: if the disk does not take the file.
    """
    names = columns(rows)
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(map(cell, names))
    for row in rows:
        table.writerow(cell(row.get(name)) for name in names)
    write_whole(Path(file), text.getvalue().encode())


def cell(value: Any) -> str:
    """A value as a cell of a table, on one line.

    Numbers are written as they are. A text that a spreadsheet would take for a formula
    begins with an apostrophe. Control characters and bytes that are no text are
    escaped.
    """
    if value is None:
        return ""
    if isinstance(value, int | float):
        return said(value)
    text = UNWRITABLE.sub(lambda match: ascii(match[0])[1:-1], said(value))
    return f"'{text}" if text.startswith(FORMULAS) else text


def _annotations() -> dict[str, Any]:
    """The annotation of every field that rows are chosen by, of all tasks."""
    hint_of = {"task.kind": Literal[*OFFERED], **annotations(fast())}
    for task in KINDS.values():
        for name, hint in hints_of(task).items():
            hint_of[f"task.{name}"] = hint | hint_of.get(f"task.{name}", hint)
    return {**hint_of, "status": Literal[STATUSES], "name": str}


def _rank(value: Any) -> tuple[bool, bool, Any]:
    """A key by which values of different types can be sorted, none last."""
    is_number = isinstance(value, int | float)
    return value is None, not is_number, value if is_number else said(value)
