"""The table of a contest in Markdown: means over the models of a family."""

from collections.abc import Callable, Sequence
from statistics import mean, median, stdev

from headway_experiments.arena.contest import Row

COLUMNS: dict[str, Callable[[Row], float | None]] = {
    "heads AUROC": lambda row: row["heads"]["auroc"],
    "heads F1": lambda row: row["heads_f1"],
    "pairs F1": lambda row: row["pairs_f1"],
    "paths AUROC": lambda row: row["paths"]["auroc"],
    "paths AP": lambda row: row["paths"]["precision"],
    "F1, own": lambda row: row["own_f1"],
    "exact": lambda row: row["exact"],
    "faithfulness": lambda row: row["faithfulness"],
    "CPR": lambda row: row["curve"]["cpr"],
    "CMD": lambda row: row["curve"]["cmd"],
    "agreement": lambda row: row["curve"]["agreement"],
}
"""The numbers that are averaged over models; None where a model or a method has nothing to tell."""


def _spread(values: Sequence[float | None]) -> tuple[float, float, int] | None:
    there = [value for value in values if value is not None]
    if not there:
        return None
    return mean(there), stdev(there) if len(there) > 1 else 0.0, len(there)


def markdown(rows: Sequence[Row]) -> str:
    """The table as Markdown, with the models that were left out and what the search missed.

    Cells are mean, standard deviation, and the count where it is not that of all models; passes and
    seconds of processor time are medians. The best average precision of paths is first; where no
    paths are known, the least distance from the model (CMD).
    """
    head = ["method", *COLUMNS, "passes", "seconds"]
    parts: list[str] = []
    scored = [row for row in rows if row["method"] is not None]
    for family in dict.fromkeys(row["family"] for row in scored):
        by_method: dict[str, list[Row]] = {}
        for row in (row for row in scored if row["family"] == family):
            by_method.setdefault(row["method"], []).append(row)
        most = max(map(len, by_method.values()))
        parts += [f"## {family}: {most} models", ""]
        parts += [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
        found = {
            method: {name: _spread([of(row) for row in some]) for name, of in COLUMNS.items()}
            for method, some in by_method.items()
        }


        def first(method: str, found: Any = found) -> tuple[float, ...]:
            return tuple(
                sign * (found[method][name] or (0.0,))[0]
                for name, sign in (("paths AP", -1), ("CMD", 1))
            )

        for method in sorted(found, key=first):
            cells = [_cell(name, value, most) for name, value in found[method].items()]
            passes, seconds = (median(r[x] for r in by_method[method]) for x in head[-2:])
            cells += [f"{passes:.0f}", f"{seconds:.1f}"]
            parts.append(f"| {method} | {' | '.join(cells)} |")
        parts.append("")
    parts += ["## What the search missed", ""]
    for row in rows:
        if row["method"] == "headway" and row["exact"] is False:
            parts.append(f"- *{row['model']}* ({row['family']}): missing {_list(row['missing'])};")
            parts.append(f"  too much: {_list(row['extra'])}")
    parts += ["", "## Left out", ""]
    parts += [f"- *{row['model']}*: {row['left_out']}" for row in rows if row["method"] is None]
    return "\n".join(parts) + "\n"


def _cell(name: str, value: tuple[float, float, int] | None, most: int) -> str:
    if value is None:
        return ""
    average, spread, count = value
    if name == "exact":
        return f"{round(average * count)} of {count}"
    return f"{average:.3f} ± {spread:.2f}" + (f" (n = {count})" if count < most else "")


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
