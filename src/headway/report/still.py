"""The page where no script runs: its picture, and the table of its runs, as markup."""

import base64
from html import escape
from importlib.util import find_spec

from headway.report.cells import picture
from headway.report.labels import plain
from headway.report.schema import Cell, RunsPage, Table
from headway.text import rounded
from headway.training import Run

STYLE = (
    "<style>body{max-width:60em;margin:0 auto;padding:12px;font:15px/1.5 sans-serif}"
    "img{max-width:100%;background:#fff}"
    "td,th{padding:2px 12px 2px 0;text-align:left}</style>"
)

MOST_DRAWN = 24
"""Of more runs, losses are not drawn: too many lines to be told apart."""

COLUMNS = 3
"""Columns of the table of runs that are shown: run, status, loss."""


def still_of_run(run: Run) -> str:
    """The circuit of a run, or its losses."""
    return STYLE + _image(picture(run, "svg"), "the circuit, or the losses by step")


def still_of_runs(page: RunsPage) -> str:
    """The losses of several runs, and the table of their states."""
    drawing = _image(_losses(page), "validation loss of every run by step")
    return STYLE + drawing + "".join(map(_table, page.tables))


def _image(data: str | None, about: str) -> str:
    """A drawing, SVG in base64; nothing if there is none."""
    if data is None:
        return ""
    return f'<p><img alt="{about}" src="data:image/svg+xml;base64,{data}"></p>'


def _losses(page: RunsPage) -> str | None:
    """The losses of runs as SVG in base64; None without matplotlib or any loss."""
    if len(page.curves) > MOST_DRAWN or find_spec("matplotlib") is None:
        return None
    if not any(curve.points for curve in page.curves):
        return None
    from headway.report.figures.drawing import draw_runs
    from headway.report.figures.style import svg_bytes

    figure = draw_runs(page.curves, page.threshold)
    return base64.b64encode(svg_bytes(figure, "headway")).decode()


def _table(table: Table) -> str:
    """The first columns of a table."""
    head = _row("th", table.head)
    rows = [_row("td", row) for row in table.rows]
    return f"<table>{head}{''.join(rows)}</table>"


def _row(tag: str, cells: list[Cell] | list[str]) -> str:
    """The first cells of a row."""
    shown = [escape(plain(_said(cell))) for cell in cells[:COLUMNS]]
    return f"<tr>{''.join(f'<{tag}>{text}</{tag}>' for text in shown)}</tr>"


def _said(cell: Cell) -> str:
    if cell is None:
        return "—"
    return rounded(cell) if isinstance(cell, float) else str(cell)
