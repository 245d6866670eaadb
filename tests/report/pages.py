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
    """Checks that tags match and that none has a script of its own; gathers what is there."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.words, self.scripts = [], [], [], [], []
        self.is_script = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        self.is_script = tag == "script" and "type" not in dict(attrs)
        self.scripts += [""] * self.is_script
        self.handle_startendtag(tag, attrs)

    def handle_startendtag(self, tag, attrs):
        assert not any(name.startswith("on") for name, _ in attrs), attrs
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        inside = self.open[-1] if self.open else "style"
        if inside == "script" and self.is_script:
            self.scripts[-1] += data
        elif inside not in ("style", "script"):
            self.words.append(data)

    def values(self, *names):
        """The values of all attributes of some names."""
        return [value for name, value in self.attributes if name in names]

    @property
    def ids(self):
        return self.values("id")

    @property
    def resources(self):
        return self.values("src", "href", "xlink:href", "srcset", "action")


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
