"""The terminal, at most 80 columns wide, and files that can be written."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import MappingProxyType

from rich.table import Table
from rich.text import Text

from headway.console import console
from headway.errors import require
from headway.reading import clear_io_errors, is_folder
from headway.text import wrapped

INDENT = " " * 11


LOOKS = {True: "green", False: "bold red", None: "yellow"}
"""The look of a verdict, where there are colours."""


def print_part(
    title: str, *lines: str, looks: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Print lines beside their title, broken where they are full.

    Args:
        title: of the part.
        lines: of text.
        looks: of words in the last line.
    """
    broken = [part for line in lines for part in wrapped(line or "-", INDENT, INDENT)]
    head = title.ljust(len(INDENT))
    body = "\n".join(broken).removeprefix(INDENT)
    text = Text.assemble((head, "bold"), body)
    for words, look in looks.items():
        start = text.plain.rfind(words)
        if start >= 0:
            text.stylize(look, start, start + len(words))
    console().print(text)


def columns(
    left: Sequence[str],
    right: Sequence[str] = (),
    rows: Iterable[Sequence[object]] = (),
    wrap: bool = False,
) -> Table:
    """A table without lines.

    Args:
        left: names of its first columns.
        right: names of the others, which are set to the right.
        rows: a cell for every column.
        wrap: whether all cells may take several lines; else those of the first column
            alone.
    """
    table = Table(box=None, pad_edge=False)
    for i, name in enumerate((*left, *right)):
        side = "left" if i < len(left) else "right"
        table.add_column(
            name, justify=side, no_wrap=i > 0 and not wrap, overflow="fold"
        )
    for row in rows:
        table.add_row(*map(str, row))
    return table


def require_file(path: Path, endings: Sequence[str]) -> None:
    """Makes sure that a file can be written, before any work is done for it.

    Raises:
        HeadwayError: if its name ends otherwise or is that of a folder, or its own
            folder is not there or takes no file of this name.
    """
    allowed = f"one that ends in {' or '.join(endings)}"
    require(path.suffix in endings, "file", str(path), allowed)
    require(is_folder(path.parent), "file", str(path), "in a folder that exists")
    require(not is_folder(path), "file", str(path), "a file, not a folder")
    name = f".{path.name}.draft-"
    with (
        clear_io_errors(path, "write"),
        NamedTemporaryFile(prefix=name, dir=path.parent),
    ):
        pass
