"""Pages of runs, as files and as text, and what can be read off them."""

import json
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

from headway.report import Findings, render, write_report
from headway.training import Run

VOID = {"meta", "link", "input", "br"}


@dataclass(frozen=True)
class Written:
    """A run and its page."""

    run: Run
    file: Path


def written(run: Run, folder: Path) -> Written:
    """Writes a run's page into another folder than its own."""
    file = folder / f"{run.folder.name}.html"
    file.write_text(render(Findings.of(run)), encoding="utf-8")
    return Written(run, file)


class Page(HTMLParser):
    """Checks that tags match, and gathers ids, resources and words."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.resources, self.words = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        self._note(attrs)

    def handle_startendtag(self, tag, attrs):
        self._note(attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data)

    def _note(self, attrs):
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "xlink:href", "srcset", "action"):
                self.resources.append(value)


def report(run):
    path = write_report(run)
    assert path == run.folder / "report.html"
    return path.read_text(encoding="utf-8")


def page_data(text):
    found = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    return json.loads(found[1])


def words_of(text):
    """The words of a page, without tags."""
    page = Page(text)
    assert not page.open
    return " ".join("".join(page.words).split())
