"""The pages that are made from runs' folders when they are asked for."""

import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import unquote_to_bytes

from headway.errors import HeadwayError
from headway.report.comparison import comparison_page
from headway.report.entries import gathered, planned_in
from headway.report.examples import Memory
from headway.report.findings import Findings
from headway.report.run import run_page
from headway.report.schema import Page
from headway.report.server.catalogue import Catalogue, Entry, Name, digest
from headway.report.server.listing import link, without_page
from headway.report.sweep import sweep_page
from headway.training import Run
from headway.training.files import first_line
from headway.training.finding import PLAN

KEPT = 32
"""How many pages are kept for the next request."""

TRIES = 3

Kind = Literal["run", "sweep", "compare"]
NOUNS: dict[Kind, str] = {"run": "run", "sweep": "sweep", "compare": "comparison"}
FEWEST: dict[Kind, int] = {"run": 1, "compare": 2}
"""Runs that must be named."""


@dataclass(frozen=True)
class Shown:
    """What an address shows.

    Attributes:
        kind: a run, all runs of a sweep, or some runs side by side.
        name: of the run or the sweep; for runs side by side, the address of each.
        entries: the runs.
        plan: a text that changes with the plan of a sweep.
    """

    kind: Kind
    name: Name
    entries: Sequence[Entry]
    plan: str = ""

    @property
    def key(self) -> tuple[Kind, Name]:
        """What it is known by."""
        return self.kind, self.name

    @property
    def title(self) -> str:
        """What it is called."""
        if self.kind == "sweep":
            return "/".join(self.name)
        return ", ".join("/".join(entry.name) for entry in self.entries)

    @property
    def version(self) -> str:
        """A short text, which changes with the page."""
        if self.kind == "run":
            return self.entries[0].version
        told = [text for entry in self.entries for text in (*entry.name, entry.version)]
        return digest([*told, self.plan])


class Pages:
    """The pages of the runs in a catalogue; made one at a time, and kept until a run changes."""

    def __init__(self, catalogue: Catalogue):
        self._catalogue = catalogue
        self._kept: OrderedDict[tuple[Kind, Name], Page] = OrderedDict()
        self._seen: dict[Name, Memory] = {}
        self._lock = threading.Lock()

    def find(self, kind: Kind, name: Name) -> Shown | None:
        """What is shown under a name, if there is such a thing.

        Raises:
            HeadwayError: if the folder is gone or cannot be read any more.
        """
        if kind == "sweep":
            found = self._catalogue.entries(lambda one: one[:-1] == name) if name else []
            plan = self._catalogue.mark_of(PLAN, name) if found else ""
            return Shown(kind, name, found, plan) if found else None
        names = [name] if kind == "run" else [tuple(one.split("/")) for one in name]
        if len(names) != len(set(names)) or len(names) < FEWEST[kind]:
            return None
        found = self._catalogue.entries(set(names).__contains__)
        found.sort(key=lambda one: names.index(one.name))
        return Shown(kind, name, found) if len(found) == len(names) else None

    def page(self, shown: Shown) -> tuple[bool, Page]:
        """The page's data, and whether it could be made or there is a reason why not.

        A page that cannot be made tells why. A run that is written to meanwhile can look spoilt: it
        is then read again.
        """
        made, why, key = True, "", shown.key
        with self._lock:
            shown = self.find(*key) or shown  # it may have changed while we waited
            for _ in range(TRIES):
                kept = self._kept.get(key)
                if kept is not None and kept.live == shown.version:
                    self._kept.move_to_end(key)
                    return True, kept
                try:
                    return True, self._keep(shown, self._made(shown))
                except HeadwayError as error:
                    made, why = True, str(error)
                except Exception as error:
                    made, why = False, f"{type(error).__name__}: {first_line(error)}"
                now = self.find(*key)
                if now is None or now.version == shown.version:
                    break
                shown = now
        return made, without_page(shown.title, why, shown.version)

    def close(self, seconds: float = 5.0) -> None:
        """Begins no further page, and waits a while for the one that is being made."""
        self._lock.acquire(timeout=seconds)

    def _keep(self, shown: Shown, page: Page) -> Page:
        self._kept[shown.key] = page
        self._kept.move_to_end(shown.key)
        if len(self._kept) > KEPT:
            (_, oldest), _ = self._kept.popitem(last=False)
            self._seen.pop(oldest, None)
        return page

    def _made(self, shown: Shown) -> Page:
        """The page's data; checkpoints seen before are not computed again.

        Raises:
            HeadwayError: if a folder cannot be read, or a file in it is corrupted.
        """
        version = shown.version
        match shown.kind:
            case "run":
                run, seen = _opened(shown.entries[0]), self._seen.setdefault(shown.name, {})
                with run.computing():
                    return run_page(Findings.of(run), live=version, memory=seen)
            case "sweep":
                folder = self._catalogue.folder.joinpath(*shown.name)
                self._catalogue.require_inside(folder / PLAN)
                found = gathered(folder, _readable(shown), planned_in(folder))
                return sweep_page(found, self._links, version)
            case "compare":
                return comparison_page(list(map(_opened, shown.entries)), self._links, version)

    def _links(self, folder: Path) -> str | None:
        """The address of the page of a run in the catalogue."""
        return link("run", folder.absolute().relative_to(self._catalogue.folder.absolute()).parts)


def _opened(entry: Entry) -> Run:
    if entry.refused is not None:
        raise HeadwayError(entry.refused)
    return Run.open(entry.folder)


def _readable(shown: Shown) -> list[Run | HeadwayError]:
    """Every run, or why it cannot be read."""
    found: list[Run | HeadwayError] = []
    for entry in shown.entries:
        try:
            found.append(_opened(entry))
        except HeadwayError as error:
            found.append(error)
    return found


def decoded(parts: Sequence[str]) -> Name:
    """A name from the parts of an address."""
    return tuple(os.fsdecode(unquote_to_bytes(part)) for part in parts)
