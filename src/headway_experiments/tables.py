"""Every claim of a paper with its verdict, as Markdown and on the terminal."""

from collections.abc import Sequence

from rich.text import Text

from headway.terminal import console
from headway.text import wrapped
from headway_experiments.claims import Judged, Said

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
    "n counts values, a value a run, or whatever the claim counts: paths, pairs of circuits,"
    " settings. Where a rule judges every value or the median, a number is the median, with the"
    " range in brackets; a mean has its 95 % interval by Student's t, a share its by Wilson.",
    "What cannot fail is by construction, and is not counted among what holds. Settings and rules"
    " were chosen with the seeds of small in view; none was by a fresh seed.",
)


def print_verdicts(rows: Sequence[Judged]) -> None:
    """Print how many claims hold, then all of them by figure.

    Args:
        rows: in the order of the claims, all of the same scales.
    """
    out = console()
    for said, look in LOOKS.items():
        counts = {scale: sum(row[scale].said == said for row in rows) for scale in rows[0]}
        if any(counts.values()):
            told = "  ".join(f"{scale} {count}" for scale, count in counts.items())
            out.print(f"{said:<16}{told}", style=look)
    for row in rows:
        first = next(iter(row.values()))
        claim, note = first.claim, first.claim.note(first.scale)
        out.print(f"\n{claim.figure}, {claim.section}: {claim.claim}", style="bold", markup=False)
        told = f"{claim.paper}; {claim.rule_at(first.scale)}" + (f" ({note})" if note else "")
        out.print(told, style="dim", markup=False)
        for scale, verdict in row.items():
            said = verdict.said, LOOKS[verdict.said]
            out.print(Text.assemble(f"{scale:<6}", said, " ", verdict.measured))
    for gap in gaps(rows):
        out.print(f"Not measured: {gap}", style="yellow", markup=False)
    for line in LEGEND:
        out.print("\n".join(wrapped(line)), style="dim")


def markdown(rows: Sequence[Judged]) -> str:
    """A line per claim: what is expected, the rule, and by scale the verdict and the measurement.

    Scales at which nothing was run are left out. Below stand the reasons for what is not comparable
    or by construction, or judged by a scale's own rule, and what could not be measured.

    Args:
        rows: at least one, all of the same scales.
    """
    scales = [scale for scale in rows[0] if any(row[scale].ran for row in rows)] or [*rows[0]]
    heads = ["figure", "claim", "expected", "rule", *scales]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for row in rows:
        verdicts = [row[scale] for scale in scales]
        claim, rule = verdicts[0].claim, verdicts[0].claim.rule_at(verdicts[0].scale)
        cells = [claim.figure, claim.claim, claim.paper, f"`{rule}`"]
        for one in verdicts:
            empty = "–" if one.said == "not run" else one.said
            cells.append(f"**{one.said}** {one.measured}" if one.values else empty)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    for title, those in (("Notes", notes(rows)), ("Not measured", gaps(rows))):
        lines += ["", f"{title}:", "", *(f"- {one}" for one in those)] if those else []
    return "\n".join(lines) + "\n"


def notes(rows: Sequence[Judged]) -> list[str]:
    """The reasons for verdicts and rules, each with the measures that have it."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        for verdict in row.values():
            if note := verdict.claim.note(verdict.scale):
                found.setdefault(note, {})[f"`{verdict.claim.measure}`"] = None
    return [f"{', '.join(them)}: {note}" for note, them in found.items()]


def gaps(rows: Sequence[Judged]) -> list[str]:
    """The gaps in what was measured, by scale, each with the figures whose verdicts lack it."""
    figures: dict[tuple[str, str], dict[str, None]] = {}
    for row in rows:
        for scale, verdict in row.items():
            if verdict.missing:
                figures.setdefault((scale, verdict.missing), {})[verdict.claim.figure] = None
    return [f"{', '.join(them)}, {scale}: {gap}" for (scale, gap), them in figures.items()]
