"""The table of a contest in Markdown."""

from collections.abc import Callable, Sequence
from statistics import mean, median

from headway_experiments.arena.contest import Row

COLUMNS: dict[str, Callable[[Row], float | None]] = {
    "heads F1": lambda row: row["heads_f1"],
    "pairs F1": lambda row: row["pairs_f1"],
    "names F1": lambda row: row["own_f1"],
    "CPR": lambda row: row["curve"]["cpr"],
    "CMD": lambda row: row["curve"]["cmd"],
    "agreement": lambda row: row["curve"]["agreement"],
}
"""The numbers that are averaged over models; None where a model or a method has nothing to tell."""


def markdown(rows: Sequence[Row]) -> str:
    """The table as Markdown, with the models that were left out and what the search missed.

    Numbers are means over the models that have something to tell; passes are medians. Under a
    family stands the average precision of paths, else F1 of heads, else the distance from the model
    (CMD), whatever is known; and in brackets in how many models the choice is the whole circuit.
    """
    scored = [row for row in rows if row["method"] is not None]
    models: dict[str, set[str]] = {}
    for row in scored:
        models.setdefault(row["family"], set()).add(row["model"])
    head = ["method", *COLUMNS, *(f"{one} ({len(of)})" for one, of in models.items()), "passes"]
    parts = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for method in dict.fromkeys(row["method"] for row in scored):
        some = [row for row in scored if row["method"] == method]
        cells = [_mean([of(row) for row in some]) for of in COLUMNS.values()]
        cells += [_family([row for row in some if row["family"] == one]) for one in models]
        passes = median(row["passes"] for row in some)
        parts.append(f"| {method} | {' | '.join(cells)} | {passes:.0f} |")
    parts += ["", "## What the search missed", ""]
    for row in rows:
        if row["method"] == "headway" and row["exact"] is False:
            parts.append(f"- *{row['model']}* ({row['family']}): missing {_list(row['missing'])};")
            parts.append(f"  too much: {_list(row['extra'])}")
    parts += ["", "## Left out", ""]
    parts += [f"- *{row['model']}*: {row['left_out']}" for row in rows if row["method"] is None]
    return "\n".join(parts) + "\n"


def _mean(values: Sequence[float | None]) -> str:
    there = [value for value in values if value is not None]
    return f"{mean(there):.3f}" if there else "–"


def _family(rows: Sequence[Row]) -> str:
    if all(row["exact"] is None for row in rows):
        return _mean([row["curve"]["cmd"] for row in rows])
    known = "heads_f1" if all(row["pairs_f1"] is None for row in rows) else "paths_ap"
    return f"{_mean([row[known] for row in rows])} ({sum(row['exact'] for row in rows)})"


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
