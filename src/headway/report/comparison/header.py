"""The first screen of the comparison: what is compared, and what came out in few numbers."""

from collections.abc import Callable, Sequence
from statistics import median

from headway.circuits import THRESHOLD, compare
from headway.report.comparison.members import Member, families
from headway.report.comparison.runs import varied_in_all
from headway.report.page import header as one
from headway.report.page.html import counted, escape, listed, number, whole
from headway.report.page.tiles import tiles
from headway.training.config import flat
from headway.words import short_names

SECTIONS = {"runs": "Runs", "circuits": "Circuits", "shared": "Shared", "births": "Births"}


def title(members: Sequence[Member]) -> str:
    """What the runs are about, in a few words."""
    titles = {one.title(member.findings) for member in members}
    return titles.pop() if len(titles) == 1 else "Runs of different tasks"


def header(members: Sequence[Member], folder: str) -> str:
    """The first screen.

    Args:
        members: the runs.
        folder: the name of the folder that holds them.
    """
    menu = "".join(f'<a href="#{name}">{escape(text)}</a>' for name, text in SECTIONS.items())
    return (
        f'<p class="kicker">headway · {len(members)} runs in {escape(folder)}, side by side</p>\n'
        f"<h1>{escape(title(members))}</h1>\n"
        f'<p class="setting">{_setting(members)}</p>\n'
        f'<p class="verdict">{_verdict(members)}</p>\n'
        f'{tiles(_tiles(members))}\n<nav aria-label="sections">{menu}</nav>\n'
    )


def between(values: Sequence[float], shown: Callable[[float], str] = number) -> str:
    """The least and the largest of some values, as HTML, or the only one."""
    if not values:
        return number(None)
    low, high = shown(min(values)), shown(max(values))
    return low if min(values) == max(values) else f"{low} to {high}"


def _setting(members: Sequence[Member]) -> str:
    """What all runs have in common, and what varies."""
    parts = [one.setting(member.findings).split(" · ") for member in members]
    common = [part for part in parts[0] if all(part in others for others in parts)]
    names = varied_in_all([flat(member.findings.run.config) for member in members])
    told = ", ".join(map(escape, short_names(names).values())) or "nothing"
    return " · ".join([*common, f"<b>what varies: {told}</b>"])


def _verdict(members: Sequence[Member]) -> str:
    found = [m.findings.discovery for m in members if m.findings.discovery is not None]
    solved = sum(member.findings.solved for member in members)
    told = (
        f"{solved} of {len(members)} runs solved their task (validation loss below {THRESHOLD:g})."
    )
    for status in ("failed", "running", "stopped"):
        some = [member for member in members if member.status == status]
        if some:
            word = {"failed": "failed", "running": "still training"}.get(status, "not finished")
            told += f" {len(some)} {word}: {listed(member.tag for member in some)}."
    if not found:
        return told + " None has a circuit yet."
    if len(found) < len(members):
        told += f" {counted(len(members) - len(found), 'run')} without a circuit."
    faithful = sum(discovery.faithful for discovery in found)
    heads = between([len(d.circuit.useful_heads) for d in found], str)
    layers = between([len(d.circuit.useful_layers) for d in found], str)
    told += (
        f" Of {counted(len(found), 'circuit')} {faithful} {'is' if faithful == 1 else 'are'}"
        f" faithful; they take {heads} heads in {layers} layers"
    )
    least = {member.findings.least for member in members}
    return told + (f" ({least.pop().words})." if len(least) == 1 else ".")


def _tiles(members: Sequence[Member]) -> list[tuple[str, str, str]]:
    findings = [member.findings for member in members]
    losses = [f.loss for f in findings if f.loss is not None]
    replaced = [f.discovery.replaced_loss for f in findings if f.discovery is not None]
    solved = [f.solved_at["step"] for f in findings if f.solved_at is not None]
    orders = [m.in_chain_order for m in members if m.in_chain_order is not None]
    entries = [
        ("Validation loss, median", number(_median(losses)), between(losses)),
        ("Circuit loss, median", number(_median(replaced)), between(replaced)),
        ("Steps to solve, median", whole(_median(solved)), between(solved, whole)),
        ("Hops in order", f"{sum(orders)} <small>of {len(orders)}</small>", "runs that tell"),
    ]
    circuits = [
        [m.findings.discovery.circuit for m in family if m.findings.discovery is not None]
        for family in families(members)
    ]
    alike = [compare(some).likeness for some in circuits if len(some) > 1]
    if len(alike) == 1:
        entries.append(("Alike", number(alike[0]), "mean Jaccard index of two circuits' relations"))
    return entries


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None
