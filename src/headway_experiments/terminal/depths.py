"""Depth against layers on the terminal: what trained models did beside what the theory allows."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from rich.table import Table
from rich.text import Text

from headway.terminal import columns, console, draw
from headway.text import duration
from headway_experiments.depths import SOLVED, Cell, trained


def print_depths(cells: Sequence[Cell]) -> None:
    """One table per combination of other fields: a line per depth, a column per number of layers.

    Args:
        cells: as `headway_experiments.depths.results` gives them.
    """
    out = console()
    for _, group in groupby(cells, key=lambda cell: cell.rest):
        same = list(group)
        changes = [f"{name}={value}" for name, value in same[0].rest.items()]
        out.print(", ".join(["Solved, by retrieval steps and layers", *changes]), style="bold")
        out.print(_table(same))
        for depth, row in groupby(same, key=lambda cell: cell.depth):
            out.print(_least(depth, list(row)))
        wrong = [f"D={cell.depth} with {cell.layers}" for cell in same if cell.contradicts]
        if wrong:
            out.print(f"A hop that the theory rules out was learnt at {', '.join(wrong)}.")
        else:
            runs = sum(len(cell.learnt) for cell in same)
            out.print(f"None of {runs} runs learnt a hop that the theory rules out.")
    times = [seconds for cell in cells for seconds in cell.seconds]
    out.print(
        f"solved: MSE below {SOLVED}; x_j: the furthest hop that most have learnt; ( ): too few"
        " layers by the theory; ✗: failed, or not done"
        + (f"; a run took {duration(min(times))} to {duration(max(times))}" if times else "")
    )


def draw_depths(cells: Sequence[Cell], figure: Path) -> None:
    """Draws the theory's curves and the trained models into a file, .svg or .png."""
    from headway.report.figures import depth_plot

    deepest = max([8, *(cell.depth for cell in cells)])
    drawn = depth_plot.draw_depths(deepest, trained(cells))
    draw(drawn, figure, "Least layers against retrieval steps, and trained models")


def _least(depth: int, row: Sequence[Cell]) -> str:
    once = next((str(cell.layers) for cell in row if cell.solved), "none")
    always = next((str(cell.layers) for cell in row if cell.solved == cell.runs), "none")
    least = "none is enough" if row[0].least is None else f"least {row[0].least}"
    return (
        f"D={depth}: by the theory {least}; first solved with {once}, by every seed with {always}"
    )


def _table(cells: Sequence[Cell]) -> Table:
    """Layers down, depths across: of these there are seldom many."""
    depths = sorted({cell.depth for cell in cells})
    layers = sorted({cell.layers for cell in cells})
    by_place = {(cell.depth, cell.layers): cell for cell in cells}
    table = columns((), ("layers", *(f"D={depth}" for depth in depths)))
    for count in layers:
        table.add_row(str(count), *(_said(by_place.get((depth, count))) for depth in depths))
    return table


def _said(cell: Cell | None) -> Text:
    if cell is None:
        return Text("")
    text = f"{cell.solved}/{cell.runs}"
    if cell.learnt and cell.solved < cell.runs:
        hops = sorted(cell.learnt)[(len(cell.learnt) - 1) // 2]
        text += f" x_{hops}" if hops else " –"
    if cell.failed:
        text += f" {cell.failed}✗"
    if cell.contradicts:
        return Text(text, style="red")
    if not cell.enough:
        return Text(f"({text})", style="dim")
    return Text(text, style="green" if cell.solved == cell.runs else "")
