"""The table of a contest in Markdown: means over the models of a family."""

from collections.abc import Callable, Sequence
from statistics import mean, median

from headway_experiments.arena.contest import Row

COLUMNS: dict[str, Callable[[Row], float | None]] = {
    "CPR": lambda row: row["curve"]["cpr"],
    "CMD": lambda row: row["curve"]["cmd"],
    "agreement": lambda row: row["curve"]["agreement"],
    "heads F1": lambda row: row["heads_f1"],
    "pairs F1": lambda row: row["pairs_f1"],
    "paths AP": lambda row: row["paths_ap"],
    "F1, own": lambda row: row["own_f1"],
}
"""The numbers that are averaged over models; None where a model or a method has nothing to tell."""


def markdown(rows: Sequence[Row]) -> str:
    """The table as Markdown, with the models that were left out and what the search missed.

    Cells are means over the models that have something to tell; passes and seconds of processor
    time are medians.
    """
    head = ["method", *COLUMNS, "exact", "passes", "seconds"]
    parts: list[str] = []
    scored = [row for row in rows if row["method"] is not None]
    for family in dict.fromkeys(row["family"] for row in scored):
        by_method: dict[str, list[Row]] = {}
        for row in (row for row in scored if row["family"] == family):
            by_method.setdefault(row["method"], []).append(row)
        parts += [f"## {family}: {max(map(len, by_method.values()))} models", ""]
        parts += [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
        for method, some in by_method.items():
            cells = [_mean([of(row) for row in some]) for of in COLUMNS.values()]
            exact = [row["exact"] for row in some if row["exact"] is not None]
            cells.append(f"{sum(exact)} of {len(exact)}" if exact else "")
            passes, seconds = (median(row[name] for row in some) for name in head[-2:])
            parts.append(f"| {method} | {' | '.join(cells)} | {passes:.0f} | {seconds:.1f} |")
        parts.append("")
    parts += ["## What the search missed", ""]
    for row in rows:
        if row["method"] == "headway" and row["exact"] is False:
            parts.append(f"- *{row['model']}* ({row['family']}): missing {_list(row['missing'])};")
            parts.append(f"  too much: {_list(row['extra'])}")
    parts += ["", "## Left out", ""]
    parts += [f"- *{row['model']}*: {row['left_out']}" for row in rows if row["method"] is None]
    return "\n".join(parts) + "\n"


def _mean(values: Sequence[float | None]) -> str:
    there = [value for value in values if value is not None]
    return f"{mean(there):.3f}" if there else ""


def _list(paths: Sequence[str]) -> str:
    return "; ".join(f"`{path}`" for path in paths) or "none"


def print_row(row: Row) -> None:
    """One method on one model."""
    if row["method"] is None:
        print(f"{row['model']:<30} left out: {row['left_out']}", flush=True)
        return
    verdict = "exact" if row["exact"] else f"CMD {row['curve']['cmd']:.3f}"
    name, passes = f"{row['model']:<30.30} {row['method']:<14}", f"{row['passes']:6.0f} passes"
    print(f"{name} {verdict:<9} {passes} {row['seconds']:6.1f} s", flush=True)
