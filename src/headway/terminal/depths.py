"""Depth against layers on the terminal: what trained models did beside what the theory allows."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from rich.table import Table
from rich.text import Text

from headway.papers.depths import SOLVED, Cell, least_that_solved, trained
from headway.terminal.base import console, duration


def print_depths(cells: Sequence[Cell]) -> None:
    """One table for everything else that was varied: a line a depth, a column a number of layers.

    Args:
        cells: sorted as `headway.papers.depths.results` gives them.
    """
    out = console()
    for _, group in groupby(cells, key=lambda cell: str(cell.rest)):
        same = list(group)
        changes = ", ".join(f"{name}={value}" for name, value in same[0].rest.items())
        out.print(
            f"Solved, by retrieval steps and layers{f'; {changes}' if changes else ''}",
            style="bold",
        )
        out.print(_table(same))
        for depth, least, once, always in least_that_solved(same):
            out.print(
                f"D={depth}: the theory's least {least}; first solved with {once or 'none'},"
                f" by every seed with {always or 'none'}"
            )
        wrong = [cell for cell in same if cell.contradicts]
        runs = sum(cell.runs for cell in same)
        out.print(
            f"{len(wrong)} of {len(same)} cells hold more than the theory allows"
            if wrong
            else f"None of {runs} runs learnt a hop that the theory rules out."
        )
    out.print(
        f"solved: MSE < {SOLVED}; x_j: the furthest hop learnt by most; "
        f"( ): too few layers by the theory; a run took {_times(cells)}"
    )


def draw_depths(cells: Sequence[Cell], figure: Path) -> None:
    """Draws the theory's curves and the trained models into a file, .svg or .png."""
    from headway.report import depth_plot
    from headway.report.figures import save_figure

    deepest = max(16, *(cell.depth for cell in cells))
    drawn = depth_plot.draw_depths(deepest, trained(cells))
    save_figure(drawn, figure, "Least layers against retrieval steps, and trained models")
    print(f"drawn in {figure}")


def _table(cells: Sequence[Cell]) -> Table:
    layers = sorted({cell.layers for cell in cells})
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for count in layers:
        table.add_column(f"{count} layer{'s' if count > 1 else ''}", justify="right", no_wrap=True)
    by_place = {(cell.depth, cell.layers): cell for cell in cells}
    for depth in sorted({cell.depth for cell in cells}):
        row = [by_place.get((depth, count)) for count in layers]
        table.add_row(f"D={depth}", *(_said(cell) for cell in row))
    return table


def _said(cell: Cell | None) -> Text:
    if cell is None:
        return Text("")
    hops = sorted(cell.learnt)[len(cell.learnt) // 2]
    text = f"{cell.solved}/{cell.runs}"
    if cell.solved < cell.runs:
        text += f" x_{hops}" if hops else " –"
    style = "red" if cell.contradicts else "green" if cell.solved == cell.runs else ""
    return Text(
        text if cell.enough else f"({text})", style=style or ("dim" if not cell.enough else "")
    )


def _times(cells: Sequence[Cell]) -> str:
    times = [cell.seconds for cell in cells]
    return f"{duration(min(times))} to {duration(max(times))}"
