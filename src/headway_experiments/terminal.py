"""Reproducing a paper on the terminal: what it will cost, and every claim with its verdict."""

import re
from collections.abc import Mapping, Sequence

from rich.table import Table
from rich.text import Text

from headway.terminal import columns, console
from headway.text import duration, wrapped
from headway_experiments.claims import Judged, Said
from headway_experiments.groups import Cost
from headway_experiments.result_files import Result
from headway_experiments.table import COLUMNS, gaps

LOOKS: dict[Said, str] = {
    "holds": "green",
    "does not hold": "red",
    "not comparable": "yellow",
    "not measured": "yellow",
    "not run": "dim",
}


LEGEND = (
    "A number is the mean ± standard deviation of n values, a value a run, or whatever the claim"
    " counts: paths, pairs of circuits, settings. Where a rule judges every value, their range"
    " stands beside it; where it judges the median, the median.",
    "Settings and rules were chosen with the seeds of small in view; none was by a fresh seed."
    " What is computed without training is the same in every column.",
)


def print_costs(costs: Sequence[Cost]) -> None:
    """What groups of runs take at most, and how much is done already."""
    if not costs:
        return
    out, timed = console(), any(cost.seconds is not None for cost in costs)
    numbers = "runs", "done", "PFLOP left", *["one core"] * timed, "disk"
    table = columns(("runs of",), numbers, wrap=False)
    for cost in costs:
        table.add_row(cost.group, *_numbers([cost], timed))
    if len(costs) > 1:
        table.add_section()
        table.add_row("all", *_numbers(costs, timed))
    out.print("At most, if no run stops early:", style="bold")
    if timed:
        out.print("one core: by ten steps of a run of each group on this machine", style="dim")
    out.print(table)


def _numbers(costs: Sequence[Cost], timed: bool) -> list[str]:
    """The cost of some groups together."""
    return [
        str(sum(cost.runs for cost in costs)),
        str(sum(cost.done for cost in costs)),
        f"{sum(cost.operations for cost in costs) / 1e15:.3g}",
        *[duration(sum(cost.seconds or 0 for cost in costs))] * timed,
        f"{sum(cost.disk for cost in costs) / 1e9:.2g} GB",
    ]


def print_verdicts(
    rows: Sequence[Judged],
    results: Mapping[tuple[str, str], Result] | None = None,
    own: bool = False,
) -> None:
    """How many claims hold, then all of them by figure.

    Args:
        rows: in the order of the claims, all of the same scales.
        results: what the verdicts come from, by figure and scale; their date and machine are
            printed.
        own: whether the claims are a user's own, so that nothing of them is published.
    """
    out = console()
    scales = list(rows[0]) if rows else []
    width = 14 if out.width >= 80 or len(scales) < 3 else 10
    table = Table(box=None, pad_edge=False)
    table.add_column("claim, expected, rule" if own else "claim, paper, rule", ratio=1)
    for scale in scales:
        table.add_column(scale if own else COLUMNS[scale], width=width)
    _add_counts(table, rows)
    figure = None
    for row in rows:
        first = row[scales[0]]
        claim = first.claim
        if claim.figure != figure:
            figure = claim.figure
            known = [(results or {}).get((figure, scale)) for scale in scales]
            from_ = [one and one.environment for one in known]
            told = [
                Text(f"\n{one.started[:10]}\n{_short(one.processor)}" if one else "", "dim")
                for one in from_
            ]
            table.add_row(Text(f"\n{figure}, {_place(claim.section)}", style="bold"), *told)
        note = claim.note(first.scale)
        told = f"\n{claim.paper}; {claim.rule_at(first.scale)}" + (f" ({note})" if note else "")
        cells = [
            Text.assemble((verdict.said, LOOKS[verdict.said]), ("\n" + verdict.measured, "dim"))
            for verdict in row.values()
        ]
        table.add_row(Text.assemble(claim.claim, (told, "dim")), *cells)
    out.print(table)
    for gap in gaps(rows, own):
        out.print(f"Not measured: {gap}", style="yellow", markup=False)
    for line in () if own else LEGEND:
        out.print("\n".join(wrapped(line)), style="dim")


def _short(processor: str) -> str:
    """The name of a processor without marks."""
    return re.sub(r"\(R\)|\(TM\)| Processor| CPU", "", processor)


def _add_counts(table: Table, rows: Sequence[Judged]) -> None:
    """A line for each verdict: how many claims have it, by scale."""
    for said, look in LOOKS.items():
        counts = [sum(row[scale].said == said for row in rows) for scale in (rows or [{}])[0]]
        if any(counts):
            table.add_row(Text(said, style=look), *(str(count or "–") for count in counts))


def _place(section: str) -> str:
    """Where a claim is made: a number or a letter is that of a section."""
    if re.match(r"\d{4}\.\d{5}", section):
        return f"arXiv {section}"
    return f"section {section}" if re.match(r"\d|[A-Z]\b", section) else section
