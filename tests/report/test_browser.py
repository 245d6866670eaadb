"""In a browser: the page of a run, its circuit over a sequence, and all that moves with
time.
"""

import csv
import io
import re
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from browser import faults
from pages import page_data, unpacked, written
from tiny_runs import ANY_LOSS, TASKS, taken_apart, tiny_config

from headway.find import discover
from headway.replace import Circuit, Paths, Uniform
from headway.tasks import Retrieval
from headway.training import train

PAIR, FIRST = "0.0.s2←s1", "1.0.s0←s2"
"""The paths of the run that learnt."""


WORDS = """() => [...document.querySelectorAll('body *')]
  .filter((one) => !one.closest(
    'svg, script, style, select, details:not([open]) > :not(summary)')
    && one.checkVisibility())
  .flatMap((one) => [...one.childNodes].filter((node) => node.nodeType === 3))
  .flatMap((node) => node.data.split(/\\s+/).filter(Boolean)).length"""
"""How many words of the page are seen, those in drawings and lists to choose from left
out.
"""


NARROWED = """() => {
  const stage = document.querySelector('.stage');
  stage.style.width = '500px';
  return stage.querySelector('svg').getBoundingClientRect().width;
}"""
"""The width of the circuit on a paper narrower than the screen, on which nothing is
drawn again.
"""


def data_of(page):
    return page_data(page.file.read_text(encoding="utf-8"))


def answers(data, index, variant=0, sequence=0):
    """Hop, answer and whether it is right, of the first query of a sequence at a
    step.
    """
    shown = data["sequences"][sequence]
    questions = shown["questions"]
    steps = data["answer_steps"]
    nearest = min(range(len(steps)), key=lambda i: abs(steps[i] - index))
    start = (variant * len(steps) + nearest) * len(questions)
    given = unpacked(shown["answers"]["given"], -1).tolist()[start:]
    hops = data["task"]["hops"]
    position = questions[0]["position"]
    told = []
    for question, answer in zip(questions, given, strict=False):
        if question["position"] == position:
            label = hops[question["hop"]]["label"]
            told.append([label, shown["names"][answer], answer == question["answer"]])
    return told


PARTS = ("h1", ".chips", ".answers", ".stage svg", ".says", ".choices", ".time")


@pytest.mark.parametrize("address", ["", f"#cut={FIRST}"])
def test_the_first_screen_is_whole_also_of_a_link_to_a_cut(visit, learnt, address):
    seen = visit(learnt, address=address)
    heals = "Click it again to heal" in seen.words(".says")
    assert heals == bool(address)
    for width, height in ((1920, 1080), (1280, 720), (390, 844)):
        seen.look(width, "light", height)
        for part in PARTS:
            box = seen.page.locator(part).first.bounding_box()
            assert 0 <= box["y"] <= height - box["height"], (width, part)
            assert 0 <= box["x"] <= width - box["width"], (width, part)


def test_verdicts_are_chips_that_lead_to_their_reasons(visit, learnt):
    seen = visit(learnt)
    data = data_of(learnt)
    signs = {True: "✓", False: "✗", None: "?"}
    told = [f"{signs[one['holds']]} {one['name']}" for one in data["verdicts"]]
    chips = seen.page.locator(".chip")
    texts = [" ".join(text.split()) for text in chips.all_text_contents()]
    assert [text.split(" · ")[0] for text in texts] == told
    assert texts[0].endswith(" · these paths alone keep the answers")
    assert data["verdicts"][0]["because"] in chips.first.get_attribute("title")
    chips.first.click()
    top = "document.querySelector('#verdicts').getBoundingClientRect().top"
    seen.wait_until(f"0 <= {top} && {top} < innerHeight / 2")


def test_a_phone_has_room_for_what_verdicts_say(visit, learnt):
    seen = visit(learnt, viewport={"width": 390, "height": 844})
    chips = seen.page.locator(".chip").all()
    assert len(chips) == 3
    for chip in chips:
        assert " · " in chip.text_content()
        assert chip.bounding_box()["height"] < 30  # a line each


def test_what_an_exchange_is_stands_above_the_verdicts(visit, learnt):
    told = visit(learnt).words("[aria-labelledby=verdicts]")
    assert "carries in another sequence of the same layout" in told


def test_the_legend_names_what_is_drawn_alone(visit, learnt):
    told = visit(learnt).words(".says")
    assert "Colour: the symbol it carries" in told
    assert "s₀, s₁ …: places" in told
    assert not re.search("Colour: each head|band|hollow", told)


def last_of(data):
    """The index of the last step."""
    return len(data["steps"]) - 1


def keys_of(data):
    """The paths of the circuit by their keys."""
    return [path["key"] for path in data["circuit"]["paths"]]


def moments(data):
    """Every twelfth step from the last on backwards, by index."""
    return range(last_of(data), -1, -12)


def test_answers_are_those_of_the_moment(visit, learnt):
    seen = visit(learnt)
    data = data_of(learnt)
    for index in moments(data):
        shown = seen.go_to(index)
        step = data["steps"][index]
        assert shown["step"] == f"step {step:,}"
        assert shown["answers"] == answers(data, index)


def test_losses_are_those_of_the_moment(visit, learnt):
    seen = visit(learnt)
    data = data_of(learnt)
    for index in moments(data):
        step = data["steps"][index]
        shown = seen.go_to(index)
        before = [loss for at, loss in data["losses"][1]["points"] if at <= step]
        # Of a single hop the name is left out.
        losses = [float(text) for text in shown["losses"]]
        assert losses == [pytest.approx(loss, rel=0.01) for loss in before[-1:]]


def test_arrows_are_as_strong_as_attention_of_the_moment(visit, learnt):
    seen = visit(learnt)
    data = data_of(learnt)
    edges = [path["key"] for path in data["circuit"]["paths"] for _ in path["cells"][0]]
    along = unpacked(data["sequences"][0]["along"], -1).tolist()
    for index in moments(data):
        shown = seen.go_to(index)
        start = index * len(edges)
        row = along[start : start + len(edges)]
        for key, opacity in shown["arrows"]:
            shares = [
                share / 100
                for share, edge in zip(row, edges, strict=True)
                if edge == key
            ]
            errors = [abs(opacity - 0.35 - 0.65 * share) for share in shares]
            assert min(errors) < 0.011
        assert {key for key, _ in shown["arrows"]} == {PAIR, FIRST}


def test_a_cut_changes_the_answers_to_those_without_the_path(visit, learnt):
    seen = visit(learnt)
    data = data_of(learnt)
    last = last_of(data)
    whole = answers(data, last)
    assert seen.shown()["answers"] == whole
    changes = False
    for variant, key in enumerate(keys_of(data), start=1):
        without = answers(data, last, variant)
        shown = seen.cut(key)
        assert shown["cut"] == [key]
        assert shown["answers"] == without
        changes = changes or without != whole
        seen.page.keyboard.press("Escape")
        assert seen.shown()["cut"] == []
    assert changes


def test_a_path_to_cut_is_chosen_from_a_list(visit, learnt):
    seen = visit(learnt)
    seen.page.get_by_label("path to cut").select_option(FIRST)
    assert seen.shown()["cut"] == [FIRST]


def test_a_path_is_pointed_at_from_its_row(visit, learnt):
    seen = visit(learnt)
    section = seen.page.locator("section", has_text="emerges at step").last
    section.locator("tbody td").first.hover()
    seen.settle()
    arrow = seen.page.locator(".arrow.pointed")
    assert arrow.get_attribute("data-path") == PAIR


def test_a_cut_is_told_with_the_numbers_of_the_moment(visit, learnt):
    seen = visit(learnt, address=f"#cut={FIRST}")
    data = data_of(learnt)
    (along,) = [curve for curve in data["along"] if curve["key"] == FIRST]
    (without,) = [curve for curve in data["without"] if curve["key"] == FIRST]
    whole = data["without"][-1]
    for index in (1, last_of(data)):
        seen.go_to(index)
        told = re.findall(r"(?:attention|loss|it) (\d[\d.]*\d)", seen.words(".says"))
        values = [curve["points"][index][1] for curve in (along, whole, without)]
        assert [float(number) for number in told] == pytest.approx(values, rel=0.01)


def test_any_sequence_and_query_can_be_chosen(visit, learnt):
    seen = visit(learnt)
    data = data_of(learnt)
    last = last_of(data)
    assert len(data["sequences"]) == 8
    for number in range(8):
        assert seen.shown()["answers"] == answers(data, last, sequence=number)
        seen.next_sequence()
    assert "sequence 1 of 8" in seen.words(".hero .stepper")
    before = seen.words(".asks")
    seen.page.get_by_label("asked at").select_option("1")
    assert seen.words(".asks") != before


def test_the_address_keeps_what_is_shown(visit, learnt):
    steps = data_of(learnt)["steps"]
    seen = visit(learnt)
    assert seen.page.evaluate("location.hash") == ""
    seen.go_to(3)
    seen.cut(FIRST)
    seen.next_sequence()
    seen.wait_until("location.hash.includes('sequence=2')")
    address = seen.page.evaluate("location.hash")
    shown = visit(learnt, address=address).shown()
    assert shown == seen.shown()
    assert shown["step"] == f"step {steps[3]:,}"
    assert shown["cut"] == [FIRST]


NONSENSE = ["#step=9e9&cut=7.7.s9&sequence=99", "#%&&=&%E0%A4%A", "#asked=77&x"]


@pytest.mark.parametrize("address", NONSENSE)
def test_of_a_nonsensical_address_the_last_step_is_shown(visit, learnt, address):
    last = data_of(learnt)["steps"][-1]
    shown = visit(learnt, address=address).shown()
    assert shown["step"] == f"step {last:,}"
    assert shown["cut"] == []


def test_it_plays_once_by_itself_and_when_it_is_asked_to(visit, learnt):
    seen = visit(learnt, reduced_motion="no-preference")
    page = seen.page
    step = data_of(learnt)["steps"][-1]
    last = f"step {step:,}"
    page.get_by_role("button", name="pause").wait_for()
    page.keyboard.press(" ")
    page.clock.install()
    page.reload()
    page.locator(".answer .hop").first.wait_for()
    page.clock.run_for(2000)
    assert seen.shown()["step"] == last
    page.get_by_role("button", name="play").click()
    page.clock.run_for(1000)
    page.keyboard.press(" ")
    paused = seen.words(".step")
    assert paused != last
    page.clock.run_for(8000)
    assert seen.words(".step") == paused
    page.get_by_role("button", name="play").click()
    page.clock.run_for(9000)
    assert seen.words(".step") == last


def test_with_reduced_motion_it_waits_to_be_played(visit, learnt):
    seen = visit(learnt)
    assert seen.page.get_by_role("button", name="play").is_visible()


def test_maps_are_read_cell_by_cell(visit, two_hops):
    seen = visit(two_hops)
    data = data_of(two_hops)
    attention = data["attention"]
    size = len(data["sequences"][0]["labels"])
    n_steps = len(attention["steps"])
    values = unpacked(attention["packed"], -1).tolist()
    cells = seen.page.locator(".cells").first
    cells.scroll_into_view_if_needed()
    box = cells.bounding_box()
    for row, column in ((0, 0), (size - 1, 1), (size - 1, size - 1)):
        x = box["x"] + (column + 0.5) * box["width"] / size
        y = box["y"] + (row + 0.5) * box["height"] / size
        seen.page.mouse.move(x, y)
        cell = row * size + column
        share = values[(cell + 1) * n_steps - 1] / 100
        read = seen.words("[aria-labelledby=inside] output")
        assert f"({row}) reads" in read
        assert f"({column}):" in read
        _, _, told = read.rpartition(":")
        assert float(told) == pytest.approx(share)


def test_a_map_names_tokens_at_both_margins_and_lights_the_arrow(visit, learnt):
    seen = visit(learnt)
    data = data_of(learnt)
    labels = data["sequences"][0]["labels"]
    one = next(path for path in data["circuit"]["paths"] if path["key"] == FIRST)
    row, column = one["cells"][0][0]
    head = data["attention"]["heads"].index([one["layer"], one["head"]])
    a_map = seen.page.locator(".map").nth(head)
    cells = a_map.locator(".cells")
    cells.scroll_into_view_if_needed()
    box = cells.bounding_box()
    seen.page.mouse.move(
        box["x"] + (column + 0.5) * box["width"] / len(labels),
        box["y"] + (row + 0.5) * box["height"] / len(labels),
    )
    seen.settle()
    pointed = a_map.locator(".margins .pointed").all_text_contents()
    assert sorted(pointed) == sorted([labels[row], labels[column]])
    assert a_map.locator(".margins text").count() > len(labels)
    assert a_map.locator(".cross").count() == 2
    assert seen.page.locator(".arrow.pointed").get_attribute("data-path") == FIRST


def test_curves_show_values_and_set_the_step(visit, learnt):
    seen = visit(learnt)
    data = data_of(learnt)
    chart = seen.page.locator(".chart", has_text="attention along each path")
    chart.scroll_into_view_if_needed()
    box = chart.locator("svg").bounding_box()
    at = {"x": 44 + 0.5 * (box["width"] - 12 - 44), "y": 80}
    chart.locator("svg").hover(position=at)
    seen.settle()
    first = data["steps"][0]
    middle = first + 0.25 * (data["end"] - first)  # steps are by square roots
    nearest = min(data["steps"], key=lambda step: abs(step - middle))
    told = chart.locator("svg").text_content()
    assert f"at step {nearest:,}" in told
    for curve in data["along"]:
        value = next(value for step, value in curve["points"] if step == nearest)
        (shown,) = re.findall(rf"{re.escape(curve['name'])} (\d\.\d+)", told)
        assert float(shown) == pytest.approx(value, rel=0.01)
    chart.locator("svg").click(position=at)
    assert seen.shown()["step"] == f"step {nearest:,}"


def table_of_paths(seen):
    return seen.page.locator("figure.table", has_text="emerges at step").first


def test_tables_sort_and_say_how(visit, learnt):
    table = table_of_paths(visit(learnt))
    assert "Sorted by layer and head" in table.text_content()
    table.get_by_role("button", name="attention").click()
    assert "Sorted by attention, smallest first" in table.text_content()
    cells = table.locator("tbody td:nth-child(3)").all_text_contents()
    shares = [float(text) for text in cells]
    assert shares == sorted(shares)


def test_tables_are_kept_as_csv(visit, learnt, tmp_path):
    seen = visit(learnt)
    table = table_of_paths(seen)
    file = tmp_path / "paths.csv"
    with seen.page.expect_download() as download:
        table.get_by_role("button", name="CSV").click()
    download.value.save_as(file)
    text = file.read_text(encoding="utf-8")
    shares = {float(row["attention"]) for row in csv.DictReader(io.StringIO(text))}
    rows = data_of(learnt)["evidence"]["rows"]
    assert shares == {row[2] for row in rows}


def test_a_drawing_is_kept_and_needs_nothing_else(visit, learnt, tmp_path):
    seen = visit(learnt)
    drawing = ElementTree.fromstring(seen.kept("circuit as SVG", tmp_path))
    words = "".join(drawing.itertext())
    for label in ("layer 0", "layer 1", "right"):
        assert label in words
    for element in drawing.iter():
        _, _, tag = element.tag.rpartition("}")
        assert tag not in ("style", "script", "foreignObject")
        assert "var(" not in "".join(element.attrib.values())


def test_a_drawing_is_kept_on_white_paper_whatever_the_theme_is(
    visit, learnt, tmp_path
):
    light, dark = (
        visit(learnt, color_scheme=scheme).kept("circuit as SVG", tmp_path)
        for scheme in ("light", "dark")
    )
    assert "background: rgb(255, 255, 255)" in light
    assert dark == light


def test_a_picture_is_kept_at_twice_its_size(visit, learnt, tmp_path):
    seen = visit(learnt)
    box = seen.page.locator(".stage svg").bounding_box()
    png = seen.kept_bytes("PNG", tmp_path)
    assert int.from_bytes(png[16:20]) == 2 * box["width"]
    assert int.from_bytes(png[20:24]) == 2 * box["height"]


def test_curves_are_kept_as_csv(visit, learnt, tmp_path):
    text = visit(learnt).kept("CSV", tmp_path)
    head, *rows = csv.reader(io.StringIO(text))
    assert head == ["curve", "step", "value"]
    names = {row[0] for row in rows}
    assert {"training", "x₁"} <= names


def compared(visit, learnt):
    """The values of the table that compares the second step with the last, by name."""
    page = visit(learnt).page
    page.get_by_text("Compare two steps").click()
    page.get_by_label("step to compare with").select_option("1")
    rows = page.locator("details", has_text="Compare two steps").locator("tbody tr")
    values = {}
    for row in rows.all():
        name, *cells = row.locator("td").all()
        values[name.inner_text()] = [cell.get_attribute("title") for cell in cells]
    return values


def at_both(curve):
    """The values of a curve at the second step and the last, as they are written."""
    points = curve["points"]
    return [str(points[1][1]), str(points[-1][1])]


def test_two_steps_are_compared_path_by_path(visit, learnt):
    data = data_of(learnt)
    shown = compared(visit, learnt)
    *without, whole = data["without"]
    for along, cut in zip(data["along"], without, strict=True):
        values = [value for value in shown[along["name"]] if value is not None]
        assert values == at_both(along) + at_both(cut)
    values = [value for value in shown["nothing cut"] if value is not None]
    assert values == at_both(whole)


def test_two_steps_are_compared_hop_by_hop(visit, learnt):
    data = data_of(learnt)
    points = data["losses"][1]["points"]
    losses = []
    for index in (1, -1):
        step = data["steps"][index]
        _, loss = max(point for point in points if point[0] <= step)
        losses.append(loss)
    shown = compared(visit, learnt)["x₁"]
    assert [float(value) for value in shown[2:]] == losses


@pytest.fixture(scope="module")
def deep(tmp_path_factory):
    """The page of twelve layers, of which two have a path."""
    folder = tmp_path_factory.mktemp("deep")
    config = tiny_config(Retrieval(depth=1, n_chains=2))
    twelve = replace(config.transformer, n_layers=12)
    run = train(replace(config, model=twelve), folder / "run")
    heads = {(layer, 0): Uniform() for layer in range(12)}
    heads[3, 0] = Paths(frozenset({"s2←s1"}))
    heads[8, 0] = Paths(frozenset({"s0←s2"}))
    discover(run, circuit=Circuit(heads), threshold=ANY_LOSS, sequences=8)
    run.write("circuit.json", run.read("circuit_given.json"))
    return written(run, folder)


def test_the_circuit_stands_alone_where_it_is_embedded(visit, learnt):
    seen = visit(learnt, address="?embed=circuit")
    assert seen.page.locator(".stage svg.circuit").is_visible()
    assert not seen.page.locator("h2").count()


def test_the_page_is_short_and_light(visit, learnt):
    seen = visit(learnt)
    assert seen.page.evaluate("document.documentElement.scrollHeight") <= 3500
    assert seen.page.evaluate(WORDS) <= 700
    assert learnt.file.stat().st_size <= 300_000


@pytest.mark.parametrize(("width", "name"), [(1280, "layer 9–11 idle"), (390, "L9–11")])
def test_idle_layers_of_a_deep_model_fold(visit, deep, width, name):
    seen = visit(deep, viewport={"width": width, "height": 844})
    rows = seen.page.locator(".hero text.layer")
    texts = [" ".join(text.split()) for text in rows.all_text_contents()]
    assert len(texts) == 5
    assert texts[-1] == name
    boxes = [rows.nth(i).bounding_box() for i in range(5)]
    drawn = [box for box in boxes if box]
    for low, high in pairwise(drawn):
        assert low["y"] - high["y"] >= 11


def test_it_prints_on_five_pages_with_the_circuit(visit, learnt):
    page = visit(learnt).page
    pdf = page.pdf()
    pages = pdf.count(b"/Type /Page\n") or pdf.count(b"/Type /Page")
    assert 1 <= pages <= 5
    page.emulate_media(media="print")
    assert page.locator(".stage svg.circuit").is_visible()
    assert page.evaluate(NARROWED) <= 500
    assert not page.get_by_role("button", name="circuit as SVG").is_visible()


@pytest.fixture(
    scope="module", params=["learnt", "hops", "reassigned", "associations", "recall"]
)
def any_page(request, tmp_path_factory, learnt):
    if request.param == "learnt":
        return learnt
    folder = tmp_path_factory.mktemp(request.param)
    config = tiny_config(TASKS[request.param](), causal=False)
    return written(taken_apart(folder / request.param, config), folder)


def test_anyone_can_read_and_use_it(visit, any_page):
    seen = visit(any_page)
    seen.page.evaluate(
        "document.querySelectorAll('details').forEach((it) => { it.open = true; })"
    )
    assert not faults(seen)


def test_a_click_leaves_no_focus_box_and_keys_show_one(visit, learnt):
    seen = visit(learnt)
    style = "getComputedStyle(document.activeElement).outlineStyle"
    seen.next_sequence()
    assert seen.page.evaluate(style) == "none"
    seen.page.keyboard.press("Tab")
    assert seen.page.evaluate(style) == "solid"
