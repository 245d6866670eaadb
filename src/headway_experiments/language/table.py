"""Accuracies of a language model as a table on the terminal."""

from collections.abc import Sequence

from headway.terminal import columns, console
from headway_experiments.language.accuracy import Cell


def print_cells(cells: Sequence[Cell]) -> None:
    """Accuracies of a language model, a row per cell, beside those of guessing."""
    rows = []
    for cell in cells:
        chance = f"{cell.chance:.2f}"
        if cell.nearer != cell.chance:
            chance += f" ({cell.nearer:.2f})"
        place = cell.formulation, cell.depth, cell.count
        shares = _share(cell, "argmax"), _share(cell, "expectation")
        rows.append((*place, *shares, chance, f"{cell.majority:.2f}"))
    out = console()
    numbers = ("D", "n", "argmax", "expected", "chance", "majority")
    out.print(columns(("formulation",), numbers, rows))
    out.print("after each share its 95 % interval (Wilson)", style="dim")


def _share(cell: Cell, name: str) -> str:
    """A share and its interval, without zeros before the point."""
    low, high = cell.interval(name)
    interval = f"{low:.2f}–{high:.2f}".replace("0.", ".")
    return f"{getattr(cell, name):.2f} {interval}"
