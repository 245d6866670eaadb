"""The page of a folder of runs, put together."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from headway.circuits import THRESHOLD
from headway.report.page.header import setting_of
from headway.report.page.html import counted, escape, listed, number, whole
from headway.report.page.render import document
from headway.report.page.tiles import tiles
from headway.report.sweep.axes import SEED, Axis, axes_of
from headway.report.sweep.curves import curves
from headway.report.sweep.depths import depths
from headway.report.sweep.emergence import emergence
from headway.report.sweep.entries import Entry, Gathered, gather
from headway.report.sweep.fields import by_field
from headway.report.sweep.numbers import Came
from headway.report.sweep.table import the_runs
from headway.training.files import write_text

FILE = "report.html"
SCRIPTS = ("state.js", "charts.js", "compare.js", "sort.js", "keep.js", "start.js")
FOOTER = "Every number on this page was read from the runs' folders."


def write_sweep(folder: Path, out: Path | None = None) -> Path:
    """Writes one page about all runs of a folder.

    Args:
        folder: of a sweep, or any that holds runs.
        out: the page; none means `report.html` in the folder.

    Returns: the page's path.

    Raises:
        HeadwayError: if there is no run in the folder, its plan is corrupted, or the disk does not
            take the page.
    """
    page = out or folder / FILE
    write_text(page, render_sweep(gather(folder), page.parent))
    return page


def render_sweep(found: Gathered, out: Path) -> str:
    """The page as text.

    Args:
        found: the folder.
        out: the folder that the page will lie in, from which it links to those of the runs.
    """
    entries, axes = found.entries, axes_of(found.entries)
    name = found.folder.resolve().name
    main = the_runs(found, axes, out) + by_field(entries, axes)
    links = {"runs": "Runs", "fields": "Losses"}
    table = depths(entries, axes)
    if table:
        links["grid"] = "Grid"
    links |= {"curves": "Training", "emergence": "Emergence"}
    main += table + curves(entries, axes) + emergence(entries, axes)
    look = {"scripts": SCRIPTS, "styles": ("many.css",), "footer": FOOTER}
    about = f"{name} — {counted(len(entries), 'run')}"
    return document(about, _header(found, axes, name, links), main, name, **look)


def _header(found: Gathered, axes: Sequence[Axis], name: str, links: dict[str, str]) -> str:
    menu = "".join(f'<a href="#{to}">{escape(text)}</a>' for to, text in links.items())
    seeds = {entry.config.seed for entry in found.entries}
    sizes = [f"{escape(axis.name)} ({len(axis.values)} values)" for axis in axes]
    sizes += [f"{SEED} ({len(seeds)})"] if len(seeds) > 1 else []
    varies = " × ".join(sizes) or "nothing"
    return (
        f'<p class="kicker">headway · {"sweep" if found.planned is not None else "runs"}</p>\n'
        f"<h1>{escape(name)}</h1>\n"
        f'<p class="setting">{_setting(found)} · <b>what varies: {varies}</b></p>\n'
        f'<p class="verdict">{_verdict(found)}</p>\n'
        f'{tiles(_tiles(found))}\n<nav aria-label="sections">{menu}</nav>\n'
    )


def _setting(found: Gathered) -> str:
    """What all runs have in common."""
    parts = [setting_of(entry.config).split(" · ") for entry in found.entries]
    common = [part for part in parts[0] if all(part in others for others in parts)]
    return " · ".join([counted(len(parts), "run"), *common])


def _verdict(found: Gathered) -> str:
    came = Came.of(found.entries)
    parts = []
    for status in ("failed", "running", "stopped"):
        count = _count(found.entries, status)
        parts += [f"{count} {status}"] if count else []
    parts += [f"{len(found.missing)} not started"] if found.missing else []
    parts += [f"{len(found.unreadable)} cannot be read"] if found.unreadable else []
    told = f"{came.done} of {counted(found.planned or came.runs, 'run')} done"
    told += f"; {listed(parts)}. " if parts else ". "
    if not came.done:
        return told
    told += (
        f"{came.solved} of {came.done} solved the task (validation loss below {THRESHOLD:g}); the"
        f" median loss is {number(came.median)}, from {number(came.losses[0])} to"
        f" {number(came.losses[-1])}."
    )
    return told


def _count(entries: Sequence[Entry], status: str) -> int:
    return sum(entry.status == status for entry in entries)


def _tiles(found: Gathered) -> list[tuple[str, str, str]]:
    entries, came = found.entries, Came.of(found.entries)
    seconds = [entry.seconds for entry in entries if entry.seconds is not None]
    planned = found.planned or len(entries)
    running, stopped = _count(entries, "running"), _count(entries, "stopped")
    return [
        (
            "Done",
            f"{came.done} <small>of {planned}</small>",
            "runs of the plan" if found.planned else "runs in the folder",
        ),
        ("Solved", f"{came.solved} <small>of {came.done}</small>", f"loss below {THRESHOLD:g}"),
        (
            "Failed",
            str(_count(entries, "failed")),
            "messages in section 1" if _count(entries, "failed") else "",
        ),
        ("Running", str(running), f"{stopped} stopped, {len(found.missing)} not started"),
        ("Median loss", number(came.median), "of the runs that are done"),
        (
            "Seconds a run",
            number(None) if not seconds else whole(median(seconds)),
            f"median; {sum(seconds) / 3600:.3g} hours in all",
        ),
    ]
