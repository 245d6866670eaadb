"""A contest on the terminal: a line for every score, then the table."""

from collections.abc import Sequence

from headway.arena.contest import Row
from headway.arena.table import lines
from headway.terminal.base import columns, console
from headway.text import width

SHOWN = {
    "heads AUROC": "heads",
    "paths AUROC": "paths",
    "paths AP": "AP",
    "F1, true size": "F1",
    "exact": "exact",
    "faithfulness": "faithful",
}
"""The columns that 80 letters have room for."""

LEAST = "F1", "heads", "exact", "s", "passes", "faithful", "paths"
"""Which of them are left out of a narrower terminal, the first one first."""


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
    told: dict[str, list[str]] = {name: [] for name in ("method", *SHOWN.values(), "passes", "s")}
    before = None
    for line in lines(rows):
        if line.family != before:
            for name, cells in told.items():
                cells.append(line.family if name == "method" else "")
        before = line.family
        told["method"].append(f"  {line.method}")
        for name, short in SHOWN.items():
            one = line.values[name]
            told[short].append("" if one is None else f"{one[0]:.3f}")
        told["passes"].append(f"{line.passes:.0f}")
        told["s"].append(f"{line.seconds:.1f}")
    for name in LEAST:
        if sum(2 + max(map(len, (one, *cells))) for one, cells in told.items()) - 2 <= width():
            break
        del told[name]
    left, *right = told
    table = columns((left,), right, wrap=False)
    for cells in zip(*told.values(), strict=True):
        table.add_row(*cells)
    console().print(table)
