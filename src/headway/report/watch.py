"""The pages that a folder of runs has now: the list of all, and the page of each, as
data.

Whether something changed is seen from names, times and sizes alone; a page is made when
it is asked for, and kept until a run of it changes.
"""

import hashlib
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal
from urllib.parse import unquote_to_bytes

from headway.errors import HeadwayError
from headway.report.examples import Memory
from headway.report.findings import Findings
from headway.report.listing import Entry, Name, link, list_page, listed, nothing
from headway.report.members import Runs
from headway.report.run import run_page
from headway.report.runs import runs_page
from headway.report.schema import Page
from headway.training.files import clear_io_errors, is_held, is_there
from headway.training.finding import PLAN, leads_out, run_folders

KEPT, LISTED = 32, 10_000
"""The most pages, and lines of the list, that are kept for the next request."""

Kind = Literal["list", "run", "sweep", "compare"]
NOUNS: dict[Kind, str] = {"run": "run", "sweep": "sweep", "compare": "comparison"}


@dataclass(frozen=True)
class Shown:
    """The page of an address: its kind, the name in it, the runs, and the version of
    the page.
    """

    kind: Kind
    name: Name
    entries: tuple[Entry, ...]
    version: str


class Watch:
    """The runs in a folder, in its sweeps and in its folders of sweeps, and the pages
    of them.

    What is not in the folder itself is not looked at. Folders behind links that lead
    out of it are left out; a run with a file behind such a link is refused.

    Args:
        folder: that holds runs' folders, or sweeps' folders, or a run's own.

    Raises:
        HeadwayError: if there is no such folder, or it cannot be read.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        is_there(folder)  # complains of names that no file can have
        self._root = Path(os.path.realpath(folder))
        self._kept = lru_cache(KEPT)(self._made)
        self._memory = lru_cache(KEPT)(lambda _: Memory())
        self._listed = lru_cache(LISTED)(listed)
        self._lock = threading.Lock()
        self._list_lock = threading.Lock()
        self._folders()

    def find(self, kind: Kind, name: Name = ()) -> Shown | None:
        """The page under a name, if there is such a thing; the folder is looked through
        once.

        Raises:
            HeadwayError: if the folder is gone or cannot be read any more.
        """
        folders = self._folders()
        match kind:
            case "list":
                least = 0
                names = list(folders)
            case "run":
                least = 1
                names = [name]
            case "sweep":
                least = 1
                names = [
                    run_name for run_name in folders if name and run_name[:-1] == name
                ]
            case "compare":
                least = 2
                names = [tuple(run_name.split("/")) for run_name in name]
        if not least <= len(names) == len({*names} & folders.keys()):
            return None
        entries = tuple(self._entry(run_name, folders[run_name]) for run_name in names)
        marks = [text for entry in entries for text in (*entry.name, entry.version)]
        plan = ""
        if kind == "sweep":
            plan = _mark(self.folder.joinpath(*name, PLAN))
        return Shown(kind, name, entries, _digest([*marks, plan]))

    def page(self, shown: Shown) -> Page:
        """The page's data, or a page that says why there is none."""
        try:
            with self._list_lock if shown.kind == "list" else self._lock:
                return self._kept(shown)
        except HeadwayError as error:
            return nothing("/".join(shown.name), str(error), shown.version)

    def close(self, seconds: float = 5.0) -> None:
        """Begins no further page, and waits a while for the one that is being made."""
        self._lock.acquire(timeout=seconds)

    def _made(self, shown: Shown) -> Page:
        """The page's data; checkpoints seen before are not computed again.

        Raises:
            HeadwayError: if a folder cannot be read, or a file in it is corrupted.
        """
        version = shown.version
        match shown.kind:
            case "list":
                rows = [self._listed(entry) for entry in shown.entries]
                return list_page(self.folder, rows, version)
            case "run":
                run = shown.entries[0].open()
                with run.computing():
                    findings = Findings.of(run)
                    memory = self._memory(shown.name)
                    return run_page(findings, live=version, memory=memory)
            case "sweep":
                folder = self.folder.joinpath(*shown.name)
                self._require_inside(folder / PLAN)
                runs = Runs.of(folder, [entry.open for entry in shown.entries])
                return runs_page(runs, self._link, version)
            case "compare":
                runs = Runs.named([entry.open() for entry in shown.entries])
                return runs_page(runs, self._link, version)

    def _link(self, folder: Path) -> str | None:
        """The address of the page of a run in the folder."""
        return link("run", folder.absolute().relative_to(self.folder.absolute()).parts)

    def _folders(self) -> dict[Name, Path]:
        """The runs' folders by their names, in natural order."""
        folders = run_folders(self.folder, self._root)
        if folders == [self.folder]:
            return {(self._root.name,): self.folder}
        return {path.relative_to(self.folder).parts: path for path in folders}

    def _entry(self, name: Name, folder: Path) -> Entry:
        try:
            marks = dict(self._marks(folder))
        except HeadwayError as error:
            return Entry(name, folder, _digest([str(error)]), refused=str(error))
        return Entry(
            name, folder, _digest(marks), max(marks.values(), default=0.0) or None
        )

    def _marks(self, folder: Path) -> Iterator[tuple[str, float]]:
        """Texts by which a change of a run's folder is noticed, with times in seconds,
        or 0.

        Raises:
            HeadwayError: if it cannot be read, or something in it must not be.
        """
        for entry in _scanned(folder):
            if entry.name == "checkpoints":
                self._require_inside(entry)
                for below in _scanned(entry):
                    if not below.name.startswith("."):
                        self._require_file(below)
                        yield below.name, 0.0
            elif entry.name == ".lock":
                self._require_inside(entry)
                if not is_there(folder / "outcome.json") and is_held(folder / ".lock"):
                    yield "running", 0.0
            elif entry.name.endswith((".json", ".jsonl")) and not entry.name.startswith(
                "."
            ):
                self._require_file(entry)
                if mark := _mark(entry):  # else gone in the meantime
                    yield mark, entry.stat().st_mtime

    def _require_inside(self, path: Path | os.DirEntry[str]) -> None:
        """Refuses a link that leads out of the folder."""
        if leads_out(path, self._root):
            where = os.fspath(path)
            raise HeadwayError(f"{where} is a link that leads out of {self.folder}")

    def _require_file(self, entry: os.DirEntry[str]) -> None:
        """Refuses what only looks like a file, too: reading from a pipe would wait for
        ever.
        """
        self._require_inside(entry)
        with clear_io_errors(Path(entry), "read"):
            if not entry.is_file():
                raise HeadwayError(f"{entry.path} is not a file")


def decoded(parts: Sequence[str]) -> Name:
    """A name from the parts of an address."""
    return tuple(os.fsdecode(unquote_to_bytes(part)) for part in parts)


def _scanned(folder: Path | os.DirEntry[str]) -> list[os.DirEntry[str]]:
    """The entries of a folder, by name."""
    with clear_io_errors(Path(folder), "read"), os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def _mark(path: Path | os.DirEntry[str]) -> str:
    """A text that changes with a file; empty if there is none."""
    try:
        told = path.stat()
    except OSError:
        return ""
    return f"{path.name} {told.st_mtime_ns} {told.st_size} {told.st_ino}"


def _digest(texts: Iterable[str]) -> str:
    """A short text that differs for different texts."""
    joined = "\0".join(texts).encode("utf-8", "backslashreplace")
    return hashlib.blake2b(joined, digest_size=12).hexdigest()
