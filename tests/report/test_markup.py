"""No text of a run's files is markup in a page, whatever leaf of whichever file it stands in."""

import pytest

from fuzz.markup import MARKUP, browsed, markup
from fuzz.runs import with_every_file
from fuzz.tried import Tried
from headway import cli
from headway.errors import HeadwayError
from headway.paths import AttentionPath as HeadPath
from headway.report import Findings
from headway.training import Run

SHARE = 12
"""One in so many places is tried alone."""


@pytest.fixture
def everything(run) -> Run:
    return with_every_file(run)


def test_some_leaves_of_every_file(everything, browser, tmp_path):
    tried = Tried()
    markup(tried, everything, tmp_path / "copies", browsed(browser), SHARE)
    assert not tried.failed
    assert tried.counts["markup, in a browser"] >= 4


@pytest.mark.slow
def test_every_leaf_of_every_file(everything, browser, tmp_path):
    tried = Tried()
    markup(tried, everything, tmp_path / "copies", browsed(browser), 1)
    assert not tried.failed
    assert tried.counts["markup"] > 600


def test_markup_would_be_noticed(browser, tmp_path):
    for content in (MARKUP, f"<p>{MARKUP[:33]}"):
        (tmp_path / "page.html").write_text(content)
        with browsed(browser)((tmp_path / "page.html").as_uri()) as complaints:
            assert complaints


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
