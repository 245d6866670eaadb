"""Pieces of HTML. What is called `text` is escaped here; `html` is taken as it is."""

import html
import re
from collections.abc import Iterable, Sequence

from headway.report.labels import rounded


def escape(text: object) -> str:
    """Any value as text that HTML shows as it stands."""
    return html.escape(str(text))


def named(name: str) -> str:
    """A name of the code as it is printed: `x_1` and `s2→s1` with subscripts."""
    return re.sub(r"\b([a-z])_?(\d+)\b", r"\1<sub>\2</sub>", html.escape(name, quote=False))


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


def tag(name: str, html: str, **attributes: str) -> str:
    """An element. Attributes are escaped; `class_` stands for `class`, `aria_x` for `aria-x`."""
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
    )
    return f"<{name}{pairs}>{html}</{name}>"


def path_tag(relation: str) -> str:
    """A path's relation, which the page can find by its name."""
    return f'<span class="path" data-path="{escape(relation)}">{named(relation)}</span>'


def where(head: Sequence[int | str], several_heads: bool) -> str:
    """Where a head stands: its layer, and its number if layers have several. A path will do too."""
    return f"layer {head[0]}" + (f" head {head[1]}" if several_heads else "")


def place_of(path: tuple[int, int, str], several_heads: bool) -> str:
    """A path with the layer (and head) that it belongs to."""
    return f"{where(path, several_heads)} {path_tag(path[2])}"


def counted(number: int, thing: str) -> str:
    """So many of a thing, the thing in its plural if need be."""
    return f"{number} {thing}" + ("" if number == 1 else "s")


def listed(parts: Iterable[str], word: str = "and") -> str:
    """At least one part, as an enumeration."""
    *first, last = parts
    return f"{', '.join(first)} {word} {last}" if first else last


def table(head: Sequence[str], rows: Iterable[Sequence[str]], label: str) -> str:
    """A table that scrolls sideways by itself where it is too wide.

    Args:
        head: the columns' names, as text.
        rows: cells, as HTML.
        label: what the table shows, for those who do not see it.
    """
    top = "".join(tag("th", escape(name), scope="col") for name in head)
    body = "".join("<tr>" + "".join(tag("td", cell) for cell in row) + "</tr>\n" for row in rows)
    inner = f"<table><thead><tr>{top}</tr></thead>\n<tbody>\n{body}</tbody></table>"
    return tag("div", inner, class_="scroll", tabindex="0", role="group", aria_label=label)


def section(name: str, number: int, title: str, html: str) -> str:
    """A numbered section of the page with an anchor."""
    heading = f'<h2><span class="no">{number}</span> {escape(title)}</h2>'
    return tag("section", f"\n{heading}\n{html}\n", id=name, aria_label=title) + "\n"


def figure(svg_html: str, alt: str, caption_html: str, least_width: int = 560) -> str:
    """An inline SVG on a white card, with its description for those who do not see it.

    Args:
        svg_html: from `inline_svg`.
        alt: what the figure shows, as text.
        caption_html: printed below.
        least_width: pixels under which the card scrolls rather than shrinks the figure.
    """
    image = tag("div", svg_html, role="img", aria_label=alt, style=f"min-width:{least_width}px")
    card = tag("div", image, class_="card", tabindex="0")
    return tag("figure", card + tag("figcaption", caption_html))


def inline_svg(svg: str, prefix: str) -> str:
    """An SVG file of ours as an element of an HTML page.

    Names inside get a prefix, so that several figures can stand on a page; the size is left to
    the page; and the file's style rule, which would reach the whole page, becomes an attribute.
    """
    element = svg[svg.index("<svg") :]
    opening, inner = element.split(">", 1)
    found = re.search(r'viewBox="0 0 ([\d.]+) ', opening)
    width = 4 / 3 * float(found[1]) if found else 900
    view = re.search(r'viewBox="[^"]*"', opening)
    for unwanted in (
        r"<defs>\s*<style.*?</style>\s*</defs>",
        "<title.*?/title>",
        "<metadata.*?/metadata>",
    ):
        inner = re.sub(unwanted, "", inner, count=1, flags=re.DOTALL)
    inner = re.sub(r"<!--.*?-->\s*", "", inner, flags=re.DOTALL)
    inner = re.sub(r'\bid="', f'id="{prefix}-', inner)
    inner = re.sub(r"url\(#", f"url(#{prefix}-", inner)
    inner = re.sub(r'xlink:href="#', f'href="#{prefix}-', inner).replace("xlink:href", "href")
    look = f"max-width:{width:.0f}px;stroke-linejoin:round;stroke-linecap:butt"
    return f'<svg {view[0] if view else ""} style="{look}" aria-hidden="true">{inner}'.strip()
