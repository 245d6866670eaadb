"""Pages of runs, as files and as data, and what can be read off them."""

import base64
import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

from headway.report import Findings, write_report
from headway.report.page import html
from headway.report.run import run_page
from headway.report.schema import ADAPTER
from headway.training import Run

VOID = {"meta", "link", "input", "br", "img"}


@dataclass(frozen=True)
class Written:
    """A run and its page."""

    run: Run
    file: Path


def written(run: Run, folder: Path) -> Written:
    """Writes a run's page into another folder than its own."""
    file = folder / f"{run.folder.name}.html"
    file.write_text(html(run_page(Findings.of(run))), encoding="utf-8")
    return Written(run, file)


class Page(HTMLParser):
    """Checks that tags match; gathers tags, attributes, words and scripts."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.words, self.scripts = (
            [],
            [],
            [],
            [],
            [],
        )
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        self.scripts += [""] * (tag == "script" and ("type", "module") in attrs)
        self.handle_startendtag(tag, attrs)

    def handle_startendtag(self, tag, attrs):
        assert not any(name.startswith("on") for name, _ in attrs), attrs
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        inside = self.open[-1] if self.open else "style"
        if inside == "script" and self.scripts:
            self.scripts[-1] += data
        elif inside not in ("style", "script"):
            self.words.append(data)


def report(run: Run) -> str:
    path = write_report(run)
    assert path == run.folder / "report.html"
    return path.read_text(encoding="utf-8")


def page_data(text: str) -> dict[str, Any]:
    """The data of a page, which is as the schema says but for numbers that are not
    finite.
    """
    found = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    data = json.loads(found[1])
    ADAPTER.validate_python(data, strict=False)
    return data


def leaves(data: Any) -> Iterator[Any]:
    if isinstance(data, dict | list):
        for value in data.values() if isinstance(data, dict) else data:
            yield from leaves(value)
    else:
        yield data


def said(text: str) -> str:
    """All texts in the data of a page, in one line each."""
    return "\n".join(one for one in leaves(page_data(text)) if isinstance(one, str))


def numbers(data: Any) -> set[float]:
    return {one for one in leaves(data) if isinstance(one, int | float)}


def unpacked(text: str, *shape: int) -> np.ndarray:
    return np.frombuffer(gzip.decompress(base64.b64decode(text)), np.uint8).reshape(
        shape
    )


def table(data: Any, title: str) -> tuple[list[str], list[list[Any]]]:
    """The head and the rows of the table with a title, wherever it stands."""
    if isinstance(data, dict) and data.get("title") == title and "rows" in data:
        return data["head"], data["rows"]
    for value in data.values() if isinstance(data, dict) else data:
        if isinstance(value, dict | list) and (found := table(value, title))[0]:
            return found
    return [], []
