"""Reproducing a paper on the terminal: what it will cost, and every claim with its verdict."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from headway.papers.claims import Verdict
from headway.papers.groups import Cost
from headway.papers.result_files import Result
from headway.terminal.base import console
from headway.text import duration

LOOKS = {True: "green", False: "red", None: "dim"}


def print_costs(costs: Sequence[Cost]) -> None:
    """What groups of runs take at most, and what of it is done already."""
    out = console()
    table = Table(box=None, pad_edge=False)
    table.add_column("runs of")
    for name in ("runs", "done", "PFLOP left", "one core", "or one GPU", "disk"):
        table.add_column(name, justify="right")
    for cost in costs:
        table.add_row(
            cost.group,
            str(cost.runs),
            str(cost.done),
            f"{cost.operations / 1e15:.3g}",
            duration(3600 * cost.cpu_hours),
            duration(3600 * cost.gpu_hours),
            f"{cost.disk / 1e6:.0f} MB",
        )
    if len(costs) > 1:
        table.add_section()
        table.add_row(
            "all",
            str(sum(cost.runs for cost in costs)),
            str(sum(cost.done for cost in costs)),
            f"{sum(cost.operations for cost in costs) / 1e15:.3g}",
            duration(3600 * sum(cost.cpu_hours for cost in costs)),
            duration(3600 * sum(cost.gpu_hours for cost in costs)),
            f"{sum(cost.disk for cost in costs) / 1e6:.0f} MB",
        )
    if costs:
        out.print("At most, if no run stops early:", style="bold")
        out.print(table)


def print_verdicts(verdicts: Sequence[Verdict], results: dict[str, Result] | None = None) -> None:
    """The table of claims.

    Args:
        verdicts: in the order of the claims.
        results: where verdicts come from, by figure; their date and machine are told.
    """
    out = console()
    table = Table(box=None, pad_edge=False)
    table.add_column("claim", ratio=1)
    table.add_column("paper", width=14)
    table.add_column("measured, rule", width=21)
    table.add_column("verdict", no_wrap=True)
    figure = None
    for verdict in verdicts:
        claim = verdict.claim
        if claim.figure != figure:
            figure = claim.figure
            result = (results or {}).get(figure)
            where = claim.section if "arXiv" in claim.section else f"section {claim.section}"
            table.add_row(Text(f"\n{figure}, {where}", style="bold"))
            if result:
                table.add_row(Text(f"{result.date}, {result.machine}", style="dim"))
        rule = (claim.rule(verdict.scale).text, "dim")
        table.add_row(
            claim.claim,
            claim.paper,
            Text.assemble(verdict.measured, "\n", rule),
            Text(verdict.said, style=LOOKS[verdict.holds]),
        )
        if verdict.scale in claim.why:
            table.add_row(Text(f"({claim.why[verdict.scale]})", style="dim"))
    out.print(table)
    for missing in dict.fromkeys(verdict.missing for verdict in verdicts if verdict.missing):
        out.print(f"Not measured: {missing}", style="yellow")
