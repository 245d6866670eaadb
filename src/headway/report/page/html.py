"""Pieces of HTML. They are `Markup`; all other text is escaped wherever it goes in."""

import re
import shlex
from collections.abc import Iterable
from pathlib import Path as FilePath

from markupsafe import Markup, escape

from headway.circuits import Path
from headway.text import rounded

VOID = ("input", "br", "meta")
"""Elements that have no end tag."""

NONE = Markup('<span class="none">—</span>')
"""Stands for what is not there."""


def joined(*content: object) -> Markup:
    """Pieces one after the other, of lists their members; text is escaped, None is nothing."""
    pieces = []
    for piece in content:
        if isinstance(piece, Iterable) and not isinstance(piece, str):
            pieces.append(joined(*piece))
        elif piece is not None:
            pieces.append(escape(piece))
    return Markup("".join(pieces))


def tag(element: str, /, *content: object, **attributes: object) -> Markup:
    """An element of some content, as `joined` takes it.

    Attributes are text, and escaped; `class_` stands for `class`, `aria_x` for `aria-x`. Those
    that are None are left out; floats are coordinates, written to two places after the point.
    """
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_written(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    start = f"<{element}{pairs}>"
    return Markup(start if element in VOID else f"{start}{joined(*content)}</{element}>")


def _written(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def data_attributes(key: dict[str, str]) -> dict[str, str]:
    """Names and values as attributes `data-…` of `tag`."""
    return {f"data_{name}": value for name, value in key.items()}


def named(name: str) -> Markup:
    """A name of the code as it is printed: `x_1` and `s2←s1` with subscripts, `find^2` raised."""
    shown = re.sub(r"\b([a-z])_?(\d+)\b", r"\1<sub>\2</sub>", str(escape(name)))
    return Markup(re.sub(r"\^(\d+)", r"<sup>\1</sup>", shown))


def exact(value: float, shown: str) -> Markup:
    """A number as it is printed, with its exact value in its `data` element."""
    return tag("data", shown, value=repr(value))


def number(value: float | None) -> Markup:
    """A measured number to three digits; a dash if there is none."""
    return NONE if value is None else exact(value, rounded(value))


def change(value: float) -> Markup:
    """A measured difference with its sign, nothing below 0.0005."""
    sign = "+" if value > 0 else "−"
    return exact(value, "±0" if abs(value) < 0.0005 else f"{sign}{rounded(abs(value))}")


def whole(value: float | None, without: str = "not yet") -> Markup:
    """A step or a count, rounded, with thousands set apart; if there is none, words for that."""
    if value is None:
        return tag("span", without, class_="none")
    return exact(value, f"{value:,.0f}")


def command(folder: FilePath, verb: str) -> Markup:
    """The command line that runs a verb on a run's folder."""
    shown = folder.name if folder.is_absolute() else folder
    return tag("code", f"headway {verb} {shlex.quote(str(shown))}")


def path_key(path: Path) -> str:
    """What a path is called in `data-path`, by which the page finds all that belongs to it."""
    return f"{path.layer}.{path.head}.{path.relation}"


def path_tag(path: Path) -> Markup:
    """A path by its name; under the pointer, it lights up wherever it is shown."""
    return tag("span", named(str(path)), class_="path", data_path=path_key(path))


def relation_tag(path: Path) -> Markup:
    """The same without the head, where that is named beside it."""
    return tag("span", named(path.relation), class_="path", data_path=path_key(path))


def told(text: str, paths: Iterable[Path]) -> Markup:
    """Plain text in which names have subscripts, and paths light up under the pointer."""
    known = {str(path): path for path in paths}
    longest = sorted(known, key=len, reverse=True)
    pieces = re.split(f"({'|'.join(map(re.escape, longest))})", text) if known else [text]
    return joined(path_tag(known[piece]) if piece in known else named(piece) for piece in pieces)


def listed(parts: Iterable[str], word: str = "and") -> Markup:
    """At least one part, as an enumeration."""
    *first, last = parts
    return Markup(", ").join(first) + f" {word} " + last if first else escape(last)


def row(*cells: object, **attributes: object) -> Markup:
    """A row of a table."""
    return tag("tr", (tag("td", cell) for cell in cells), **attributes)


def plain_table(head: Iterable[object], rows: Iterable[Markup] | Markup) -> Markup:
    """A table of columns' names and rows, and nothing around it."""
    top = tag("tr", (tag("th", name, scope="col") for name in head))
    return tag("table", tag("thead", top), tag("tbody", rows))
