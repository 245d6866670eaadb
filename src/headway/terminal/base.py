"""The terminal, at most 80 columns wide, and files that can be written."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import MappingProxyType
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from headway.errors import require
from headway.reading import clear_io_errors, is_folder
from headway.terminal.output import Screen, plain
from headway.text import width, wrapped

INDENT = " " * 11


def console() -> Console:
    """The terminal, at most 120 columns wide."""
    out: Any = sys.stdout
    if isinstance(out, Screen):
        out = Screen(out.stream, out.losses, drawing=True)
    return PlainConsole(
        file=out, width=width(), highlight=False, markup=False, emoji=False
    )


class PlainConsole(Console):
    """A terminal in which no text moves the cursor; displays do.

    Who has seen enough ends the program as with any other text, not as rich would.
    """

    def on_broken_pipe(self) -> None:
        """Passes on that nobody reads any more."""
        raise BrokenPipeError

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """The pieces that are shown."""
        for segment in super().render(renderable, options):
            yield (
                segment
                if segment.control
                else Segment(plain(segment.text), segment.style)
            )


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
