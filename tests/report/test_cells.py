import html
import re

import pytest
from pages import Page

from headway.circuits import Circuit, saved_discovery, saved_timeline
from headway.report import cells
from headway.report.cells import cell
from headway.text import rounded


def shown(thing):
    """The words of the cell of a thing, which needs no script, and how many pictures it has."""
    text = cell(thing)
    assert text.startswith('<div class="headway">')
    assert not re.search(r"https?:|url\(|@import", text)
    page = Page(text)
    assert not page.open
    assert set(page.tags) <= {"div", "p", "pre", "img"}
    assert all(value.startswith("data:") for name, value in page.attributes if name == "src")
    return html.unescape("".join(page.words)), page.tags.count("img")


def test_everything_shows_its_numbers_and_a_picture(finished):
    found, last = saved_discovery(finished), finished.metrics()[-1]
    words, pictures = shown(finished)
    assert pictures == 1
    for told in (finished.folder.name, "done", "retrieval D=1", rounded(last["val_loss"])):
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
