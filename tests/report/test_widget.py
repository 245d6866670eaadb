"""The widget: what Python reads and sets, and the picture where no script runs."""

import importlib.util
import sys
from xml.etree import ElementTree

import pytest

import headway
from headway import HeadwayError
from headway.report import Findings
from headway.report.labels import typeset
from headway.report.page.html import path_key
from headway.report.page.still import still

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def view(finished):
    pytest.importorskip("anywidget")
    return headway.widget(finished)


def test_it_stands_at_the_end_and_goes_to_the_nearest_checkpoint(view, finished):
    assert (view.step, view.path, view.cut) == (6, None, False)
    for asked, found in ((3, 2), (5, 4), (-1, 0), (1000, 6)):
        view.step = asked
        assert view.step == found
    assert finished.folder.name in repr(view)


def test_a_path_is_set_by_its_name_and_read_as_a_path(view):
    first, *_, last = view.paths.values()
    view.path = str(first).replace("←", "<-")
    assert view.path == first
    view.path, view.cut = last, True
    assert (view.path, view.cut) == (last, True)
    assert view.get_state("path") == {"path": path_key(last)}
    with pytest.raises(HeadwayError, match=r"path = .* one of .*←"):
        view.path = "L7.H0 s0←s2"
    view.path = None
    assert not view.cut
    view.cut = True
    assert not view.cut  # there is no path to cut


def test_the_still_picture_names_the_paths_and_needs_no_script(view, finished):
    data, _ = view._repr_mimebundle_()
    picture = ElementTree.fromstring(data["image/svg+xml"])
    assert picture.tag == f"{SVG}svg"
    words = [text.text or "" for text in picture.iter(f"{SVG}text")]
    for history in finished.read("emergence.json")["paths"]:
        path = headway.circuits.Path.parse(history["path"])
        assert any(f"L{path.layer}.H{path.head} {typeset(path.relation)}" in w for w in words)
    assert len([g for g in picture.iter(f"{SVG}g") if "data-path" in g.attrib]) == len(view.paths)
    assert not {"script", "foreignObject", "image"} & {
        e.tag.removeprefix(SVG) for e in picture.iter()
    }
    assert "application/vnd.jupyter.widget-view+json" in data


def test_a_run_without_a_circuit_is_shown_as_far_as_it_is_known(unfinished):
    pytest.importorskip("anywidget")
    view = headway.widget(unfinished.folder)
    assert not view.paths
    with pytest.raises(HeadwayError, match="none, as the circuit has no path"):
        view.path = "L0.H0 s0←s2"
    assert "has not been looked for" in still(Findings.of(unfinished))


def test_without_anywidget_one_line_says_how_to_install_it(finished, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        headway.notebook, "find_spec", lambda name: None if name == "anywidget" else found(name)
    )
    with pytest.raises(HeadwayError, match=r"pip install 'headway\[notebook\]'"):
        headway.widget(finished)
    assert "headway.notebook" in sys.modules
