"""Several runs, each with what its folder says and a name: those that were named, or a
folder's.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import quote

from headway.errors import HeadwayError
from headway.fields import natural
from headway.reading import is_file
from headway.report.findings import Findings
from headway.report.labels import shortened
from headway.text import enumerated
from headway.training import Run
from headway.training.files import clear_content_errors, is_there, read_json
from headway.training.finding import PLAN, run_folders

Link = Callable[[Path], str | None]
"""From a run's folder to the address of its page."""


@dataclass(frozen=True)
class Runs:
    """Runs to show together.

    Attributes:
        folder: that holds them all.
        name: with which the names of files begin that are kept.
        title: of a page about them.
        members: the runs.
        unreadable: what could not be read, each with the reason.
        planned: the names of all that the plan of a sweep's folder has; empty without a
            plan.
    """

    folder: Path
    name: str
    title: str
    members: list[Findings]
    unreadable: list[str] = field(default_factory=list)
    planned: list[str] = field(default_factory=list)

    @property
    def missing(self) -> list[str]:
        """The names of those of the plan that have not been started."""
        return [name for name in self.planned if not is_there(self.folder / name)]

    @property
    def expected(self) -> int:
        """The number of runs that there will be."""
        return len({*self.planned, *(member.name for member in self.members)})

    @classmethod
    def named(cls, runs: Sequence[Run]) -> "Runs":
        """Reads runs that were named.

        Raises:
            HeadwayError: if one is named twice, there are fewer than two, or a file of
                one is corrupted.
        """
        folders = [run.folder.resolve() for run in runs]
        for run, folder in zip(runs, folders, strict=True):
            if folders.count(folder) > 1:
                raise HeadwayError(
                    f"{run.folder} is named twice: a run is compared to others"
                )
        if len(runs) < 2:
            raise HeadwayError(f"{len(runs)} run cannot be compared: name at least two")
        # As named, links and all.
        places = [Path(os.path.abspath(run.folder)) for run in runs]
        base = Path(os.path.commonpath([place.parent for place in places]))
        members = list[Findings]()
        for run, place in zip(runs, places, strict=True):
            members.append(Findings.of(run, place.relative_to(base).as_posix()))
        title = enumerated(member.name for member in members)
        parents = {run.folder.parent for run in runs}
        if len(parents) == 1:
            base = parents.pop()
        return cls(base, "comparison", shortened(title, 100), members)

    @classmethod
    def of(
        cls, folder: Path, runs: Iterable[Callable[[], Run]] | None = None
    ) -> "Runs":
        """Reads the runs of a folder. Folders that are no runs are passed over.

        Args:
            folder: that holds them.
            runs: each opens a run in it, if they are known.

        Raises:
            HeadwayError: if there is no run, none can be read, or its plan cannot.
        """
        members = list[Findings]()
        unreadable = list[str]()
        planned = list[str]()
        if runs is None:
            runs = [partial(Run.open, path) for path in run_folders(folder, levels=1)]
        for opened in runs:
            try:
                members.append(Findings.of(opened()))
            except HeadwayError as error:
                unreadable.append(str(error))
        if not members:
            why = "there is no run here, and no folder of a run in it"
            if unreadable:
                why = f"no run in it can be read: {unreadable[0]}"
            raise HeadwayError(f"{folder}: {why}")
        if is_there(folder / PLAN):
            plan = read_json(folder / PLAN)
            with clear_content_errors(folder / PLAN):
                planned = list(map(str, plan["runs"].keys()))
        members.sort(key=lambda member: natural(member.name))
        name = folder.resolve().name or "runs"
        return cls(folder, name, name, members, unreadable, planned)


def links_from(out: Path) -> Link:
    """Gives the address of a run's own page, as seen from a folder; None if there is no
    page.
    """

    def link(folder: Path) -> str | None:
        page = folder.resolve() / "report.html"
        if not is_file(page):
            return None
        address = os.path.relpath(page, out.resolve())
        return quote(os.fsencode(address))

    return link
