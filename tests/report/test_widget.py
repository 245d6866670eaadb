"""What a notebook shows: the widget, and the cells of runs and findings."""

import base64
import html
import json
import re
import sys

import pytest
from pages import Page

import headway
from headway import HeadwayError
from headway.dynamics import saved_timeline
from headway.judge import saved_discovery
from headway.replace import Circuit
from headway.report import cells
from headway.report.cells import cell
from headway.report.circuit import path_key
from headway.report.figures.style import png_bytes
from headway.text import rounded

WIDGET = "application/vnd.jupyter.widget-view+json"


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


def test_it_brings_the_data_of_the_run_and_a_picture_for_where_no_script_runs(
    view, finished
):
    data = json.loads(view._data)
    assert (data["kind"], data["name"]) == ("widget", finished.folder.name)
    assert [path["key"] for path in data["circuit"]["paths"]] == list(view.paths)
    assert "export" in view._esm
    shown, _ = view._repr_mimebundle_()
    assert shown.keys() == {WIDGET, "image/png", "text/plain"}
    circuit = headway.figure(finished, "circuit")
    assert base64.b64decode(shown["image/png"]) == png_bytes(circuit)


def test_a_run_without_a_circuit_is_shown_as_far_as_it_is_known(unfinished):
    pytest.importorskip("anywidget")
    view = headway.widget(unfinished.folder)
    assert not view.paths
    with pytest.raises(HeadwayError, match="none, as the circuit has no path"):
        view.path = "L0.H0 s0←s2"
    assert (
        "The circuit has not been looked for"
        in json.loads(view._data)["missing"]["circuit"]
    )


def test_without_anywidget_one_line_says_how_to_install_it(finished, monkeypatch):
    monkeypatch.delitem(vars(headway), "widget", raising=False)
    monkeypatch.delitem(sys.modules, "headway.report.widget", raising=False)
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(HeadwayError, match=r"pip install 'headway-interp\[notebook\]'"):
        headway.widget(finished)


def shown(thing):
    """The words of the cell of a thing, which needs no script, and how many pictures it
    has.
    """
    text = cell(thing)
    assert text.startswith('<div class="headway">')
    assert not re.search(r"https?:|url\(|@import", text)
    page = Page(text)
    assert not page.open
    assert set(page.tags) <= {"div", "p", "pre", "img"}
    assert all(
        value.startswith("data:") for name, value in page.attributes if name == "src"
    )
    return html.unescape("".join(page.words)), page.tags.count("img")


def test_everything_shows_its_numbers_and_a_picture(finished):
    found, last = saved_discovery(finished), finished.metrics()[-1]
    words, pictures = shown(finished)
    assert pictures == 1
    for told in (
        finished.folder.name,
        "done",
        "retrieval D=1",
        rounded(last["val_loss"]),
    ):
        assert told in words
    useful, every = len(found.circuit.useful_heads), len(found.circuit.mechanisms)
    for thing in (found, found.circuit):
        words, pictures = shown(thing)
        assert f"{useful} of {every} heads useful" in words
        assert str(thing) in words
        assert pictures == 1
    assert shown(saved_timeline(finished)) == (
        f"{len(found.circuit.paths)} paths through training{saved_timeline(finished)}",
        1,
    )


def test_other_tasks_and_models_show_themselves(other):
    for thing in (other, saved_discovery(other), saved_timeline(other)):
        assert shown(thing)[1] == 1


def test_without_matplotlib_or_paths_there_are_words(finished, monkeypatch):
    assert shown(Circuit({})) == ("0 of 0 heads useful, 0 paths", 0)
    monkeypatch.setattr(cells, "find_spec", lambda name: None)
    assert shown(saved_discovery(finished))[1] == 0


@pytest.mark.parametrize("content", ["<i>&\n", "{}\n"])
def test_a_run_that_cannot_be_read_says_why(run, content):
    (run.folder / "metrics.jsonl").write_text(content)
    words, pictures = shown(run)
    assert "metrics.jsonl, line 1" in words
    assert pictures == 0


def test_a_timeline_has_the_colours_of_the_page_and_no_empty_panel(finished):
    from headway.dynamics import emergence
    from headway.report.figures.style import INKS
    from headway.report.run import run_page

    timeline = emergence(finished, sequences=8)
    drawn = cells._figure(timeline)
    assert all(axes.lines for axes in drawn.axes)
    page = run_page(headway.report.Findings.of(finished))
    colours = {INKS[curve.colour] for curve in page.along}
    lines = [line for line in drawn.axes[0].lines if line.get_label()[0] != "_"]
    assert {line.get_color() for line in lines} == colours


def test_no_line_of_a_table_ends_the_markup_and_plain_text_is_the_printed_one(finished):
    found = saved_discovery(finished)
    assert "\n" not in cell(found)
    assert "\n\n" in html.unescape(cell(found))
    formatters = pytest.importorskip("IPython.core.formatters")
    shown, _ = formatters.DisplayFormatter().format(found)
    assert shown == {"text/html": cell(found), "text/plain": str(found)}
