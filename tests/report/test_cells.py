import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from headway.circuits import (
    Circuit,
    Discovery,
    Identity,
    Path,
    Paths,
    Timeline,
    Uniform,
    discover,
    saved_discovery,
)
from headway.circuits.casting import cast_of
from headway.circuits.roles import Cast, Place, places
from headway.models import TransformerConfig
from headway.report.cells import cell
from headway.report.page.scoped import scoped_style
from headway.tasks import Conditional, Retrieval
from headway.text import rounded
from headway.training import Run, RunConfig, TrainingConfig, train
from headway_experiments.arena import compiled
from headway_experiments.curricula import FinalHop

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


def test_a_circuit_above_the_threshold_is_not_called_faithful(finished):
    found = replace(saved_discovery(finished), threshold=0.001)
    words = shown(found).words
    assert "not below the threshold" in words
    assert "not faithful" in words
    assert "necessary" not in words


def test_a_circuit_shows_its_drawing_alone(finished):
    circuit = saved_discovery(finished).circuit
    fragment = shown(circuit)
    assert fragment.classes.count("arrow") == len(circuit.paths)
    assert "table" not in fragment.tags


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


def test_the_drawing_is_the_one_that_the_task_gives(other):
    found, task = saved_discovery(other), other.task
    cast = cast_of(found)
    assert list(cast.places) == places(task)
    assert cast.hops == task.hops


@pytest.mark.parametrize("order", ["deep-first", "shallow-first"])
@pytest.mark.parametrize("kind", [Retrieval, Conditional])
def test_a_discovery_keeps_what_its_drawing_needs(kind, order, tmp_path):
    training = TrainingConfig(
        steps=1, batch_size=8, train_examples=None, eval_examples=8, curriculum=FinalHop()
    )
    task, model = kind(n_chains=2, order=order), TransformerConfig(n_layers=1, d_model=16)
    run = train(RunConfig(task, model, training), tmp_path / "run")
    cast = cast_of(discover(run, threshold=100.0, sequences=8, trials=False, workers=1))
    assert cast == Cast(tuple(places(run.task)), run.task.hops)
    assert run.task.hops != task.hops


def test_in_a_circuit_alone_roles_stand_after_all_that_they_look_at():
    cast = cast_of(Circuit.of(compiled(3).required))
    order = [place.role for place in cast.places]
    assert sorted(order) == sorted(Retrieval(depth=3).roles)
    assert order == ["s5", "s6", "s3", "s4", "s1", "s2", "s0"]
    assert not any(place.symbol for place in cast.places)
    assert not cast.hops


def test_roles_that_look_at_each_other_are_all_there():
    paths = [Path.parse(text) for text in ("L0.H0 a←b", "L0.H0 b←a", "L1.H0 c←a", "L1.H0 c←c")]
    assert {place.role for place in cast_of(Circuit.of(paths)).places} == {"a", "b", "c"}


def test_roles_of_a_task_of_ones_own_are_shown_by_their_names(finished):
    circuit = Circuit.of([Path.of(0, 0, "end←the begin")])
    standing = (Place("the begin", "", "the begin"), Place("end", "", "end"))
    assert cast_of(circuit) == Cast(standing)
    assert "the begin" in shown(circuit).words
    found = saved_discovery(finished)
    renamed = replace(
        found,
        circuit=circuit,
        standing={"the begin": (), "end": ()},
        evidence=replace(found.evidence, necessity=[]),
    )
    assert cast_of(renamed) == Cast(standing, ("x_1",))
    assert "the begin" in shown(renamed).words


def test_other_relations_are_drawn_by_their_names(finished):
    circuit = Circuit.of([Path.of(0, 0, "previous token"), Path.of(1, 0, "find^2")])
    fragment = shown(circuit)
    assert fragment.classes.count("arrow") == 2
    assert "previous token" in fragment.words
    assert "find²" in fragment.words
    found, timeline = saved_discovery(finished), timeline_of(finished)
    evidence = replace(found.evidence, necessity=[])
    fragment = shown(replace(found, circuit=circuit, standing={}, evidence=evidence))
    assert fragment.classes.count("arrow") == 2
    history = replace(timeline.paths[0], path=circuit.paths[1])
    assert "find2" in shown(replace(timeline, paths=[history])).words


def test_circuits_without_anything_to_draw_are_told_in_words():
    assert "uniform" in shown(Circuit({(0, 0): Uniform(), (1, 0): Identity()})).words
    assert "no heads" in shown(Circuit({})).words
    assert "nothing" in shown(Circuit({(0, 0): Paths(frozenset())})).words


def test_a_run_that_was_not_evaluated_or_failed_says_so(run):
    run.write("outcome.json", {"status": "failed", "message": f"lost {ODD}"})
    assert f"failed: lost {ODD}" in shown(run).words
    (run.folder / "metrics.jsonl").unlink()
    assert "no evaluation yet" in shown(run).words
    run.remove("outcome.json")
    assert "stopped" in shown(run).words


def test_a_run_that_cannot_be_read_says_why(run):
    (run.folder / "metrics.jsonl").write_text(f"{ODD}\n")
    assert "metrics.jsonl, line 1 is not valid JSON" in shown(run).words


def test_names_are_escaped(finished, tmp_path):
    config = finished.config
    run = Run(tmp_path / ODD.replace("/", ""), config)
    run.folder.mkdir()
    assert ODD.replace("/", "") in shown(run).words
    circuit = Circuit.of([Path.of(0, 0, f"{ODD}←{ODD}2")])
    assert ODD in shown(circuit).words
    found, timeline = saved_discovery(finished), timeline_of(finished)
    evidence = found.evidence
    odd = replace(evidence.necessity[0], path=Path.of(0, 0, f"{ODD}←s1"))
    evidence = replace(evidence, necessity=[odd], intact={ODD: 1.0})
    odd_circuit = Circuit.of([odd.path])
    for standing in ({}, {"s1": (), ODD: ()}, {"s1": (ODD,), ODD: ("p_1", "x")}):
        discovery = replace(found, circuit=odd_circuit, evidence=evidence, standing=standing)
        assert ODD in shown(discovery).words
    history = replace(timeline.paths[0], path=odd.path)
    words = shown(replace(timeline, paths=[history], hops={ODD: 1.0})).words
    assert words.count(ODD) >= 2


def test_numbers_are_shown_as_everywhere(finished):
    found = saved_discovery(finished)
    assert rounded(found.replaced_loss) in shown(found).words


def test_rules_stay_inside(finished):
    for thing in everything(finished):
        sheet = re.findall(r"<style>(.*?)</style>", cell(thing), re.DOTALL)[0]
        assert sheet.startswith(".headway:not(#_) {")
        assert sheet.count("{") == sheet.count("}")
        depth = 0
        for i, letter in enumerate(sheet):
            depth += {"{": 1, "}": -1}.get(letter, 0)
            assert depth > 0 or i < len(".headway:not(#_) ") or i == len(sheet) - 1
        assert ":root {" not in sheet
        assert "/*" not in sheet


def test_a_part_of_the_style_sheet_that_is_gone_is_missed():
    with pytest.raises(ValueError, match="0 parts called Fashion"):
        scoped_style(("Fashion",))
    with pytest.raises(ValueError, match="parts called"):
        scoped_style(("The ",))


def test_a_part_of_the_style_sheet_goes_on_after_a_remark():
    sheet = scoped_style(("The circuit",))
    assert all(rule in sheet for rule in (".arrow .shaft {", ".arrow .tip {", "#switched {"))


def test_everything_that_can_be_shown_is_a_kind_of_its_own(finished):
    run, found, circuit, timeline = everything(finished)
    assert isinstance(found, Discovery)
    assert len({cell(run), cell(found), cell(circuit), cell(timeline)}) == 4
