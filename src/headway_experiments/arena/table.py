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
"""The numbers that are averaged over models; None where a model or a method has nothing
to tell.
"""


def markdown(rows: Sequence[Row]) -> str:
    """The table as Markdown, with the models that were left out and what the search
    missed.

    Numbers are means over the models that have something to tell; passes are medians.
    Under a family stands the average precision of paths, else F1 of heads, else the
    distance from the model (CMD), whatever is known; and in brackets in how many models
    the choice is the whole circuit.
    """
    parts = [*_scores(rows), "", "## What the search missed", ""]
    for row in rows:
        if row["method"] == "headway" and row["exact"] is False:
            missing = _list(row["missing"])
            extra = _list(row["extra"])
            model = f"*{row['model']}* ({row['family']})"
            parts.append(f"- {model}: missing {missing};")
            parts.append(f"  too much: {extra}")
    parts += ["", "## Left out", ""]
    for row in rows:
        if row["method"] is None:
            parts.append(f"- *{row['model']}*: {row['left_out']}")
    return "\n".join(parts) + "\n"


def _scores(rows: Sequence[Row]) -> list[str]:
    """The lines of the table: a method in each."""
    models: dict[str, set[str]] = {}
    methods: dict[str, list[Row]] = {}
    for row in rows:
        if row["method"] is not None:
            of_family = models.setdefault(row["family"], set())
            of_family.add(row["model"])
            methods.setdefault(row["method"], []).append(row)
    families = [f"{family} ({len(members)})" for family, members in models.items()]
    head = ["method", *COLUMNS, *families, "passes"]
    lines = [_line(head), "|---" * len(head) + "|"]
    for method, scored in methods.items():
        cells = []
        for score in COLUMNS.values():
            scores = [score(row) for row in scored]
            cells.append(_mean(scores))
        for family in models:
            its_rows = [row for row in scored if row["family"] == family]
            cells.append(_family(its_rows))
        passes = median(row["passes"] for row in scored)
        lines.append(_line([method, *cells, f"{passes:.0f}"]))
    return lines


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _mean(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{mean(known):.3f}" if known else "–"


def _family(rows: Sequence[Row]) -> str:
    if all(row["exact"] is None for row in rows):
        return _mean([row["curve"]["cmd"] for row in rows])
    only_heads = all(row["pairs_f1"] is None for row in rows)
    known = "heads_f1" if only_heads else "paths_ap"
    average = _mean([row[known] for row in rows])
    exact = sum(row["exact"] for row in rows)
    return f"{average} ({exact})"


def _list(paths: Sequence[str]) -> str:
    return "; ".join(f"`{path}`" for path in paths) or "none"


def print_row(row: Row) -> None:
    """One method on one model."""
    model = row["model"]
    if row["method"] is None:
        print(f"{model:<30} left out: {row['left_out']}", flush=True)
        return
    cmd = row["curve"]["cmd"]
    verdict = "exact" if row["exact"] else f"CMD {cmd:.3f}"
    name = f"{model:<30.30} {row['method']:<14}"
    costs = f"{row['passes']:6.0f} passes {row['seconds']:6.1f} s"
    print(f"{name} {verdict:<9} {costs}", flush=True)
