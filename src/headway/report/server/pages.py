"""The page of a run, made from its folder when it is asked for."""

import threading
from collections import OrderedDict

from headway.errors import HeadwayError
from headway.report.findings import Findings
from headway.report.history import Memory
from headway.report.page.render import render
from headway.report.server.catalogue import Catalogue, Entry, Name
from headway.report.server.document import document, version_tag
from headway.training import Run
from headway.training.files import first_line

KEPT = 32
"""How many pages are kept for the next request."""

TRIES = 3


class RunPages:
    """The pages of the runs in a catalogue; made one at a time, and kept until the run changes."""

    def __init__(self, catalogue: Catalogue):
        self._catalogue = catalogue
        self._kept: OrderedDict[Name, tuple[str, str]] = OrderedDict()
        self._seen: dict[Name, Memory] = {}
        self._lock = threading.Lock()

    def page(self, entry: Entry) -> tuple[bool, str]:
        """The page of a run as HTML, and whether it could be made or there is a reason why not.

        A page that cannot be made tells why. A run that is written to meanwhile can look spoilt: it
        is then read again.
        """
        made, why = True, ""
        with self._lock:
            entry = self._catalogue.find(entry.name) or entry  # it may have changed while we waited
            for _ in range(TRIES):
                kept = self._kept.get(entry.name)
                if kept is not None and kept[0] == entry.version:
                    self._kept.move_to_end(entry.name)
                    return True, kept[1]
                try:
                    return True, self._keep(entry, self._made(entry))
                except HeadwayError as error:
                    made, why = True, str(error)
                except Exception as error:
                    made, why = False, f"{type(error).__name__}: {first_line(error)}"
                now = self._catalogue.find(entry.name)
                if now is None or now.version == entry.version:
                    break
                entry = now
        return made, _reason_page(entry, why)

    def close(self, seconds: float = 5.0) -> None:
        """Begins no further page, and waits a while for the one that is being made."""
        self._lock.acquire(timeout=seconds)

    def _keep(self, entry: Entry, text: str) -> str:
        self._kept[entry.name] = entry.version, text
        self._kept.move_to_end(entry.name)
        if len(self._kept) > KEPT:
            oldest, _ = self._kept.popitem(last=False)
            self._seen.pop(oldest, None)
        return text

    def _made(self, entry: Entry) -> str:
        """The page of a run, with its version; checkpoints seen before are not computed again.

        Raises:
            HeadwayError: if its folder cannot be read, or a file in it is corrupted.
        """
        if entry.refused is not None:
            raise HeadwayError(entry.refused)
        run, seen = Run.open(entry.folder), self._seen.setdefault(entry.name, {})
        with run.computing():
            text = render(Findings.of(run), live=True, memory=seen)
        return text.replace("<head>", f"<head>\n{version_tag(entry.version)}", 1)


def _reason_page(entry: Entry, why: str) -> str:
    name = "/".join(entry.name)
    return document("server/reason.html", f"{name} · headway", entry.version, name=name, why=why)
