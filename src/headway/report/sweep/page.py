"""The page of a folder of runs, put together."""

from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

from headway.report.comparison.members import Link, links_from
from headway.report.page.document import MANY_RUNS, document
from headway.report.settings import common_parts
from headway.report.sweep.axes import axes_of
from headway.report.sweep.curves import curves
from headway.report.sweep.depths import depths
from headway.report.sweep.emergence import emergence
from headway.report.sweep.entries import Gathered, gather
from headway.report.sweep.fields import by_field
from headway.report.sweep.numbers import COLUMNS, Came
from headway.report.sweep.table import the_runs
from headway.text import counted
from headway.training.files import write_text

FILE = "report.html"


def write_sweep(folder: Path, out: Path | None = None) -> Path:
    """Writes one page about all runs of a folder.

    Args:
        folder: of a sweep, or any that holds runs.
        out: the page; by default `report.html` in the folder.

    Returns: the page's path.

    Raises:
        HeadwayError: if there is no run in the folder, its plan is corrupted, or the disk does not
            take the page.
    """
    page = out or folder / FILE
    write_text(page, render_sweep(gather(folder), links_from(page.parent)))
    return page


def render_sweep(found: Gathered, link: Link, live: bool = False) -> str:
    """The page as text.

    Args:
        found: the folder.
        link: gives the address of a run's own page.
        live: whether the page is served, and to follow the runs as they change.
    """
    entries, axes = found.entries, axes_of(found.entries)
    name = found.folder.resolve().name
    return document(
        "sweep/page.html",
        about=f"{name} — {counted(len(entries), 'run')}",
        name=name,
        scripts=MANY_RUNS,
        styles=("many.css",),
        live=live,
        found=found,
        axes=axes,
        columns=list(COLUMNS),
        pictures=by_field(entries, axes),
        grid=depths(entries, axes),
        curves=curves(entries, axes),
        emergence=emergence(entries, axes),
        **the_runs(found, axes, link),
        **_first_screen(found),
    )


def _first_screen(found: Gathered) -> dict[str, Any]:
    entries = found.entries
    states = Counter(entry.status for entry in entries)
    counts = {word: states[word] for word in ("failed", "running", "stopped")}
    counts |= {"not started": len(found.missing), "cannot be read": len(found.unreadable)}
    seconds = [entry.seconds for entry in entries if entry.seconds is not None]
    return {
        "title": found.folder.resolve().name,
        "kicker": "sweep" if found.planned is not None else "runs",
        "common": common_parts([entry.config for entry in entries]),
        "seeds": len({entry.config.seed for entry in entries}),
        "came": Came.of(entries),
        "states": states,
        "unfinished": [f"{count} {word}" for word, count in counts.items() if count],
        "middle": median(seconds) if seconds else None,
        "hours": sum(seconds) / 3600,
    }
