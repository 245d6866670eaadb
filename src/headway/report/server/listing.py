"""The list of all runs in a folder, as data; runs that did not change are not read again."""

import os
import shlex
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from headway.circuits import THRESHOLD
from headway.circuits.flows import Least
from headway.errors import HeadwayError
from headway.report.examples import thinned
from headway.report.findings import judged_loss
from headway.report.labels import plain
from headway.report.schema import ListedGroup, ListedRun, ListPage
from headway.report.server.catalogue import Catalogue, Entry, Name, digest
from headway.text import counted
from headway.training import Run
from headway.training.config import Elsewhere
from headway.training.files import clear_content_errors, first_line

POINTS = 48
"""The most evaluations in a small curve."""

LATEST = 250e9
"""The last time that a calendar has, in seconds since 1970; a file's can be beyond."""

STATES = ("running", "done", "stopped", "failed", "unreadable")


class Listing:
    """The list of all runs in a catalogue."""

    def __init__(self, catalogue: Catalogue):
        self._catalogue = catalogue
        self._known: dict[Name, tuple[str, ListedRun]] = {}
        self._lock = threading.Lock()

    def version(self) -> str:
        """A short text, which changes with the page."""
        try:
            return _version(self._catalogue.entries())
        except HeadwayError as error:
            return digest([str(error)])

    def page(self) -> ListPage:
        """The data of the page."""
        folder = self._catalogue.folder
        try:
            entries = self._catalogue.entries()
        except HeadwayError as error:
            return without_page("runs", str(error), digest([str(error)]), back=None)
        with self._lock:
            known = {entry.name: self._summed_up(entry) for entry in entries}
            self._known = known
        groups: dict[Name, list[ListedRun]] = {}
        for entry in sorted(entries, key=lambda one: len(one.name)):
            groups.setdefault(entry.name[:-1], []).append(known[entry.name][1])
        headline, why = _counts(run for _, run in known.values()), None
        if not entries:
            into = (
                "" if folder == Path("runs") else f" --folder {shlex.quote(str(folder / 'first'))}"
            )
            headline, why = (
                "no runs",
                (
                    "There are no runs here yet. This trains a first one in a minute or two, and it"
                    f" shows here while it does: headway train fast{into}"
                ),
            )
        return ListPage(
            kind="list",
            name="runs",
            title=plain(folder.name or folder.resolve().name),
            headline=headline,
            summary=[headline, *([why] if why else [])],
            groups=[
                ListedGroup(plain("/".join(name)), link("sweep", name) if name else "", runs)
                for name, runs in groups.items()
            ],
            threshold=THRESHOLD,
            why=why,
            back=None,
            live=_version(entries),
        )

    def _summed_up(self, entry: Entry) -> tuple[str, ListedRun]:
        """An entry's version, and the run, or why it cannot be read."""
        before = self._known.get(entry.name)
        if before is not None and before[0] == entry.version:
            return before
        unread = ListedRun(
            name=plain(entry.name[-1]),
            link=link("run", entry.name),
            key=_quoted("/".join(entry.name)),
            status="unreadable",
            message=plain(entry.refused or ""),
            task="",
            model="",
            step=0,
            steps=None,
            loss=None,
            solved=False,
            curve=[],
            circuit="",
            changed=_time(entry.changed),
        )
        if entry.refused is not None:
            return entry.version, unread
        try:
            return entry.version, listed_run(entry, unread)
        except HeadwayError as error:
            why = str(error)
        except Exception as error:
            why = f"{entry.folder}: {type(error).__name__}: {first_line(error)}"
        return entry.version, replace(unread, message=plain(why))


def listed_run(entry: Entry, unread: ListedRun) -> ListedRun:
    """Reads what the list says of a run.

    Raises:
        HeadwayError: if its folder cannot be read, or a file in it is corrupted.
    """
    run = Run.open(entry.folder)
    config, task = run.config, run.config.task
    outcome, metrics, found = run.outcome() or {}, run.metrics(), run.read("circuit.json")
    layers, heads = config.model.n_layers, config.model.n_heads
    last, circuit = metrics[-1] if metrics else {}, ""
    with clear_content_errors(entry.folder / "circuit.json"):
        if found is not None:
            useful = counted(int(found["useful_heads"]), "useful head")
            circuit = f"{useful} in {counted(int(found['useful_layers']), 'layer')}"
            least = Least.of(task, config.model.causal)
            circuit += f", flow minimum {least.cell}" if least.known else ""
    message = str(outcome.get("message") or "") if run.status == "failed" else ""
    for folder in (entry.folder.absolute(), entry.folder):
        message = message.replace(f" in {folder}", "")
    mask = "" if config.model.causal else ", no mask"
    size = f"{counted(layers, 'layer')} × {counted(heads, 'head')}"
    return replace(
        unread,
        status=run.status,
        message=plain(message),
        task=plain(f"{task.kind} {task.label}".strip() + mask),
        model=f"{size} · seed {config.seed}",
        step=last.get("step", 0),
        steps=None if isinstance(config.training, Elsewhere) else config.training.steps,
        loss=last.get("val_loss"),
        solved=bool(metrics) and judged_loss(run.task, last) < THRESHOLD,
        curve=[(line["step"], line["val_loss"]) for line in thinned(metrics, POINTS)],
        circuit=circuit,
    )


def without_page(name: str, why: str, version: str, back: str | None = "/") -> ListPage:
    """The page that says why there is none of something; it looks again when that changes."""
    title, why = plain(name), plain(why)
    text = (
        "There is nothing to show as it is now. This page looks again whenever something changes."
    )
    return ListPage(
        kind="list",
        name="runs",
        title=title,
        headline=text,
        summary=[text, why],
        groups=[],
        threshold=THRESHOLD,
        why=why,
        back=back,
        live=version,
    )


def link(kind: str, name: Name) -> str:
    """The address of a page on the server: of a run, of a sweep, or of runs side by side."""
    return f"/{kind}/" + "".join(f"{_quoted(part)}/" for part in name)


def _quoted(text: str) -> str:
    return quote(os.fsencode(text), safe="")


def _version(entries: Iterable[Entry]) -> str:
    return digest(text for entry in entries for text in (*entry.name, entry.version))


def _counts(runs: Iterable[ListedRun]) -> str:
    states = Counter(run.status for run in runs)
    parts = [f"{states[state]} {state}" for state in STATES if states[state]]
    return " · ".join([counted(sum(states.values()), "run"), *parts])


def _time(seconds: float | None) -> str | None:
    """A time as in ISO 8601."""
    if seconds is None:
        return None
    return f"{datetime.fromtimestamp(min(max(seconds, 0.0), LATEST), UTC):%Y-%m-%dT%H:%M:%SZ}"
