"""Which runs a folder holds, and whether they changed, by names, times and sizes alone."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from headway.errors import HeadwayError
from headway.training.files import clear_io_errors, is_held, is_there
from headway.training.finding import leads_out, run_folders

Name = tuple[str, ...]
"""Where a run lies in the folder: its own name, in a sweep after the sweep's."""


@dataclass(frozen=True)
class Entry:
    """A run's folder as it is now, unread.

    Attributes:
        name: that it is known by.
        folder: where it lies.
        version: a short text, which changes with everything that a page shows.
        changed: when it was last written to, in seconds since 1970; None if nothing is in it.
        refused: why it must not be read, if so.
    """

    name: Name
    folder: Path
    version: str
    changed: float | None = None
    refused: str | None = None


class Catalogue:
    """The runs in a folder, in its sweeps and in its folders of sweeps.

    What is not in the folder itself is not looked at. Folders behind links that lead out of it are
    left out; a run with a file behind such a link is refused.

    Args:
        folder: that holds runs' folders, or sweeps' folders, or a run's own.

    Raises:
        HeadwayError: if there is no such folder, or it cannot be read.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        is_there(folder)  # complains of names that no file can have
        self._root = Path(os.path.realpath(folder))
        self._folders()

    def entries(self, asked: Callable[[Name], bool] = lambda _: True) -> list[Entry]:
        """The runs whose names are asked for, in natural order; the folder is looked through once.

        Raises:
            HeadwayError: if the folder is gone or cannot be read any more.
        """
        return [self._entry(name, path) for name, path in self._folders().items() if asked(name)]

    def mark_of(self, file: str, name: Name) -> str:
        """A text that changes with a file beside the runs of a name; empty if there is none."""
        try:
            told = self.folder.joinpath(*name, file).lstat()
        except OSError:
            return ""
        return repr(_Mark(file, told.st_mtime_ns, told.st_size, told.st_ino))

    def _folders(self) -> dict[Name, Path]:
        found = run_folders(self.folder, self._root)
        if found == [self.folder]:
            return {(self._root.name,): self.folder}
        return {path.relative_to(self.folder).parts: path for path in found}

    def _entry(self, name: Name, folder: Path) -> Entry:
        try:
            marks = list(self._marks(folder))
        except HeadwayError as error:
            return Entry(name, folder, digest([str(error)]), refused=str(error))
        changed = max((mark.time for mark in marks if mark.time), default=None)
        seconds = None if changed is None else changed / 1e9
        return Entry(name, folder, digest(map(repr, marks)), seconds)

    def _marks(self, folder: Path) -> Iterator["_Mark"]:
        """The marks of a run's folder by which a change is noticed.

        Raises:
            HeadwayError: if it cannot be read, or something in it must not be.
        """
        names = set[str]()
        for entry in _scanned(folder):
            names.add(entry.name)
            if entry.name == ".lock":
                self.require_inside(entry)
            elif entry.name == "checkpoints":
                self.require_inside(entry)
                yield from self._checkpoints(entry)
            elif not entry.name.startswith(".") and entry.name.endswith((".json", ".jsonl")):
                yield from self._file(entry)
        if ".lock" in names and "outcome.json" not in names and is_held(folder / ".lock"):
            yield _Mark("running")

    def _checkpoints(self, folder: os.DirEntry[str]) -> Iterator["_Mark"]:
        for entry in _scanned(folder):
            if not entry.name.startswith("."):
                self.require_inside(entry)
                _require_file(entry.is_file(), entry)
                yield _Mark(entry.name)

    def _file(self, entry: os.DirEntry[str]) -> Iterator["_Mark"]:
        self.require_inside(entry)
        with clear_io_errors(Path(entry), "read"):
            try:
                told = entry.stat()
            except FileNotFoundError:  # gone in the meantime
                return
        _require_file(stat.S_ISREG(told.st_mode), entry)
        yield _Mark(entry.name, told.st_mtime_ns, told.st_size, told.st_ino)

    def require_inside(self, path: Path | os.DirEntry[str]) -> None:
        """Refuses a link that leads out of the folder.

        Raises:
            HeadwayError: if it is one.
        """
        if leads_out(path, self._root):
            where = os.fspath(path)
            raise HeadwayError(f"{where} is a link that leads out of {self.folder}")


class _Mark(NamedTuple):
    """Something in a run's folder, as far as it tells a change. The time is in nanoseconds."""

    name: str
    time: int = 0
    size: int = 0
    number: int = 0


def _scanned(folder: Path | os.DirEntry[str]) -> list[os.DirEntry[str]]:
    """What lies in a folder, by name."""
    with clear_io_errors(Path(folder), "read"), os.scandir(folder) as found:
        return sorted(found, key=lambda entry: entry.name)


def _require_file(is_file: bool, entry: os.DirEntry[str]) -> None:
    """Refuses what only looks like a file: reading from a pipe would wait for ever."""
    if not is_file:
        raise HeadwayError(f"{entry.path} is not a file")


def digest(texts: Iterable[str]) -> str:
    """A short text that differs for different texts."""
    joined = "\0".join(texts).encode("utf-8", "backslashreplace")
    return hashlib.blake2b(joined, digest_size=12).hexdigest()
