"""The tables of docs/paper.md, in Markdown."""

from collections.abc import Sequence

from headway_experiments.claims import Judged, Verdict

COLUMNS = {"small": "small", "fresh": "fresh seeds", "paper": "as printed", "smoke": "smoke"}
"""The heading of a scale's verdicts."""

SIDE_BY_SIDE = ("small", "fresh", "paper")
"""The scales whose verdicts are shown beside each other."""


def markdown(rows: Sequence[Judged], own: bool = False) -> str:
    """A line per claim: what the paper says, the rule, and by scale a verdict and what was
    measured.

    Args:
        rows: at least one, all of the same scales.
        own: whether the claims are a user's own, so that nothing of them is published.
    """
    scales = [scale if own else COLUMNS[scale] for scale in rows[0]]
    heads = ["figure", "claim", "expected" if own else "paper", "rule", *scales]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for row in rows:
        verdicts = list(row.values())
        claim, rule = verdicts[0].claim, verdicts[0].claim.rule_at(verdicts[0].scale)
        cells = [claim.figure, claim.claim, claim.paper, f"`{rule}`", *map(_cell, verdicts)]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    if missing := gaps(rows, own):
        lines += ["", "Not measured:", "", *(f"- {gap}" for gap in missing)]
    return "\n".join(lines) + "\n"


def gaps(rows: Sequence[Judged], own: bool = False) -> list[str]:
    """What could not be measured, by scale, each with the figures whose verdicts lack it."""
    figures: dict[tuple[str, str], dict[str, None]] = {}
    for row in rows:
        for scale, verdict in row.items():
            if verdict.missing:
                named = scale if own else COLUMNS[scale]
                figures.setdefault((named, verdict.missing), {})[verdict.claim.figure] = None
    return [f"{', '.join(them)}, {scale}: {gap}" for (scale, gap), them in figures.items()]


def _cell(verdict: Verdict) -> str:
    """The verdict, what was measured, and what makes it not comparable or the rule another."""
    if not verdict.values:
        return verdict.said
    note = verdict.claim.note(verdict.scale) if verdict.scale != "fresh" else ""
    return f"**{verdict.said}** {verdict.measured}" + (f" ({note})" if note else "")
