"""Tables of a page, and the words that stand in their cells."""

from collections.abc import Iterable, Sequence

from headway.paths import Path
from headway.report.labels import typeset
from headway.report.schema import Cell, Section, Table
from headway.text import enumerated


def table(
    title: str,
    head: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    keys: Iterable[str] = (),
    note: str = "",
) -> Table:
    """A table (see `schema.Table`)."""
    return Table(title, list(head), [list(row) for row in rows], list(keys), note)


def section(
    name: str, title: str, tables: Iterable[Table] = (), sentences: Iterable[str] = ()
) -> Section:
    """A part of the closed part of a page (see `schema.Section`)."""
    return Section(name, title, [typeset(one) for one in sentences], list(tables))


def listed(paths: Iterable[Path], without: str = "–") -> str:
    """Paths as an enumeration, or a word if there is none."""
    names = [typeset(str(path)) for path in paths]
    return enumerated(names) if names else without


def sentence(text: str) -> str:
    """Words as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."
