"""A grid of shaded cells: one thing down, another across, in every cell words and a share."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from headway.report.page.html import tag


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        content: what stands in it.
        share: how dark it is, from 0 to 1; None for a cell without data.
        kind: further classes, in one word or several.
    """

    content: str
    share: float | None
    kind: str = ""


def grid(
    down: tuple[str, Sequence[str]],
    across: tuple[str, Sequence[str]],
    cells: Sequence[Sequence[Cell]],
    label: str,
) -> Markup:
    """A grid that scrolls sideways by itself where it is too wide.

    Args:
        down: what the rows are, and each of them.
        across: the same of the columns.
        cells: row by row.
        label: what the grid shows, for those who do not see it.
    """
    (rows, row_names), (columns, column_names) = down, across
    corner = tag("th", f"{columns} →", tag("br"), f"{rows} ↓")
    top = tag("tr", corner, [tag("th", name, scope="col") for name in column_names])
    body = [
        tag("tr", tag("th", name, scope="row"), map(_cell, line))
        for name, line in zip(row_names, cells, strict=True)
    ]
    caption = tag("caption", label, class_="unseen")
    table = tag("table", caption, tag("thead", top), tag("tbody", body), class_="cellgrid")
    return tag("div", table, class_="scroll", tabindex="0", role="group", aria_label=label)


def _cell(cell: Cell) -> Markup:
    if cell.share is None:
        return tag("td", cell.content, class_=f"empty {cell.kind}".strip())
    return tag("td", cell.content, class_=cell.kind or None, style=f"--share:{cell.share:.3f}")
