"""The page of all runs."""

import shlex
import threading
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError
from headway.report.page.document import asset, joined
from headway.report.server.catalogue import Catalogue, Entry, Name, digest
from headway.report.server.document import document
from headway.report.server.rows import link, row_of
from headway.report.server.summary import Summary, summary_of
from headway.training.files import first_line

INDEX = joined(("state.js", "sort.js")) + asset("index.js", "server")
"""The script of the page of all runs."""


class Index:
    """The page of all runs in a catalogue; runs that did not change are not read again."""

    def __init__(self, catalogue: Catalogue):
        self._catalogue = catalogue
        self._known: dict[Name, tuple[str, Summary | str]] = {}
        self._lock = threading.Lock()

    def version(self) -> str:
        """A short text, which changes with the page."""
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
            gone = {"version": digest([str(error)]), "why": str(error), "groups": {}}
            return document("server/index.html", "headway · runs", **gone)
        with self._lock:
            known = {entry.name: self._summed_up(entry) for entry in entries}
            self._known = known
        rows = [row_of(entry, known[entry.name][1]) for entry in entries]
        first = shlex.quote(str(folder / "first"))
        return document(
            "server/index.html",
            f"{folder} · headway",
            version=_version(entries),
            script=INDEX,
            folder=folder.name or folder.resolve().name,
            first="" if folder == Path("runs") else f" --folder {first}",
            rows=rows,
            groups=_grouped(rows),
        )

    def _summed_up(self, entry: Entry) -> tuple[str, Summary | str]:
        """An entry's version, and its summary, or why it cannot be read."""
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


def _version(entries: list[Entry]) -> str:
    return digest(text for entry in entries for text in (*entry.name, entry.version))


def _grouped(rows: list[dict[str, Any]]) -> dict[str, tuple[str, list[dict[str, Any]]]]:
    """The rows by the sweep that they belong to, with its address; runs outside of any first, under
    no name."""
    groups: dict[str, tuple[str, list[dict[str, Any]]]] = {}
    for row in sorted(rows, key=lambda row: len(row["entry"].name)):
        sweep = row["entry"].name[:-1]
        groups.setdefault("/".join(sweep), (link("sweep", sweep), []))[1].append(row)
    return groups
