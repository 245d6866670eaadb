"""A table of runs and their state."""

from rich.table import Table
from rich.text import Text

from headway.errors import HeadwayError
from headway.terminal.base import console, duration
from headway.training import Run
from headway.training.files import clear_content_errors


def print_runs(runs: list[Run | HeadwayError]) -> None:
    """A table of runs and their state; folders that cannot be read say why."""
    table = Table(box=None, pad_edge=False)
    for title in ("run", "status", "step", "val MSE", "circuit", "time"):
        table.add_column(title, justify="left" if title in ("run", "status") else "right")
    unreadable: list[HeadwayError] = []
    for run in runs:
        if isinstance(run, HeadwayError):
            unreadable.append(run)
            continue
        try:
            metrics, found, status = run.metrics(), run.read("circuit.json"), run.status
            with clear_content_errors(run.folder / "circuit.json"):
                circuit = "-" if found is None else f"{found['useful_heads']} heads"
        except HeadwayError as error:
            unreadable.append(error)
            continue
        last = metrics[-1] if metrics else None
        table.add_row(
            Text(run.folder.name),
            status,
            str(last["step"]) if last else "0",
            f"{last['val_loss']:.4f}" if last else "-",
            circuit,
            duration(last["seconds"]) if last else "-",
        )
    out = console()
    out.print(table if table.row_count else "no runs here yet: headway train makes one")
    for error in unreadable:
        out.print(f"unreadable: {error}", markup=False)
