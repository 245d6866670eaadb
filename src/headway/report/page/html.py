"""Pieces of HTML. What is called `text` is escaped here; `html` is taken as it is."""

import html
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path as FilePath

from headway.circuits import Head, Path
from headway.report.labels import rounded


def escape(text: object) -> str:
    """Any value as text that HTML shows as it stands."""
    return html.escape(str(text))


def named(name: str) -> str:
    """A name of the code as it is printed: `x_1` and `s2←s1` with subscripts, `find^2` raised."""
    shown = re.sub(r"\b([a-z])_?(\d+)\b", r"\1<sub>\2</sub>", html.escape(name, quote=False))
    return re.sub(r"\^(\d+)", r"<sup>\1</sup>", shown)


def number(value: float | int | None) -> str:
    """A measured number to three digits, the exact value in its `data` element."""
    if value is None:
        return '<span class="none">—</span>'
    return f'<data value="{value!r}">{rounded(value)}</data>'


def change(value: float) -> str:
    """A measured difference with its sign, nothing below 0.0005."""
    shown = "±0" if abs(value) < 0.0005 else f"{'+' if value > 0 else '−'}{rounded(abs(value))}"
    return f'<data value="{value!r}">{shown}</data>'


def whole(value: float | int | None) -> str:
    """A step or a count, rounded, with thousands set apart; the exact value in its element."""
    if value is None:
        return '<span class="none">not yet</span>'
    return f'<data value="{value!r}">{value:,.0f}</data>'


VOID = ("input", "br")
"""Elements that have no end tag."""


def tag(name: str, html: str, **attributes: str) -> str:
    """An element. Attributes are escaped; `class_` stands for `class`, `aria_x` for `aria-x`."""
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
    )
    return f"<{name}{pairs}>" if name in VOID else f"<{name}{pairs}>{html}</{name}>"


def command(folder: FilePath, verb: str) -> str:
    """The command line that runs a verb on a run's folder."""
    shown = folder.name if folder.is_absolute() else folder
    return f"<code>headway {verb} {escape(shlex.quote(str(shown)))}</code>"


def missing(html: str) -> str:
    """A paragraph about what the folder lacks, and how to come by it."""
    return tag("p", html, class_="missing")


def path_key(path: Path) -> str:
    """What a path is called in `data-path`, by which the page finds all that belongs to it."""
    return f"{path.layer}.{path.head}.{path.relation}"


def path_tag(path: Path) -> str:
    """A path's relation; pointed at, the path lights up wherever it is shown."""
    return f'<span class="path" data-path="{escape(path_key(path))}">{named(path.relation)}</span>'


def where(head: Head, several_heads: bool) -> str:
    """Where a head stands: its layer, and its number if layers have several."""
    return f"layer {head[0]}" + (f" head {head[1]}" if several_heads else "")


def place_of(path: Path, several_heads: bool) -> str:
    """A path with the layer (and head) that it belongs to."""
    return f"{where(path.at, several_heads)} {path_tag(path)}"


def counted(number: int, thing: str) -> str:
    """So many of a thing, the thing in its plural if need be."""
    return f"{number} {thing}" + ("" if number == 1 else "s")


def listed(parts: Iterable[str], word: str = "and") -> str:
    """At least one part, as an enumeration."""
    *first, last = parts
    return f"{', '.join(first)} {word} {last}" if first else last


def plain_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table and nothing around it: the columns' names as text, the cells as HTML."""
    top = "".join(tag("th", escape(name), scope="col") for name in head)
    body = "".join("<tr>" + "".join(tag("td", cell) for cell in row) + "</tr>\n" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead>\n<tbody>\n{body}</tbody></table>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], label: str) -> str:
    """A table that scrolls sideways by itself where it is too wide.

    Args:
        head: the columns' names, as text.
        rows: cells, as HTML.
        label: what the table shows, for those who do not see it.
    """
    return tabled(plain_table(head, rows), label)


def tabled(html: str, label: str) -> str:
    """A table in its box, with a button that copies it; `label` as above."""
    box = tag("div", html, class_="scroll", tabindex="0", role="group", aria_label=label)
    keep = tag("button", "CSV", type="button", class_="keep", title="copy this table as CSV")
    return tag("div", keep + box, class_="tabled")


def section(name: str, title: str, html: str) -> str:
    """A section of the page with an anchor; the style sheet numbers them."""
    heading = f"<h2>{escape(title)}</h2>"
    return tag("section", f"\n{heading}\n{html}\n", id=name, aria_label=title) + "\n"


def figure(html: str, caption_html: str, name: str) -> str:
    """A figure on a card, with its caption and a button that keeps it as SVG.

    Args:
        html: the figure; what needs describing for those who do not see it carries its own label.
        caption_html: printed below.
        name: of the file to keep it in, without ending.
    """
    keep = tag("button", "SVG", type="button", class_="keep", title="keep this figure as SVG")
    card = tag("div", html, class_="card", tabindex="0", role="group", aria_label=name)
    return tag("figure", keep + card + tag("figcaption", caption_html), data_name=name)
