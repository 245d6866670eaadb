"""Several runs side by side: their state, and their circuits."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from headway.circuits import Comparison
from headway.circuits.mechanism import name_of
from headway.terminal.base import columns, console, say
from headway.text import command, duration
from headway.training import Run

NOTHING = "no runs here yet: headway train makes one"


def print_runs(rows: Sequence[dict[str, Any]], folder: Path, where: Sequence[str] = ()) -> None:
    """A table of runs and their state; what cannot be read or has failed says why.

    Args:
        rows: as `headway.sweeps.table` gives them.
        folder: that they lie in; runs deeper inside are named with the folders between.
        where: the conditions that they were to meet.
    """
    nothing = f"no run here is {' and '.join(where)}" if where else NOTHING
    shown = columns(("run", "status"), ("step", "val loss", "circuit", "time"), wrap=False)
    shown.columns[0].no_wrap, shown.columns[0].overflow = False, "fold"
    for row in (row for row in rows if row["status"] != "unreadable"):
        loss, heads, seconds = row["val_loss"], row["useful_heads"], row["seconds"]
        shown.add_row(
            Text(_name(row, folder)),
            row["status"],
            str(row["step"]),
            "-" if loss is None else f"{loss:.4f}",
            "-" if heads is None else f"{heads} heads",
            "-" if seconds is None else duration(seconds),
        )
    out = console()
    out.print(shown if rows else nothing)
    for row in rows:
        if row["status"] == "failed" and row["message"]:
            told = without_folder(row["message"], Path(row["folder"]))
            out.print(f"{_name(row, folder)}: {told}")
        if row["status"] == "unreadable":
            out.print(f"unreadable: {row['message']}")


def without_folder(message: str, folder: Path) -> str:
    """A run's message where the run is named anyway."""
    return message.replace(f" in {folder.absolute()}", "").replace(f" in {folder}", "")


def _name(row: dict[str, Any], folder: Path) -> str:
    path = Path(row["folder"])
    inside = path != folder and path.is_relative_to(folder)
    return str(path.relative_to(folder)) if inside else path.name


def note_older_report(run: Run) -> None:
    """Tells that a run's report is older than what has just been found out about it, if it is."""
    if (run.folder / "report.html").exists():
        say(f"its report is older; draw it again: {command('report', run.folder)}")


def print_comparison(comparison: Comparison, names: Sequence[str]) -> None:
    """What circuits share and where they differ: a row per relation, a column per run."""
    out = console()
    table = columns(("relation", *map(str, range(1, len(names) + 1))))
    for relation, by in comparison.heads.items():
        table.add_row(relation, *(" ".join(map(name_of, heads)) or "-" for heads in by))
    title = "side by side: the heads that attend along each relation"
    out.rule(Text(title, style="bold"), align="left")
    for number, name in enumerate(names, start=1):
        out.print(f"{number}: {name}")
    out.print(table)
    out.print("in all: " + (", ".join(comparison.shared) or "no relation"))
    firsts = {tuple(first) for first in comparison.first}
    alike = "the same relations in all runs" if len(firsts) == 1 else "not the same in all runs"
    out.print(f"the first useful layer attends along {alike}")
    out.print(f"mean Jaccard index of two runs' relations: {comparison.likeness:.2f}")
