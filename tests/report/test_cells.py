import re
from html.parser import HTMLParser

from headway.circuits import (
    Timeline,
    saved_discovery,
)
from headway.report.cells import cell

ODD = "<i>&\"'</i>"


class Fragment(HTMLParser):
    """Checks that tags match, and gathers words, classes and values."""

    def __init__(self, text):
        super().__init__()
        self.open, self.words, self.tags, self.classes, self.values = [], "", [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag != "br":
            self.open.append(tag)
        attributes = dict(attrs)
        assert "id" not in attributes
        assert not any(name.startswith("on") for name in attributes)
        self.classes += (attributes.get("class") or "").split()
        if tag == "data":
            self.values.append(float(attributes["value"]))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words += data


def shown(thing):
    text = cell(thing)
    assert text.startswith('<div class="headway">')
    fragment = Fragment(text)
    assert not {"script", "button", "link", "img", "a"} & set(fragment.tags)
    assert fragment.tags[0] == "div"
    assert fragment.tags.count("style") == 1
    assert not re.search(r"https?:|url\(|@import", text)
    return fragment


def timeline_of(run) -> Timeline:
    return Timeline.from_json(run.read("emergence.json"))


def everything(run):
    found = saved_discovery(run)
    return run, found, found.circuit, timeline_of(run)


def test_a_run_shows_its_losses(finished):
    fragment, last = shown(finished), finished.metrics()[-1]
    assert finished.folder.name in fragment.words
    assert "done" in fragment.words
    assert "retrieval problem" in fragment.words
    assert {last["val_loss"], last["train_loss"], *last["partial"].values()} <= {*fragment.values}
    assert fragment.classes.count("plot") == 1


def test_a_discovery_shows_the_numbers_of_its_certificate(finished):
    found = saved_discovery(finished)
    fragment = shown(found)
    useful, every = len(found.circuit.useful_heads), len(found.circuit.mechanisms)
    assert f"{useful} of {every} heads" in fragment.words
    assert f"flow minimum: {found.evidence.minimum}" in fragment.words
    assert f"below the threshold of {found.threshold:g}" in fragment.words
    values = {found.replaced_loss, found.intact_loss}
    for n in found.evidence.necessity:
        values |= {n.attention, n.loss, n.free}
    assert values <= {*fragment.values}
    assert fragment.classes.count("arrow") == len(found.circuit.paths)
    assert "67%" not in fragment.words
    assert "50%" in fragment.words


def test_a_timeline_shows_every_birth(finished):
    timeline = timeline_of(finished)
    fragment = shown(timeline)
    values = {timeline.loss[-1], *(h.attention[-1] for h in timeline.paths)}
    values |= {h.loss_without[-1] for h in timeline.paths}
    values |= {step for h in timeline.paths for step in (h.born, h.needed) if step is not None}
    assert values <= {*fragment.values}
    assert fragment.classes.count("plot") == 2


def test_other_tasks_and_models_show_themselves(other):
    for thing in everything(other):
        shown(thing)


def test_a_run_that_cannot_be_read_says_why(run):
    (run.folder / "metrics.jsonl").write_text(f"{ODD}\n")
    assert "metrics.jsonl, line 1 is not valid JSON" in shown(run).words
