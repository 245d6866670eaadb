"""A table of runs and their state."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from headway.terminal.base import console
from headway.text import duration

NOTHING = "no runs here yet: headway train makes one"


def print_runs(rows: Sequence[dict[str, Any]], folder: Path, where: Sequence[str] = ()) -> None:
    """A table of runs and their state; what cannot be read or has failed says why.

    Args:
        rows: as `headway.sweeps.table` gives them.
        folder: that they lie in; runs deeper inside are named with the folders between.
        where: the conditions that they were to meet.
    """
    nothing = f"no run here is {' and '.join(where)}" if where else NOTHING
    shown = Table(box=None, pad_edge=False)
    shown.add_column("run", overflow="fold")
    for title in ("status", "step", "val loss", "circuit", "time"):
        justify = "left" if title == "status" else "right"
        shown.add_column(title, justify=justify, no_wrap=True)
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
