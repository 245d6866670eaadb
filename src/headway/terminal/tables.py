"""Several things side by side, a row for each: runs, a sweep's runs, circuits."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from headway.replace.mechanism import Comparison, name_of
from headway.sweeps import Board, table
from headway.terminal.base import columns, console
from headway.text import duration

MOST = 100
"""The most runs that are listed at the end of a sweep; of more, those that have failed."""


def print_runs(rows: Sequence[dict[str, Any]], folder: Path, where: Sequence[str] = ()) -> None:
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
    nothing = "no runs here yet: headway train makes one"
    nothing = f"no run here is {' and '.join(where)}" if where else nothing
    out.print(columns(*heads, cells) if rows else nothing)
    for row in rows:
        if row["status"] == "failed" and row["message"]:
            place = Path(row["folder"])  # the message need not name it again
            message = row["message"].replace(f" in {place.absolute()}", "")
            out.print(f"{_name(row, folder)}: {message.replace(f' in {place}', '')}")
        if row["status"] == "unreadable":
            out.print(f"unreadable: {row['message']}")


def _cells(row: dict[str, Any], folder: Path, has_sets: bool) -> tuple[Any, ...]:
    """A run's row in the table; with its accuracies if some run has a fixed training set."""
    state = _name(row, folder), row["status"], row["step"]
    loss = "-" if row["val_loss"] is None else f"{row['val_loss']:.4f}"
    circuit = "-" if row["useful_heads"] is None else f"{row['useful_heads']} heads"
    seconds = "-" if row["seconds"] is None else duration(row["seconds"])
    shares = _shares(row) if has_sets else ()
    return (*state, loss, *shares, circuit, seconds)


def _shares(row: dict[str, Any]) -> tuple[str, str]:
    """The accuracies of a run, held out and on its fixed training set."""
    apart, trained = row["accuracy"], row.get("training_set.accuracy")
    said = "-" if apart is None else f"{apart:.1%}"
    return said, "-" if trained is None else f"{trained:.1%}"


def _name(row: dict[str, Any], folder: Path) -> str:
    path = Path(row["folder"])
    inside = path != folder and path.is_relative_to(folder)
    return str(path.relative_to(folder)) if inside else path.name


def print_sweep(board: Board, folder: Path) -> None:
    """Print the end of a sweep: a table of its runs, and how many are done and failed."""
    rows = [row for row in table(folder) if row["name"] in board.runs]
    if len(rows) > MOST:
        rows = [row for row in rows if row["status"] != "done"]
    if rows:
        print_runs(rows, folder)
    recorded = {row["name"] for row in rows if row["status"] == "failed"}
    for name in board.named("failed"):
        if name not in recorded:
            console().print(f"{name}: {board.runs[name].message} (not recorded)")
    done, failed = (len(board.named(state)) for state in ("done", "failed"))
    print(f"{done} done" + (f", {failed} failed" if failed else "") + f"; sweep {folder}")


def print_comparison(comparison: Comparison, names: Sequence[str]) -> None:
    """Print likenesses of circuits: a row per relation, a column per run."""
    out = console()
    title = "side by side: the heads that attend along each relation"
    out.rule(Text(title, style="bold"), align="left")
    for number, name in enumerate(names, start=1):
        out.print(f"{number}: {name}")
    rows = [
        (relation, *(" ".join(map(name_of, heads)) or "-" for heads in by))
        for relation, by in comparison.heads.items()
    ]
    out.print(columns(("relation", *map(str, range(1, len(names) + 1))), (), rows, wrap=True))
    out.print("in all: " + (", ".join(comparison.shared) or "no relation"))
    out.print(f"mean Jaccard index of two runs' relations: {comparison.likeness:.2f}")
