"""What the first screen of the comparison says, as data."""

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from markupsafe import Markup

from headway.circuits import compare
from headway.report.comparison.members import Member, families
from headway.report.page import header as one
from headway.report.page.html import NONE, number, whole
from headway.report.settings import common_parts, varied_in_all
from headway.training.config import flat
from headway.words import short_names


def first_screen(members: Sequence[Member], folder: str) -> dict[str, Any]:
    """What `comparison/page.html` says first.

    Args:
        members: the runs.
        folder: the name of the folder that holds them.
    """
    configs = [member.findings.run.config for member in members]
    titles = {one.title(member.findings) for member in members}
    found = [m.findings.discovery for m in members if m.findings.discovery is not None]
    least = {member.findings.least for member in members}
    solved = [f.solved_at["step"] for m in members if (f := m.findings).solved_at is not None]
    orders = [m.in_chain_order for m in members if m.in_chain_order is not None]
    circuits = [
        [member.circuit for member in family if member.findings.discovery is not None]
        for family in families(members)
    ]
    alike = [compare(some).likeness for some in circuits if len(some) > 1]
    return {
        "title": titles.pop() if len(titles) == 1 else "Runs of different tasks",
        "kicker": f"{len(members)} runs in {folder}, side by side",
        "common": common_parts(configs),
        "varies": short_names(varied_in_all([flat(config) for config in configs])).values(),
        "solved": [m for m in members if m.status == "done" and m.findings.solved],
        "found": found,
        "heads": between([len(d.circuit.useful_heads) for d in found], str),
        "layers": between([len(d.circuit.useful_layers) for d in found], str),
        "least": least.pop().words if len(least) == 1 else None,
        "losses": _middle([m.findings.loss for m in members if m.findings.loss is not None]),
        "replaced": _middle([discovery.replaced_loss for discovery in found]),
        "steps": _middle(solved, whole),
        "orders": orders,
        "alike": alike[0] if len(alike) == 1 else None,
    }


def between(values: Sequence[float], shown: Callable[[float], str] = number) -> Markup:
    """The least and the largest of some values, or the only one."""
    if not values:
        return NONE
    ends = sorted({min(values), max(values)})
    return Markup(" to ").join(map(shown, ends))


def _middle(
    values: Sequence[float], shown: Callable[[float], str] = number
) -> tuple[float | None, Markup]:
    """The median, and the ends."""
    return median(values) if values else None, between(values, shown)
