"""Asking language models on the terminal: how far it is, and accuracies with their intervals."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.live import Live
from rich.table import Table
from rich.text import Text

from headway.language.accuracy import Cell
from headway.terminal.base import console
from headway.text import duration


def print_cells(cells: Sequence[Cell]) -> None:
    """A row a cell: the accuracies, never mixed, beside what guessing gets."""
    out = console()
    sampled = any(cell.sampled is not None or cell.unanswered is not None for cell in cells)
    table = Table(box=None, pad_edge=False)
    table.add_column("formulation")
    for name in ("D", "n", "argmax", "expected", *(("sampled",) if sampled else ())):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("chance", "majority"):
        table.add_column(name, justify="right", style="dim")
    for cell in cells:
        shares = [_share(cell, name) for name in ("argmax", "expectation")]
        if sampled:
            shares.append(_share(cell, "sampled"))
        nearer = "" if cell.nearer == cell.chance else f" ({cell.nearer:.2f})"
        told = (f"{cell.chance:.2f}{nearer}", f"{cell.majority:.2f}")
        table.add_row(cell.formulation, str(cell.depth), str(cell.count), *shares, *told)
    out.print(table)
    out.print("after each share its 95 % interval (Wilson)", style="dim")
    for cell in cells:
        if cell.unanswered is not None:
            draws = "" if cell.draws is None else f", {cell.draws:.0f} draws a question"
            out.print(
                f"sampled, {cell.formulation} D={cell.depth}: of {cell.drawn} questions"
                f" {cell.unanswered:.0%} never answered{draws}",
                style="dim",
            )


def _share(cell: Cell, name: str) -> str:
    value, interval = getattr(cell, name), cell.interval(name)
    return "–" if value is None or interval is None else f"{value:.2f} {_range(*interval)}"


def _range(low: float, high: float) -> str:
    return f"{low:.2f}–{high:.2f}".replace("0.", ".")


@contextmanager
def asking() -> Iterator[Callable[[int, int], None]]:
    """Follows an asking: how many questions, and the time left; on a terminal in place."""
    with counting("asked") as watch:
        yield watch


@contextmanager
def counting(done_is: str) -> Iterator[Callable[[int, int], None]]:
    """Follows what is done one by one, under a word for it: how many, and the time left."""
    start, first, last = 0.0, None, 0.0

    with Live(console=console(), auto_refresh=False, transient=True) as live:

        def watch(done: int, total: int) -> None:
            nonlocal start, first, last
            now, in_place = time.perf_counter(), sys.stdout.isatty()
            if first is None:  # loading came before it, so that its own time is not known
                start, first = now, done
            elif now - last < (0.5 if in_place else 30.0) and done < total:
                return
            last = now
            line = f"{done_is} {done} of {total}"
            if first < done < total:
                pace = (now - start) / (done - first)
                line += f"; about {duration(pace * (total - done))} left"
            if in_place:
                live.update(Text(line), refresh=True)
            else:
                print(line, flush=True)

        yield watch
