"""No text of a run's files is markup in a page, whatever leaf of whichever file it stands in."""

import base64
import hashlib
import html.parser
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headway import cli
from headway.errors import HeadwayError
from headway.paths import Path as HeadPath
from headway.report import Findings, render
from headway.report.server.catalogue import Catalogue
from headway.report.server.index import Index
from headway.training import Run

MARKUP = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>"
FILES = ("config", "circuit", "emergence", "outcome", "environment", "metrics")


def leaves(data: Any, place: tuple = ()) -> Iterator[tuple]:
    """Where leaves stand, and names of fields."""
    if isinstance(data, dict | list):
        items = data.items() if isinstance(data, dict) else enumerate(data)
        for key, value in items:
            if isinstance(data, dict):
                yield (*place, key, None)
            yield from leaves(value, (*place, key))
    else:
        yield place


def altered(data: Any, place: tuple) -> Any:
    """The data with markup in a leaf, or as a field's name."""
    key, *rest = place
    copy = dict(data) if isinstance(data, dict) else list(data)
    if rest == [None]:
        return {MARKUP if one == key else one: value for one, value in data.items()}
    copy[key] = altered(data[key], tuple(rest)) if rest else MARKUP
    return copy


def read(run: Run, name: str) -> Any:
    if name == "metrics":
        return [json.loads(line) for line in path_of(run, name).read_text().splitlines()]
    return json.loads(path_of(run, name).read_text())


def path_of(run: Run, name: str) -> Path:
    return run.folder / ("metrics.jsonl" if name == "metrics" else f"{name}.json")


def put(run: Run, name: str, data: Any) -> None:
    lines = data if name == "metrics" else [data]
    path_of(run, name).write_text("".join(json.dumps(line) + "\n" for line in lines))


class Elements(html.parser.HTMLParser):
    """What a page would have a browser do."""

    def __init__(self, page: str):
        super().__init__()
        self.scripts: list[str] = []
        self.inside = False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        assert tag not in ("img", "iframe", "object", "embed", "base", "form")
        assert not any(name.startswith("on") for name, _ in attrs), attrs
        self.inside = tag == "script" and dict(attrs).get("type") is None
        if self.inside:
            self.scripts.append("")

    def handle_data(self, data):
        if self.inside:
            self.scripts[-1] += data

    def handle_endtag(self, tag):
        self.inside = False


@pytest.mark.parametrize("name", FILES)
def test_every_leaf_of_every_file(run, name):
    whole, harmless = read(run, name), Elements(pages(run)[0]).scripts
    accepted = []
    for place in dict.fromkeys(leaves(whole)):
        put(run, name, altered(whole, place))
        try:
            Findings.of(Run.open(run.folder))
        except HeadwayError:
            continue
        accepted.append(place)
    for place in accepted:
        put(run, name, altered(whole, place))
        for page in pages(run):
            assert set(Elements(page).scripts) <= {*harmless, *Elements(page).scripts[-2:]}
            assert MARKUP not in page
        if len(accepted) > 12:  # of many, in one page all but those that exclude one another
            break
    data = whole
    for place in accepted:
        data = altered(data, place) if place[-1] is not None else data
    put(run, name, data)
    for page in pages(run):
        assert MARKUP not in page
        assert "alert(2)" not in "".join(Elements(page).scripts)


def pages(run: Run) -> list[str]:
    """A run's page, served, and the list that it stands in."""
    try:
        page = render(Findings.of(Run.open(run.folder)), live=True)
    except HeadwayError as error:
        page = str(error).replace(MARKUP, "")
    return [page, Index(Catalogue(run.folder.parent)).page()]


def test_a_page_allows_its_own_scripts_only(run):
    for live in (False, True):
        page = render(Findings.of(run), live=live)
        allowed = re.findall(r"'sha256-([^']+)'", page)
        scripts = Elements(page).scripts
        digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
        assert [base64.b64encode(digest).decode() for digest in digests] == allowed
        assert "script-src 'unsafe-inline'" not in page
        assert page.index("Content-Security-Policy") < page.index("<style>")


@pytest.mark.parametrize("name", ["a\x1b[2J", "a\nb", "", "x" * 300, "\ud800"])
def test_names_of_relations_are_checked_when_they_are_read(run, name):
    with pytest.raises(HeadwayError):
        HeadPath.parse(f"L0.H0 {name}")
    circuit = run.read("circuit.json")
    assert circuit is not None
    circuit["heads"]["L0.H0"] = [name]
    run.write("circuit.json", circuit)
    with pytest.raises(HeadwayError, match=r"circuit\.json"):
        Findings.of(run)
    with pytest.raises(SystemExit):
        cli.main(["report", str(run.folder)])
