"""Accuracies of language models on the terminal, with their intervals."""

from collections.abc import Sequence

from headway.language.accuracy import Cell
from headway.terminal.base import columns, console


def print_cells(cells: Sequence[Cell]) -> None:
    """A row per cell: its accuracies, beside that of guessing."""
    out = console()
    sampled = any(cell.sampled is not None or cell.unanswered is not None for cell in cells)
    shares = ("argmax", "expected", *(("sampled",) if sampled else ()))
    table = columns(("formulation",), ("D", "n", *shares), wrap=False)
    for name in ("chance", "majority"):
        table.add_column(name, justify="right", style="dim")
    for cell in cells:
        shares = [_share(cell, name) for name in ("argmax", "expectation")]
        if sampled:
            shares.append(_share(cell, "sampled"))
        nearer = "" if cell.nearer == cell.chance else f" ({cell.nearer:.2f})"
        told = (f"{cell.chance:.2f}{nearer}", f"{cell.majority:.2f}")
        table.add_row(cell.formulation, str(cell.depth), str(cell.count), *shares, *told)
    out.print(table)
    out.print("after each share its 95 % interval (Wilson)", style="dim")
    for cell in cells:
        if cell.unanswered is not None:
            draws = "" if cell.draws is None else f", {cell.draws:.0f} draws a question"
            out.print(
                f"sampled, {cell.formulation} D={cell.depth}: of {cell.drawn} questions"
                f" {cell.unanswered:.0%} never answered{draws}",
                style="dim",
            )


def _share(cell: Cell, name: str) -> str:
    value, interval = getattr(cell, name), cell.interval(name)
    return "–" if value is None or interval is None else f"{value:.2f} {_range(*interval)}"


def _range(low: float, high: float) -> str:
    return f"{low:.2f}–{high:.2f}".replace("0.", ".")
