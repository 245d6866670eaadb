"""What the first screen of a run's page says, as data."""

from collections.abc import Mapping
from typing import Any

from headway.circuits import verdicts
from headway.circuits.emergence import BIRTH, learnt_in_order
from headway.report.findings import Findings
from headway.report.labels import typeset
from headway.report.settings import setting_of


def title(findings: Findings) -> str:
    """What the page is about, in a few words."""
    return typeset(findings.task.title)


def first_screen(findings: Findings) -> dict[str, Any]:
    """What `run/page.html` says of a run beside its findings."""
    task, discovery, timeline = findings.task, findings.discovery, findings.timeline
    partial = findings.metrics[-1]["partial"] if findings.metrics else {}
    learnt = learnt_first(findings.hops)
    given = [] if discovery is None else verdicts(discovery, findings.circuits)
    return {
        "title": title(findings),
        "kicker": f"run {findings.run.folder.name}",
        "setting": setting_of(findings.run.config),
        "below": [hop for hop, loss in partial.items() if loss < BIRTH],
        "failed": [one.name for one in given if one.holds is False],
        "dated": [] if timeline is None else learnt_first(timeline.hops),
        "learnt": [hop for _, hop in learnt],
        "in_order": learnt_in_order(findings.hops, task.hop_order) if learnt else None,
        "test_loss": (findings.outcome or {}).get("test_loss"),
    }


def learnt_first(hops: Mapping[str, float | None]) -> list[tuple[float, str]]:
    """The hops that were learnt, in that order, each after its step."""
    return sorted((step, hop) for hop, step in hops.items() if step is not None)
