"""No text of a run's files is markup in a page, whatever leaf of whichever file it stands in."""

import pytest

from commands import refused
from fuzz.markup import MARKUP, browsed, markup
from fuzz.runs import with_every_file
from fuzz.tried import Tried
from headway.errors import HeadwayError
from headway.relations.paths import AttentionPath as HeadPath
from headway.report import Findings
from headway.training import Run


@pytest.fixture
def everything(run) -> Run:
    return with_every_file(run)


@pytest.mark.parametrize("share", [24, pytest.param(1, marks=pytest.mark.slow)])
def test_leaves_of_every_file(everything, browser, tmp_path, share):
    """Of so many places, one is tried alone."""
    tried = Tried()
    markup(tried, everything, tmp_path / "copies", browsed(browser), share)
    assert not tried.failed
    assert tried.counts["markup"] > 600 / share
    assert tried.counts["markup, in a browser"] >= 4


def test_markup_would_be_noticed(browser, tmp_path):
    for content in (MARKUP, f"<p>{MARKUP[:33]}"):
        (tmp_path / "page.html").write_text(content)
        with browsed(browser)((tmp_path / "page.html").as_uri()) as complaints:
            assert complaints


@pytest.mark.parametrize("name", ["a\x1b[2J", "a\nb", "", "x" * 3000, "\ud800"])
def test_names_of_relations_are_checked_when_they_are_read(run, name):
    with pytest.raises(HeadwayError):
        HeadPath.parse(f"L0.H0 {name}")
    circuit = run.read("circuit.json")
    assert circuit is not None
    circuit["heads"]["L0.H0"] = [name]
    run.write("circuit.json", circuit)
    with pytest.raises(HeadwayError, match=r"circuit\.json"):
        Findings.of(run)
    refused("report", run.folder)
