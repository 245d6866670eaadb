"""Runs that are compared, each with what its folder says, a number and a name."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from headway.circuits import Circuit
from headway.circuits.emergence import learnt_in_order
from headway.circuits.roles import places
from headway.reading import is_file
from headway.report.findings import Findings
from headway.text import command
from headway.training import Run
from headway.training.seeds import generator_for

Link = Callable[[Path], str | None]
"""From a run's folder to the address of its page."""


@dataclass(frozen=True)
class Member:
    """One of the runs.

    Attributes:
        number: from 1 on, in the order in which they were named.
        name: its folder's, with those above it as far as they are not common to all.
        link: the address of its own page, as seen from the comparison; None if there is no page.
        status: `done`, `failed`, `running` or `stopped`.
        findings: what its folder says.
    """

    number: int
    name: str
    link: str | None
    status: str
    findings: Findings

    @classmethod
    def of(cls, number: int, run: Run, base: Path, link: Link) -> "Member":
        """Reads a run's folder.

        Args:
            number: of the run.
            run: the run.
            base: the folder that holds all runs.
            link: gives the address of a run's own page.

        Raises:
            HeadwayError: if a file in it is corrupted.
        """
        name = run.folder.resolve().relative_to(base).as_posix()
        return cls(number, name, link(run.folder), run.status, Findings.of(run))

    @property
    def circuit(self) -> Circuit:
        """Of a run that has one."""
        assert self.findings.discovery is not None
        return self.findings.discovery.circuit

    @property
    def hops(self) -> dict[str, float | None]:
        """The step at which every hop was learnt, if the evaluations tell it."""
        timeline = self.findings.timeline
        return self.findings.hops if timeline is None else timeline.hops

    @property
    def in_chain_order(self) -> bool | None:
        """Whether the hops were learnt in their order; None if there is nothing to compare."""
        if len(self.hops) < 2:
            return None
        return learnt_in_order(self.hops, self.findings.run.task.hop_order)

    @property
    def lacks(self) -> str:
        """What is not there of the run, in sentences; perhaps empty."""
        findings, lines = self.findings, list[str]()
        if findings.outcome and findings.outcome["status"] == "failed":
            lines.append(f"Training failed: {findings.outcome['message']}.")
        elif findings.outcome is None:
            running = self.status == "running"
            lines.append("Still training." if running else "Training was stopped.")
        if not findings.metrics:
            lines.append("There is no evaluation yet.")
        if not findings.checkpoints:
            lines.append("There are no checkpoints.")
        elif findings.no_circuit is not None:
            lines.append(findings.no_circuit)
        elif findings.discovery is None:
            how = command("circuit", findings.run.folder)
            lines.append(f"No circuit has been looked for: {how}")
        elif findings.timeline is None:
            how = command("emergence", findings.run.folder)
            lines.append(f"The circuit's paths are not dated: {how}")
        return " ".join(lines)


def families(members: Sequence[Member]) -> list[list[Member]]:
    """The runs whose circuits can be compared, together.

    They are of one kind of task with the same relations, and their roles stand in the same order.
    """
    found: dict[tuple[str, ...], list[Member]] = {}
    for member in members:
        task = member.findings.task
        roles = (place.role for place in places(task))
        relations = task.relations(task.sample(2, generator_for("cpu", "families")))
        found.setdefault((task.kind, *roles, "", *sorted(relations)), []).append(member)
    return list(found.values())


def links_from(out: Path) -> Link:
    """Gives the address of a run's own page, as seen from a folder; None if there is no page."""

    def link(folder: Path) -> str | None:
        page = folder.resolve() / "report.html"
        return quote(os.fsencode(os.path.relpath(page, out.resolve()))) if is_file(page) else None

    return link
