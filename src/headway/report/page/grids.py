"""A grid of shaded cells: one thing down, another across, in every cell words and a share."""

from collections.abc import Sequence
from dataclasses import dataclass

from headway.report.page.html import escape, tag


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        html: what stands in it.
        share: how dark it is, from 0 to 1; none for a cell without data.
        kind: further classes, in one word or several.
    """

    html: str
    share: float | None
    kind: str = ""


def grid(
    down: tuple[str, Sequence[str]],
    across: tuple[str, Sequence[str]],
    cells: Sequence[Sequence[Cell]],
    label: str,
) -> str:
    """A grid that scrolls sideways by itself where it is too wide.

    Args:
        down: what the rows are, and each of them, as HTML.
        across: the same of the columns.
        cells: row by row.
        label: what the grid shows, for those who do not see it.
    """
    (rows, row_names), (columns, column_names) = down, across
    corner = f"{columns} →<br>{rows} ↓"
    top = tag("th", corner) + "".join(tag("th", name, scope="col") for name in column_names)
    body = "".join(
        tag("tr", tag("th", name, scope="row") + "".join(map(_cell, line)))
        for name, line in zip(row_names, cells, strict=True)
    )
    caption = f'<caption class="unseen">{escape(label)}</caption>'
    inner = f"{caption}<thead>{tag('tr', top)}</thead><tbody>{body}</tbody>"
    box = {"tabindex": "0", "role": "group", "aria_label": label}
    return tag("div", tag("table", inner, class_="cellgrid"), class_="scroll", **box)


def _cell(cell: Cell) -> str:
    if cell.share is None:
        return tag("td", cell.html, class_=f"empty {cell.kind}".strip())
    style = {"style": f"--share:{cell.share:.3f}"}
    return tag("td", cell.html, **({"class_": cell.kind} if cell.kind else {}), **style)
