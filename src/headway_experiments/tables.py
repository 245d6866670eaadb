"""Every claim of a paper with its verdict, as Markdown and on the terminal."""

from collections.abc import Sequence

from rich.text import Text

from headway.terminal import console
from headway.text import wrapped
from headway_experiments.claims import Judged, Said, Verdict

SIDE_BY_SIDE = ("small", "fresh", "paper")
"""The scales whose verdicts are shown beside each other."""

LOOKS: dict[Said, str] = {
    "holds": "green",
    "does not hold": "red",
    "by construction": "dim",
    "not comparable": "yellow",
    "not measured": "yellow",
    "not run": "dim",
}

LEGEND = (
    "n counts values, a value a run, or whatever the claim counts: paths, pairs of "
    "circuits,"
    " settings. Where a rule judges every value or the median, a number is the "
    "median, with the"
    " range in brackets; a mean has its 95 % interval by Student's t, a share its "
    "by Wilson.",
    "What cannot fail is by construction, and is not counted among what holds. "
    "Settings and rules"
    " were chosen with the seeds of small in view; none was by a fresh seed.",
)


def print_verdicts(rows: Sequence[Judged]) -> None:
    """Print how many claims hold, then all of them by figure.

    Args:
        rows: in the order of the claims, all of the same scales.
    """
    _print_counts(rows)
    out = console()
    for row in rows:
        _print_claim(next(iter(row.values())))
        for scale, verdict in row.items():
            said = verdict.said, LOOKS[verdict.said]
            out.print(Text.assemble(f"{scale:<6}", said, " ", verdict.measured))
    for gap in gaps(rows):
        out.print(f"Not measured: {gap}", style="yellow", markup=False)
    for line in LEGEND:
        out.print("\n".join(wrapped(line)), style="dim")


def _print_claim(verdict: Verdict) -> None:
    """Print the claim of a verdict and its rule."""
    claim = verdict.claim
    scale = verdict.scale
    note = claim.note(scale)
    remark = f" ({note})" if note else ""
    title = f"\n{claim.figure}, {claim.section}: {claim.claim}"
    rule = f"{claim.paper}; {claim.rule_at(scale)}{remark}"
    out = console()
    out.print(title, style="bold", markup=False)
    out.print(rule, style="dim", markup=False)


def _print_counts(rows: Sequence[Judged]) -> None:
    """Print how many claims have each verdict, scale by scale."""
    out = console()
    for said, look in LOOKS.items():
        counts = {}
        for scale in rows[0]:
            verdicts = [row[scale].said for row in rows]
            counts[scale] = verdicts.count(said)
        if any(counts.values()):
            parts = [f"{scale} {count}" for scale, count in counts.items()]
            by_scale = "  ".join(parts)
            out.print(f"{said:<16}{by_scale}", style=look)


def markdown(rows: Sequence[Judged]) -> str:
    """A line per claim: what is expected, the rule, and by scale the verdict and the
    measurement.

    Scales at which nothing was run are left out. Below stand the reasons for what is
    not comparable or by construction, or judged by a scale's own rule, and what could
    not be measured.

    Args:
        rows: at least one, all of the same scales.
    """
    scales = [scale for scale in rows[0] if any(row[scale].ran for row in rows)]
    scales = scales or list(rows[0])
    heads = ["figure", "claim", "expected", "rule", *scales]
    lines = [_line(heads), "|---" * len(heads) + "|"]
    for row in rows:
        cells = _cells([row[scale] for scale in scales])
        lines.append(_line([cell.replace("|", "\\|") for cell in cells]))
    for title, remarks in (("Notes", notes(rows)), ("Not measured", gaps(rows))):
        if remarks:
            lines += ["", f"{title}:", ""]
            lines += [f"- {remark}" for remark in remarks]
    return "\n".join(lines) + "\n"


def _cells(verdicts: Sequence[Verdict]) -> list[str]:
    """A claim, its rule, and the verdicts on it."""
    first = verdicts[0]
    claim = first.claim
    rule = claim.rule_at(first.scale)
    about = [claim.figure, claim.claim, claim.paper, f"`{rule}`"]
    return [*about, *map(_verdict, verdicts)]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _verdict(verdict: Verdict) -> str:
    """A cell of the table."""
    if verdict.values:
        return f"**{verdict.said}** {verdict.measured}"
    return "–" if verdict.said == "not run" else verdict.said


def notes(rows: Sequence[Judged]) -> list[str]:
    """The reasons for verdicts and rules, each with the measures that have it."""
    measures: dict[str, dict[str, None]] = {}
    for row in rows:
        for verdict in row.values():
            if note := verdict.claim.note(verdict.scale):
                measure = f"`{verdict.claim.measure}`"
                measures.setdefault(note, {})[measure] = None
    return [f"{', '.join(its)}: {note}" for note, its in measures.items()]


def gaps(rows: Sequence[Judged]) -> list[str]:
    """The gaps in what was measured, by scale, each with the figures whose verdicts
    lack it.
    """
    figures: dict[tuple[str, str], dict[str, None]] = {}
    for row in rows:
        for scale, verdict in row.items():
            if verdict.missing:
                gap = scale, verdict.missing
                figures.setdefault(gap, {})[verdict.claim.figure] = None
    gaps = []
    for (scale, gap), its in figures.items():
        names = ", ".join(its)
        gaps.append(f"{names}, {scale}: {gap}")
    return gaps
