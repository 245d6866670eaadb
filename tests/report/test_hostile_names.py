"""Names and texts may be anything: no page and no figure takes them for its own
markup.
"""

import shutil
from dataclasses import dataclass
from xml.etree import ElementTree

import pytest
import torch
from pages import Page, page_data, report
from serving import serving
from tiny_runs import taken_apart, tiny_config

from commands import refused
from fuzz.markup import MARKUP, browsed, markup
from fuzz.runs import with_every_file
from fuzz.tried import Tried
from headway.dynamics import saved_timeline
from headway.errors import HeadwayError
from headway.judge import saved_discovery
from headway.relations.paths import AttentionPath as HeadPath
from headway.report import Findings
from headway.report.cells import cell
from headway.report.circuit import path_key
from headway.report.figures.saving import save_figures
from headway.report.runs import write_runs
from headway.tasks import Batch, Task, previous_token
from headway.tasks.registry import KINDS
from headway.training import Run


@dataclass(frozen=True)
class Hostile(Task, registered=False):
    """<script>alert(`doc</script>`)</script> & $x_1$."""

    kind = "hostile"
    size: int = 3
    named: bool = True

    vocabulary = 5
    label = "<b>'\"&"
    title = "<script>alert('title')</script>"

    @property
    def roles(self):
        return ("<b>\"q'&s2", "</svg>$k$", "x" * 60) if self.named else ()

    @property
    def hops(self):
        return ("</script><i>$1_1", "<hop&2")

    def relations(self, batch):
        if self.named:
            return super().relations(batch)
        names = ('"><script>alert(1)</script>', "it's ←←$a_b", "a & b " * 30)
        return {name: previous_token(batch.inputs, "path") for name in names}

    def reference_losses(self):
        return {"<u>$guess$</u>": dict.fromkeys(self.hops, 1.0)}

    def draw(self, count, generator):
        return (torch.randint(5, (count, 4), generator=generator),)

    def assemble(self, draws):
        (tokens,) = draws
        where = torch.arange(3, 0, -1).expand(len(tokens), 3)[:, :, None]
        asked = tokens[:, -1:, None].expand(-1, 1, 2)
        return Batch(tokens, asked, where) if self.named else Batch(tokens, asked)


@pytest.mark.parametrize("named", [True, False])
def test_hostile_names_are_escaped(named, tmp_path, monkeypatch):
    monkeypatch.setitem(KINDS, "hostile", Hostile)
    run = taken_apart(tmp_path / "run", tiny_config(Hostile(named=named), causal=False))
    other = Run.open(shutil.copytree(run.folder, tmp_path / "<i>other"))
    for figure in save_figures(run).values():
        ElementTree.fromstring(figure.read_bytes())
    comparison = write_runs([run, other], tmp_path / "c.html").read_text()
    with serving(tmp_path) as site:
        pages = [report(run), comparison, site.page(), site.page("/run/run/")]
    pages.append(write_runs(tmp_path, tmp_path / "s.html").read_text())
    pages += [cell(run), cell(saved_discovery(run)), cell(saved_timeline(run))]
    pages.append(cell(saved_discovery(run).circuit))
    for text in pages:
        assert not Page(text).open
        for evil in (
            "<script>alert",
            "</svg>$k$",
            "<b>'",
            "<hop",
            "<i>$",
            "<u>",
            "<i>other",
        ):
            assert evil not in text, evil
    data = page_data(pages[0])
    keys = [path_key(path) for path in saved_discovery(run).circuit.paths]
    assert [path["key"] for path in data["circuit"]["paths"]] == keys
    assert "alert(`doc</script>`)</script> & $x₁$." in data["task"]["reading"]
    assert data["task"]["references"] == {"<u>$guess$</u>": 1.0}


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
    circuit["circuit"]["L0.H0"] = [name]
    run.write("circuit.json", circuit)
    with pytest.raises(HeadwayError, match=r"circuit\.json"):
        Findings.of(run)
    refused("report", run.folder)
