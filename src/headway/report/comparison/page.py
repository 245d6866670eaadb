"""The page that compares runs, put together."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from markupsafe import Markup

from headway.errors import HeadwayError
from headway.report.comparison.births import births
from headway.report.comparison.header import first_screen
from headway.report.comparison.members import Link, Member, links_from
from headway.report.comparison.runs import the_runs
from headway.report.comparison.shared import shared
from headway.report.page.circuit import legend
from headway.report.page.circuit_svg import circuit_svg
from headway.report.page.document import MANY_RUNS, document
from headway.report.page.looks import Look, path_looks
from headway.training import Run
from headway.training.files import write_text

FILE = "comparison.html"


def write_comparison(runs: Sequence[Run], out: Path | None = None) -> Path:
    """Writes one page about several runs.

    Args:
        runs: at least two.
        out: the page; by default `comparison.html` in the folder that holds all of the runs.

    Returns: the page's path.

    Raises:
        HeadwayError: if a run is named twice, there are fewer than two, no folder but the root
            holds them all, a file of a run is corrupted, or the disk does not take the page.
    """
    page = out or _shared_folder([run.folder for run in runs]) / FILE
    write_text(page, render_comparison(runs, links_from(page.parent)))
    return page


def render_comparison(runs: Sequence[Run], link: Link, live: bool = False) -> str:
    """The page as text.

    Args:
        runs: at least two.
        link: gives the address of a run's own page.
        live: whether the page is served, and to follow the runs as they change.

    Raises:
        HeadwayError: if a run is named twice, there are fewer than two, or a file of one is
            corrupted.
    """
    folders = [run.folder.resolve() for run in runs]
    for number, folder in enumerate(folders):
        if folder in folders[:number]:
            raise HeadwayError(f"{runs[number].folder} is named twice: a run is compared to others")
    if len(runs) < 2:
        raise HeadwayError(f"{len(runs)} run cannot be compared: name at least two")
    base = Path(os.path.commonpath([folder.parent for folder in folders]))
    members = [Member.of(i, run, base, link) for i, run in enumerate(runs, start=1)]
    screen = first_screen(members, base.name or str(base))
    return document(
        "comparison/page.html",
        about=f"{screen['title']} — {len(members)} runs",
        name="comparison",
        scripts=MANY_RUNS,
        styles=("many.css",),
        live=live,
        members=members,
        compared=shared(members),
        drawings=[(member, _small(member)) for member in members if member.findings.discovery],
        legend=legend(look for member in members for look in _looks(member)),
        **screen,
        **the_runs(members),
        **births(members),
    )


def _small(member: Member) -> Markup:
    discovery = member.findings.discovery
    return circuit_svg(member.circuit, member.findings.task, discovery, bare=True)


def _looks(member: Member) -> Iterable[Look]:
    """The looks of the paths of a run's circuit; a symbol has the same colour in each run."""
    if member.findings.discovery is None:
        return []
    return path_looks(member.findings.task, member.circuit.paths).values()


def _shared_folder(folders: Sequence[Path]) -> Path:
    """The folder that holds all of some folders, as the user would write it if they agree."""
    parents = [folder.parent for folder in folders]
    if len(set(parents)) == 1:
        return parents[0]
    base = Path(os.path.commonpath([parent.resolve() for parent in parents]))
    if base == Path(base.anchor):
        raise HeadwayError("no folder holds all of these runs: say where to with --out FILE")
    return base
