"""Several circuits side by side, on the terminal."""

from collections.abc import Sequence

from rich.text import Text

from headway.circuits import Comparison
from headway.circuits.mechanism import name_of
from headway.terminal.base import columns, console
from headway.terminal.summary import say
from headway.text import command
from headway.training import Run


def note_older_report(run: Run) -> None:
    """Tells that a run's report is older than what has just been found out about it, if it is."""
    if (run.folder / "report.html").exists():
        say(f"its report is older; draw it again: {command('report', run.folder)}")


def print_comparison(comparison: Comparison, names: Sequence[str]) -> None:
    """What circuits share and where they differ: a row per relation, a column per run."""
    out = console()
    table = columns(("relation", *map(str, range(1, len(names) + 1))))
    for relation, by in comparison.heads.items():
        table.add_row(relation, *(" ".join(map(name_of, heads)) or "-" for heads in by))
    title = "side by side: the heads that attend along each relation"
    out.rule(Text(title, style="bold"), align="left")
    for number, name in enumerate(names, start=1):
        out.print(f"{number}: {name}")
    out.print(table)
    out.print("in all: " + (", ".join(comparison.shared) or "no relation"))
    firsts = {tuple(first) for first in comparison.first}
    alike = "the same relations in all runs" if len(firsts) == 1 else "not the same in all runs"
    out.print(f"the first useful layer attends along {alike}")
    out.print(f"mean Jaccard index of two runs' relations: {comparison.likeness:.2f}")
