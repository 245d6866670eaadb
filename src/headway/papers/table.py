"""The table of claims in Markdown, as docs/paper.md has it."""

from collections.abc import Sequence

from headway.papers.claims import Verdict

MARKS = {True: "**holds**", False: "**does not hold**", None: "not run"}


def markdown(verdicts: Sequence[Verdict]) -> str:
    """A line a claim: what the paper says, what was measured, by which rule it is judged."""
    lines = [
        "| figure | claim | paper | measured | rule | verdict |",
        "|---|---|---|---|---|---|",
    ]
    for verdict in verdicts:
        claim = verdict.claim
        why = claim.why.get(verdict.scale)
        rule = f"`{claim.rule(verdict.scale).text}`" + (f" ({why})" if why else "")
        cells = (claim.figure, claim.claim, claim.paper, verdict.measured, rule)
        lines.append("| " + " | ".join((*cells, MARKS[verdict.holds])) + " |")
    return "\n".join(lines) + "\n"
