"""Several things side by side, a row for each: runs, a sweep's runs, circuits."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from headway.console import console
from headway.replace.circuit import Comparison
from headway.replace.heads import name_of
from headway.sweeps import Board, table
from headway.terminal.base import columns
from headway.text import counted, duration, rounded

MOST = 100
"""The most runs listed after a sweep; of more, only the failed ones."""


def print_runs(
    rows: Sequence[dict[str, Any]], folder: Path, where: Sequence[str] = ()
) -> None:
    """A table of runs and their state; what cannot be read or has failed says why.

    Args:
        rows: as `headway.sweeps.table` gives them.
        folder: that they lie in; runs deeper inside are named with the folders between.
        where: the conditions that they were to meet.
    """
    has_sets = any("training_set.loss" in row for row in rows)
    both = ("accuracy", "in training") if has_sets else ()
    heads = ("run", "status"), ("step", "val loss", *both, "circuit", "time")
    readable = [row for row in rows if row["status"] != "unreadable"]
    cells = [_cells(row, folder, has_sets) for row in readable]
    out = console()
    if rows:
        out.print(columns(*heads, cells))
    elif where:
        out.print(f"no run here is {' and '.join(where)}")
    else:
        out.print("no runs here yet: headway train makes one")
    for row in rows:
        message = row["message"]
        if row["status"] == "failed" and message:
            place = Path(row["folder"])  # the message need not name it again
            for named in (place.absolute(), place):
                message = message.replace(f" in {named}", "")
            out.print(f"{_name(row, folder)}: {message}")
        if row["status"] == "unreadable":
            out.print(f"unreadable: {message}")


def _cells(row: dict[str, Any], folder: Path, has_sets: bool) -> list[Any]:
    """A run's row; with accuracies if some run has a fixed training set."""
    cells = [
        _name(row, folder),
        row["status"],
        row["step"],
        _loss(row["val_loss"]),
    ]
    if has_sets:
        trained = row.get("training_set.accuracy")
        cells += [_said(row["accuracy"], "{:.1%}"), _said(trained, "{:.1%}")]
    n_heads = row["useful_heads"]
    cells.append("-" if n_heads is None else counted(n_heads, "head"))
    seconds = row["seconds"]
    cells.append("-" if seconds is None else duration(seconds))
    return cells


def _loss(value: float | None) -> str:
    """A loss as the page has it; a dash if it is not known."""
    return "-" if value is None else rounded(value)


def _said(value: Any, form: str) -> str:
    """A value in some form; a dash if it is not known."""
    return "-" if value is None else form.format(value)


def _name(row: dict[str, Any], folder: Path) -> str:
    path = Path(row["folder"])
    inside = path != folder and path.is_relative_to(folder)
    return str(path.relative_to(folder)) if inside else path.name


def print_sweep(board: Board, folder: Path) -> None:
    """Print the end of a sweep: its runs, and how many are done and failed."""
    rows = [row for row in table(folder) if row["name"] in board.runs]
    if len(rows) > MOST:
        rows = [row for row in rows if row["status"] != "done"]
    if rows:
        print_runs(rows, folder)
    recorded = {row["name"] for row in rows if row["status"] == "failed"}
    for name in board.named("failed"):
        if name not in recorded:
            message = board.runs[name].message
            console().print(f"{name}: {message} (not recorded)")
    ends = f"{len(board.named('done'))} done"
    if failed := board.named("failed"):
        ends += f", {len(failed)} failed"
    print(f"{ends}; sweep {folder}")


def print_comparison(comparison: Comparison, names: Sequence[str]) -> None:
    """Print likenesses of circuits: a row per relation, a column per run."""
    out = console()
    title = "side by side: the heads that attend along each relation"
    out.rule(Text(title, style="bold"), align="left")
    for number, name in enumerate(names, start=1):
        out.print(f"{number}: {name}")
    rows = list[list[str]]()
    for relation, by_run in comparison.heads.items():
        attending = [" ".join(map(name_of, heads)) or "-" for heads in by_run]
        rows.append([relation, *attending])
    numbers = map(str, range(1, len(names) + 1))
    out.print(columns(["relation", *numbers], (), rows, wrap=True))
    out.print(f"in all: {', '.join(comparison.shared) or 'no relation'}")
    out.print(f"mean Jaccard index of two runs' relations: {comparison.likeness:.2f}")
