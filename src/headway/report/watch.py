"""What a folder of runs has to show now: the list of all, and the page of each, as data.

Whether something changed is seen from names, times and sizes alone; a page is made when it is asked
for, and kept until a run of it changes.
"""

import hashlib
import os
import shlex
import stat
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Literal
from urllib.parse import quote, unquote_to_bytes

from headway.circuits import THRESHOLD
from headway.circuits.flows import Least
from headway.errors import HeadwayError
from headway.report.examples import Memory, thinned
from headway.report.findings import Findings, judged_loss, refusal
from headway.report.labels import plain
from headway.report.members import Runs
from headway.report.run import run_page
from headway.report.runs import runs_page
from headway.report.schema import ListedGroup, ListedRun, ListPage, Page
from headway.report.settings import task_words
from headway.text import counted
from headway.training import Run
from headway.training.config import Elsewhere
from headway.training.files import (
    clear_content_errors,
    clear_io_errors,
    first_line,
    is_held,
    is_there,
)
from headway.training.finding import PLAN, leads_out, run_folders

KEPT, LISTED, TRIES = 32, 10_000, 3
"""How many pages, and lines of the list, are kept for the next request; how often a page is made
anew because a run was written to meanwhile."""

POINTS = 48
"""The most evaluations in a small curve."""

LATEST = 250e9
"""The last time that a calendar has, in seconds since 1970; a file's can be beyond."""

STATES = ("running", "done", "stopped", "failed", "unreadable")

Name = tuple[str, ...]
"""Where a run lies in the folder: its own name, in a sweep after the sweep's."""

Kind = Literal["list", "run", "sweep", "compare"]
NOUNS: dict[Kind, str] = {"run": "run", "sweep": "sweep", "compare": "comparison"}


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

    def open(self) -> Run:
        """The run.

        Raises:
            HeadwayError: if it must not or cannot be read.
        """
        if self.refused is not None:
            raise HeadwayError(self.refused)
        return Run.open(self.folder)


@dataclass(frozen=True)
class Shown:
    """What an address shows: its kind, the name in it, the runs, and the version of the page."""

    kind: Kind
    name: Name
    entries: tuple[Entry, ...]
    version: str

    @property
    def title(self) -> str:
        """What it is called."""
        if self.kind == "sweep":
            return "/".join(self.name)
        return ", ".join("/".join(entry.name) for entry in self.entries)


class Watch:
    """The runs in a folder, in its sweeps and in its folders of sweeps, and the pages of them.

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
        self._kept = lru_cache(KEPT)(self._made)
        self._memory = lru_cache(KEPT)(_memory)
        self._listed = lru_cache(LISTED)(_listed)
        self._lock, self._list_lock = threading.Lock(), threading.Lock()
        self._folders()

    def find(self, kind: Kind, name: Name = ()) -> Shown | None:
        """What is shown under a name, if there is such a thing; the folder is looked through once.

        Raises:
            HeadwayError: if the folder is gone or cannot be read any more.
        """
        plan, names = "", [name]
        if kind == "list":
            found = self._entries(lambda _: True)
        elif kind == "sweep":
            found = self._entries(lambda one: one[:-1] == name) if name else []
            plan = _mark(self.folder.joinpath(*name, PLAN))
        else:
            if kind == "compare":
                names = [tuple(one.split("/")) for one in name]
            if len({*names}) < len(names) or (kind == "compare" and len(names) < 2):
                return None
            found = self._entries({*names}.__contains__)
            found.sort(key=lambda one: names.index(one.name))
        if kind != "list" and (not found or (kind != "sweep" and len(found) < len(names))):
            return None
        told = [text for entry in found for text in (*entry.name, entry.version)]
        version = found[0].version if kind == "run" else _digest([*told, plan])
        return Shown(kind, name, tuple(found), version)

    def listed(self) -> tuple[str, Callable[[], Page]]:
        """The version of the list of all runs, and what makes its data."""
        try:
            shown = self.find("list")
        except HeadwayError as error:
            why, version = str(error), _digest([str(error)])
            return version, lambda: _without_page("runs", why, version, back=None)
        assert shown is not None
        return shown.version, lambda: self.page(shown)[1]

    def page(self, shown: Shown) -> tuple[bool, Page]:
        """The page's data, and whether it could be made or there is a reason why not.

        A page that cannot be made tells why. A run that is written to meanwhile can look spoilt: it
        is then read again.
        """
        made, why = True, ""
        with self._list_lock if shown.kind == "list" else self._lock:
            for _ in range(TRIES):
                try:
                    return True, self._kept(shown)
                except HeadwayError as error:
                    made, why = True, str(error)
                except Exception as error:
                    made, why = False, f"{type(error).__name__}: {first_line(error)}"
                now = self.find(shown.kind, shown.name)
                if now is None or now.version == shown.version:
                    break
                shown = now
        return made, _without_page(shown.title, why, shown.version)

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
                return self._list(shown)
            case "run":
                run = shown.entries[0].open()
                with run.computing():
                    found, memory = Findings.of(run), self._memory(shown.name)
                    return run_page(found, live=version, memory=memory)
            case "sweep":
                folder = self.folder.joinpath(*shown.name)
                self._require_inside(folder / PLAN)
                return runs_page(Runs.of(folder, _opened(shown.entries)), self._link, version)
            case "compare":
                runs = Runs.named([entry.open() for entry in shown.entries])
                return runs_page(runs, self._link, version)

    def _list(self, shown: Shown) -> ListPage:
        """The data of the list; runs that did not change are not read again."""
        known, groups = list[ListedRun](), dict[Name, list[ListedRun]]()
        for entry in sorted(shown.entries, key=lambda one: len(one.name)):
            known.append(self._listed(entry))
            groups.setdefault(entry.name[:-1], []).append(known[-1])
        states = Counter(run.status for run in known)
        parts = [f"{states[state]} {state}" for state in STATES if states[state]]
        headline, why = " · ".join([counted(len(known), "run"), *parts]), None
        if not known:
            into = shlex.quote(str(self.folder / "first"))
            why = (
                "There are no runs here yet. This trains a first one in a minute or two, and it"
                f" shows here while it does: headway train fast --folder {into}"
            )
        return ListPage(
            kind="list",
            name="runs",
            title=plain(self.folder.name or self._root.name),
            headline=headline,
            summary=[headline, *([why] if why else [])],
            groups=[
                ListedGroup(plain("/".join(name)), link("sweep", name) if name else "", runs)
                for name, runs in groups.items()
            ],
            threshold=THRESHOLD,
            why=why,
            back=None,
            live=shown.version,
        )

    def _link(self, folder: Path) -> str | None:
        """The address of the page of a run in the folder."""
        return link("run", folder.absolute().relative_to(self.folder.absolute()).parts)

    def _entries(self, asked: Callable[[Name], bool]) -> list[Entry]:
        """The runs whose names are asked for, in natural order."""
        return [self._entry(name, path) for name, path in self._folders().items() if asked(name)]

    def _folders(self) -> dict[Name, Path]:
        found = run_folders(self.folder, self._root)
        if found == [self.folder]:
            return {(self._root.name,): self.folder}
        return {path.relative_to(self.folder).parts: path for path in found}

    def _entry(self, name: Name, folder: Path) -> Entry:
        try:
            marks = dict(self._marks(folder))
        except HeadwayError as error:
            return Entry(name, folder, _digest([str(error)]), refused=str(error))
        changed = max((at for at in marks.values() if at), default=None)
        return Entry(name, folder, _digest(marks), None if changed is None else changed / 1e9)

    def _marks(self, folder: Path) -> Iterator[tuple[str, int]]:
        """Texts by which a change of a run's folder is noticed, with times in nanoseconds, or 0.

        Raises:
            HeadwayError: if it cannot be read, or something in it must not be.
        """
        names = set[str]()
        for entry in _scanned(folder):
            names.add(entry.name)
            if entry.name == ".lock":
                self._require_inside(entry)
            elif entry.name == "checkpoints":
                self._require_inside(entry)
                for one in _scanned(entry):
                    if not one.name.startswith("."):
                        self._require_inside(one)
                        _require_file(one.is_file(), one)
                        yield one.name, 0
            elif not entry.name.startswith(".") and entry.name.endswith((".json", ".jsonl")):
                self._require_inside(entry)
                with clear_io_errors(Path(entry), "read"):
                    try:
                        told = entry.stat()
                    except FileNotFoundError:  # gone in the meantime
                        continue
                _require_file(stat.S_ISREG(told.st_mode), entry)
                yield _mark(entry), told.st_mtime_ns
        if ".lock" in names and "outcome.json" not in names and is_held(folder / ".lock"):
            yield "running", 0

    def _require_inside(self, path: Path | os.DirEntry[str]) -> None:
        """Refuses a link that leads out of the folder."""
        if leads_out(path, self._root):
            where = os.fspath(path)
            raise HeadwayError(f"{where} is a link that leads out of {self.folder}")


def _listed(entry: Entry) -> ListedRun:
    """What the list says of a run, or why it cannot be read."""
    at = entry.changed and datetime.fromtimestamp(min(max(entry.changed, 0.0), LATEST), UTC)
    unread = ListedRun(
        name=plain(entry.name[-1]),
        link=link("run", entry.name),
        key=_quoted("/".join(entry.name)),
        status="unreadable",
        changed=f"{at:%Y-%m-%dT%H:%M:%SZ}" if at else None,
    )
    try:
        return _read(entry, unread)
    except HeadwayError as error:
        why = str(error)
    except Exception as error:
        why = f"{entry.folder}: {type(error).__name__}: {first_line(error)}"
    return replace(unread, message=plain(why))


def _read(entry: Entry, unread: ListedRun) -> ListedRun:
    """What the list says of a run.

    Raises:
        HeadwayError: if its folder cannot be read, or a file in it is corrupted.
    """
    run = entry.open()
    config, task, status = run.config, run.config.task, run.status
    outcome, metrics, found = run.outcome() or {}, run.metrics(), run.read("circuit.json")
    last, circuit = metrics[-1] if metrics else {}, refusal(run) or ""
    with clear_content_errors(entry.folder / "circuit.json"):
        if found is not None:
            useful = counted(int(found["useful_heads"]), "useful head")
            circuit = f"{useful} in {counted(int(found['useful_layers']), 'layer')}"
            least = Least.of(task, config.model.causal)
            circuit += f", flow minimum {least.cell}" if least.known else ""
    message = str(outcome.get("message") or "") if status == "failed" else ""
    for folder in (entry.folder.absolute(), entry.folder):
        message = message.replace(f" in {folder}", "")
    mask = "" if config.model.causal else ", no mask"
    layers, heads = config.model.n_layers, config.model.n_heads
    size = f"{counted(layers, 'layer')} × {counted(heads, 'head')}"
    return replace(
        unread,
        status=status,
        message=plain(message),
        task=plain(task_words(task) + mask),
        model=f"{size} · seed {config.seed}",
        step=last.get("step", 0),
        steps=None if isinstance(config.training, Elsewhere) else config.training.steps,
        loss=last.get("val_loss"),
        solved=bool(metrics) and judged_loss(run.task, last) < THRESHOLD,
        curve=[(line["step"], line["val_loss"]) for line in thinned(metrics, POINTS)],
        circuit=circuit,
    )


def _memory(_: Name) -> Memory:
    """That of a run's checkpoints, empty at first."""
    return {}


def _opened(entries: Iterable[Entry]) -> Iterator[Run | HeadwayError]:
    """Every run, or why it cannot be read."""
    for entry in entries:
        try:
            yield entry.open()
        except HeadwayError as error:
            yield error


def _without_page(name: str, why: str, version: str, back: str | None = "/") -> ListPage:
    """The page that says why there is none of something; it looks again when that changes."""
    text = (
        "There is nothing to show as it is now. This page looks again whenever something changes."
    )
    return ListPage(
        kind="list",
        name="runs",
        title=plain(name),
        headline=text,
        summary=[text, plain(why)],
        groups=[],
        threshold=THRESHOLD,
        why=plain(why),
        back=back,
        live=version,
    )


def link(kind: str, name: Name) -> str:
    """The address of a page on the server: of a run, of a sweep, or of runs side by side."""
    return f"/{kind}/" + "".join(f"{_quoted(part)}/" for part in name)


def decoded(parts: Sequence[str]) -> Name:
    """A name from the parts of an address."""
    return tuple(os.fsdecode(unquote_to_bytes(part)) for part in parts)


def _quoted(text: str) -> str:
    return quote(os.fsencode(text), safe="")


def _scanned(folder: Path | os.DirEntry[str]) -> list[os.DirEntry[str]]:
    """What lies in a folder, by name."""
    with clear_io_errors(Path(folder), "read"), os.scandir(folder) as found:
        return sorted(found, key=lambda entry: entry.name)


def _require_file(is_file: bool, entry: os.DirEntry[str]) -> None:
    """Refuses what only looks like a file: reading from a pipe would wait for ever."""
    if not is_file:
        raise HeadwayError(f"{entry.path} is not a file")


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
