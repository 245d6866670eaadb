"""The page of all runs."""

import threading
from pathlib import Path

from headway.errors import HeadwayError
from headway.report.page.html import counted, tag
from headway.report.server.catalogue import Catalogue, Entry, Name, digest
from headway.report.server.document import asset, document, plain
from headway.report.server.rows import COLUMNS, row_of
from headway.report.server.summary import Summary, summary_of
from headway.training.files import first_line


class Index:
    """The page of all runs in a catalogue; of a run that did not change nothing is read again."""

    def __init__(self, catalogue: Catalogue):
        self._catalogue = catalogue
        self._known: dict[Name, tuple[str, Summary | str]] = {}
        self._lock = threading.Lock()

    def version(self) -> str:
        """A short text, another one whenever the page changed."""
        try:
            return _version(self._catalogue.entries())
        except HeadwayError as error:
            return digest([str(error)])

    def page(self) -> str:
        """The page as HTML."""
        folder = self._catalogue.folder
        try:
            entries = self._catalogue.entries()
        except HeadwayError as error:
            return document("headway · runs", digest([str(error)]), "", _missing(plain(error)))
        with self._lock:
            known = {entry.name: self._summed_up(entry) for entry in entries}
            self._known = known
        rows = [(entry, known[entry.name][1]) for entry in entries]
        main = "".join(_group(name, group) for name, group in _grouped(rows).items())
        return document(
            title=f"{folder} · headway",
            version=_version(entries),
            header=_header(folder, [row for _, row in rows]),
            main=main or _missing(_first_run(folder)),
            tools=_TOOLS,
            script=asset("index.js"),
        )

    def _summed_up(self, entry: Entry) -> tuple[str, Summary | str]:
        """An entry's version, and what is said of it: if it cannot be read, why."""
        before = self._known.get(entry.name)
        if before is not None and before[0] == entry.version:
            return before
        if entry.refused is not None:
            return entry.version, entry.refused
        try:
            return entry.version, summary_of(entry)
        except HeadwayError as error:
            return entry.version, str(error)
        except Exception as error:
            return entry.version, f"{entry.folder}: {type(error).__name__}: {first_line(error)}"


_TOOLS = (
    '<div class="tools"><input type="search" id="filter" placeholder="Filter: name, task, status …"'
    ' aria-label="filter the runs" autocomplete="off" spellcheck="false">'
    '<output id="matching" for="filter"></output></div>'
)


def _version(entries: list[Entry]) -> str:
    return digest(text for entry in entries for text in (*entry.name, entry.version))


def _grouped(
    rows: list[tuple[Entry, Summary | str]],
) -> dict[str, list[tuple[Entry, Summary | str]]]:
    """The rows by the sweep that they belong to; runs outside of any first, under no name."""
    groups: dict[str, list[tuple[Entry, Summary | str]]] = {}
    for entry, row in sorted(rows, key=lambda row: len(row[0].name)):
        groups.setdefault("/".join(entry.name[:-1]), []).append((entry, row))
    return groups


def _header(folder: Path, rows: list[Summary | str]) -> str:
    name = plain(folder.name or folder.resolve().name)
    return (
        '<p class="kicker">headway · runs</p>'
        f"<h1><bdi>{name}</bdi></h1>\n"
        f'<p class="setting">{plain(_counts(rows))}</p>\n'
    )


def _counts(rows: list[Summary | str]) -> str:
    states = [row.status if isinstance(row, Summary) else "unreadable" for row in rows]
    order = ("running", "done", "stopped", "failed", "unreadable")
    parts = [f"{states.count(state)} {state}" for state in order if state in states]
    return " · ".join([counted(len(rows), "run"), *parts])


def _group(name: str, rows: list[tuple[Entry, Summary | str]]) -> str:
    """The table of the runs that lie together."""
    title = ""
    if name:
        counts = plain(_counts([row for _, row in rows]))
        title = f"<h2><bdi>{plain(name)}</bdi> <small>{counts}</small></h2>\n"
    head = "".join(tag("th", plain(column), scope="col") for column in COLUMNS)
    body = "\n".join(row_of(entry, row) for entry, row in rows)
    table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
    label = f"the runs of {name}" if name else "runs"
    box = tag("div", table, class_="scroll", tabindex="0", role="group", aria_label=label)
    return f"<section>\n{title}{box}\n</section>\n"


def _first_run(folder: Path) -> str:
    place = "" if folder == Path("runs") else f" --folder {folder / 'first'}"
    return (
        "There are no runs here yet. This trains a first one in a minute or two, and it shows"
        f" here while it does: <code>headway train fast{plain(place)}</code>"
    )


def _missing(html: str) -> str:
    return tag("p", html, class_="missing")
