"""The tables of docs/paper.md, in Markdown."""

import statistics
from collections.abc import Sequence

from headway.circuits.emergence import BIRTH
from headway.papers.claims import Judged, Measures, Verdict
from headway.papers.setups import WAYS

COLUMNS = {"small": "small", "fresh": "fresh seeds", "paper": "as printed", "smoke": "smoke"}
"""What a scale is called above its verdicts."""

SIDE_BY_SIDE = ("small", "fresh", "paper")
"""The scales whose verdicts are shown beside each other."""


def markdown(rows: Sequence[Judged]) -> str:
    """A line a claim: what the paper says, the rule, and a verdict and what was measured by scale.

    Args:
        rows: at least one, all of the same scales.
    """
    heads = ["figure", "claim", "paper", "rule", *(COLUMNS[scale] for scale in rows[0])]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for row in rows:
        verdicts = list(row.values())
        claim, rule = verdicts[0].claim, verdicts[0].claim.rule(verdicts[0].scale)
        cells = [claim.figure, claim.claim, claim.paper, f"`{rule.text}`", *map(_cell, verdicts)]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(verdict: Verdict) -> str:
    """The verdict, what was measured, and what makes it not comparable or the rule another."""
    if not verdict.values:
        return verdict.said
    note = verdict.claim.note(verdict.scale) if verdict.scale != "fresh" else ""
    return f"**{verdict.said}** {verdict.measured}" + (f" ({note})" if note else "")


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
