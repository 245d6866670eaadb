import re

from pages import Page

from headway.circuits import (
    Timeline,
    saved_discovery,
)
from headway.report.cells import cell


def shown(thing):
    """The cell of a thing, which has neither scripts nor ids: words, classes and numbers."""
    text = cell(thing)
    assert text.startswith('<div class="headway">')
    assert not re.search(r"https?:|url\(|@import", text)
    page = Page(text)
    assert not page.open
    assert not page.ids
    assert not {"script", "button", "link", "img", "a"} & set(page.tags)
    assert page.tags.count("style") == 1
    classes = " ".join(page.values("class")).split()
    return "".join(page.words), classes, set(map(float, page.values("value")))


def timeline_of(run) -> Timeline:
    return Timeline.from_json(run.read("emergence.json"))


def everything(run):
    found = saved_discovery(run)
    return run, found, found.circuit, timeline_of(run)


def test_a_run_shows_its_losses(finished):
    (words, classes, numbers), last = shown(finished), finished.metrics()[-1]
    for told in (finished.folder.name, "done", "retrieval problem"):
        assert told in words
    assert {last["val_loss"], last["train_loss"], *last["partial"].values()} <= numbers
    assert classes.count("plot") == 1


def test_a_discovery_shows_the_numbers_of_its_certificate(finished):
    found = saved_discovery(finished)
    words, classes, numbers = shown(found)
    useful, every = len(found.circuit.useful_heads), len(found.circuit.mechanisms)
    assert f"{useful} of {every} heads" in words
    expected = {found.replaced_loss, found.intact_loss}
    for n in found.evidence.necessity:
        expected |= {n.attention, n.loss, n.free}
    assert expected <= numbers
    assert classes.count("arrow") == len(found.circuit.paths)


def test_a_timeline_shows_every_birth(finished):
    timeline = timeline_of(finished)
    _, classes, numbers = shown(timeline)
    expected = {timeline.loss[-1], *(h.attention[-1] for h in timeline.paths)}
    expected |= {h.loss_without[-1] for h in timeline.paths}
    expected |= {step for h in timeline.paths for step in (h.born, h.needed) if step is not None}
    assert expected <= numbers
    assert classes.count("plot") == 2


def test_other_tasks_and_models_show_themselves(other):
    for thing in everything(other):
        shown(thing)


def test_a_run_that_cannot_be_read_says_why(run):
    (run.folder / "metrics.jsonl").write_text("<i>&\n")
    assert "metrics.jsonl, line 1 is not valid JSON" in shown(run)[0]
