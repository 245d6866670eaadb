"""A contest on the terminal: a line for every score, then the table."""

from collections.abc import Sequence

from headway.arena.contest import Row
from headway.arena.table import lines
from headway.terminal.base import columns, console

SHOWN = {
    "heads AUROC": "heads",
    "paths AUROC": "paths",
    "paths AP": "AP",
    "F1, true size": "F1",
    "exact": "exact",
    "faithfulness": "faithful",
}
"""The columns that 80 letters have room for."""


def print_row(row: Row) -> None:
    """One method on one model."""
    if row["method"] is None:
        print(f"{row['model']:<30} left out: {row['left_out']}", flush=True)
        return
    verdict = "exact" if row["exact"] else f"AP {row['paths']['precision']:.3f}"
    seconds = f"{row['seconds']:6.1f} s"
    print(
        f"{row['model']:<30.30} {row['method']:<14} {verdict:<9} {row['passes']:6.0f} passes"
        f" {seconds}",
        flush=True,
    )


def print_arena(rows: Sequence[Row]) -> None:
    """Means over the models of every family: AUROC of heads and of paths, and so on."""
    table = columns(("family", "method"), (*SHOWN.values(), "passes", "s"), wrap=False)
    before = None
    for line in lines(rows):
        cells = ["" if (one := line.values[name]) is None else f"{one[0]:.3f}" for name in SHOWN]
        family = line.family if line.family != before else ""
        before = line.family
        table.add_row(family, line.method, *cells, f"{line.passes:.0f}", f"{line.seconds:.1f}")
    console().print(table)
