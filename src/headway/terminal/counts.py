"""How many minimal circuits a chain has, and how far a search for all of a model's has come."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.live import Live
from rich.table import Table
from rich.text import Text

from headway.circuits.exhaustive import Watch
from headway.terminal.base import console
from headway.text import wrapped
from headway.theory import PairOrder, count_circuits

EXACT = 10**15
"""From here on a number is said by its first digits."""


def print_counts(depths: Sequence[int], order: PairOrder) -> None:
    """How many minimal circuits there are with the fewest layers, for every depth.

    Args:
        depths: D, retrieval steps.
        order: of the pairs.

    Raises:
        HeadwayError: if a depth cannot be counted, or the order is none of so many pairs.
    """
    counts = [count_circuits(depth, order) for depth in depths]
    out = console()
    said = order if isinstance(order, str) else "pairs " + ", ".join(map(str, order))
    out.print(f"Minimal circuits for D retrieval steps, causal mask, {said}", style="bold")
    table = Table(box=None, pad_edge=False)
    for name in ("D", "layers", "paths of each", "circuits"):
        table.add_column(name, justify="right")
    for c in counts:
        number = f"{c.circuits:,}" if c.circuits < EXACT else f"{c.circuits:.3e}"
        table.add_row(str(c.depth), str(c.layers), str(c.paths), number)
    out.print(table)
    for line in (
        "layers: the fewest that do; a circuit is a set of paths (layer, who attends, to whom)",
        "minimal: the query ends with the goal, and no path can be left out; every minimal circuit"
        " has just 2D paths, so none is smaller",
    ):
        out.print("\n".join(wrapped(line)), markup=False)


@contextmanager
def exhausting() -> Iterator[Watch]:
    """Follows a search for every circuit: on a terminal in place, else a line now and then."""
    shown = time.perf_counter()
    with Live(console=console(), auto_refresh=False, transient=True) as live:

        def watch(paths: int, judged: int, found: int) -> None:
            nonlocal shown
            now, in_place = time.perf_counter(), sys.stdout.isatty()
            if now - shown < (0.5 if in_place else 10.0):
                return
            shown = now
            line = f"sets of {paths} paths: {judged} judged so far, {found} minimal circuits"
            if in_place:
                live.update(Text(line), refresh=True)
            else:
                print(line, flush=True)

        yield watch
