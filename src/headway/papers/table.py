"""The tables of docs/paper.md, in Markdown."""

import statistics
from collections.abc import Sequence

from headway.circuits.emergence import BIRTH
from headway.papers.claims import Measures, Verdict
from headway.papers.setups import WAYS

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
        escaped = [cell.replace("|", "\\|") for cell in (*cells, MARKS[verdict.holds])]
        lines.append("| " + " | ".join(escaped) + " |")
    return "\n".join(lines) + "\n"


def ways_of_asking(found: Measures) -> str:
    """A line a way of asking for a chain: in how many seeds the answer was learnt, its loss at the
    end, and the steps at which hops were learnt, averaged over the seeds in which they were.

    Args:
        found: what `measures.studies.curricula` gives.
    """
    steps: dict[tuple[str, str], list[float]] = {}
    for name, step in found["curriculum_steps"].items():
        way, hop, _ = name.split(" ")
        steps.setdefault((way, hop), []).append(step)
    hops = sorted({hop for _, hop in steps})
    lines = [
        "| asked for | x_3 learnt | its loss at the end | "
        + " | ".join(hops)
        + " learnt at step |",
        "|---|---|---|" + "---|" * len(hops),
    ]
    for way in WAYS:
        losses = list(found[f"curriculum_{way}"].values())
        learnt = sum(loss < BIRTH for loss in losses)
        told = ", ".join(f"{loss:.3f}" for loss in losses)
        means = [statistics.mean(steps[way, hop]) if (way, hop) in steps else None for hop in hops]
        when = " | ".join("–" if mean is None else f"{mean:.0f}" for mean in means)
        lines.append(f"| `{way}` | {learnt} of {len(losses)} | {told} | {when} |")
    return "\n".join(lines) + "\n"
