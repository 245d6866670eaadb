"""Accuracies of a language model as a table on the terminal."""

from collections.abc import Sequence

from headway.terminal import columns, console
from headway_experiments.language.accuracy import Cell


def print_cells(cells: Sequence[Cell]) -> None:
    """Accuracies of a language model, a row per cell, beside those of guessing."""

    def share(cell: Cell, name: str) -> str:
        low, high = cell.interval(name)
        return f"{getattr(cell, name):.2f} " + f"{low:.2f}–{high:.2f}".replace("0.", ".")

    rows = [
        (
            *(cell.formulation, cell.depth, cell.count),
            *(share(cell, name) for name in ("argmax", "expectation")),
            f"{cell.chance:.2f}" + f" ({cell.nearer:.2f})" * (cell.nearer != cell.chance),
            f"{cell.majority:.2f}",
        )
        for cell in cells
    ]
    out = console()
    numbers = ("D", "n", "argmax", "expected", "chance", "majority")
    out.print(columns(("formulation",), numbers, rows))
    out.print("after each share its 95 % interval (Wilson)", style="dim")
