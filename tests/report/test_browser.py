"""In a browser: the page of a run, its circuit over a sequence, and all that moves with time."""

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
  .filter((one) => !one.closest('svg, script, style, select, details:not([open]) > :not(summary)')
    && one.checkVisibility())
  .flatMap((one) => [...one.childNodes].filter((node) => node.nodeType === 3))
  .flatMap((node) => node.data.split(/\\s+/).filter(Boolean)).length"""
"""How many words of the page are seen, those in drawings and lists to choose from left out."""


NARROWED = """() => {
  const stage = document.querySelector('.stage');
  stage.style.width = '500px';
  return stage.querySelector('svg').getBoundingClientRect().width;
}"""
"""The width of the circuit on a paper narrower than the screen, on which nothing is drawn again."""


def data_of(page):
    return page_data(page.file.read_text(encoding="utf-8"))


def answers(data, index, variant=0, sequence=0):
    """Hop, answer and whether it is right, of the first query of a sequence at a step."""
    one = data["sequences"][sequence]
    questions, steps = one["questions"], data["answer_steps"]
    nearest = min(range(len(steps)), key=lambda i: abs(steps[i] - index))
    start = (variant * len(steps) + nearest) * len(questions)
    given = unpacked(one["answers"], -1).tolist()[start : start + len(questions)]
    hops = data["task"]["hops"]
    return [
        [hops[q["hop"]]["label"], one["names"][answer], answer == q["answer"]]
        for q, answer in zip(questions, given, strict=True)
        if q["position"] == questions[0]["position"]
    ]


@pytest.mark.parametrize("address", ["", f"#cut={FIRST}"])
def test_the_first_screen_is_whole_also_of_a_link_to_a_cut(visit, learnt, address):
    seen = visit(learnt, address=address)
    assert ("Click it again to heal" in seen.words(".says")) == bool(address)
    for width, height in ((1920, 1080), (1280, 720), (390, 844)):
        seen.look(width, "light", height)
        for part in ("h1", ".answers", ".stage svg", ".says", ".choices", ".time"):
            box = seen.page.locator(part).first.bounding_box()
            assert 0 <= box["y"] <= height - box["height"], (width, part)
            assert 0 <= box["x"] <= width - box["width"], (width, part)


def test_what_is_shown_is_of_the_moment(visit, learnt):
    seen, data = visit(learnt), data_of(learnt)
    keys = [path["key"] for path in data["circuit"]["paths"]]
    edges = [
        key
        for key, path in zip(keys, data["circuit"]["paths"], strict=True)
        for _ in path["cells"][0]
    ]
    along = unpacked(data["sequences"][0]["along"], -1).tolist()
    for index, step in [*enumerate(data["steps"])][::-12]:
        shown = seen.go_to(index)
        assert shown["step"] == f"step {step:,}"
        assert shown["answers"] == answers(data, index)
        before = [loss for at, loss in data["losses"][1]["points"] if at <= step]
        losses = [(text.split()[0], float(text.split()[1])) for text in shown["losses"]]
        assert losses == [("x₁", pytest.approx(loss, rel=0.01)) for loss in before[-1:]]
        row = along[index * len(edges) : (index + 1) * len(edges)]
        for key, opacity in shown["arrows"]:
            shares = [share / 100 for share, edge in zip(row, edges, strict=True) if edge == key]
            assert min(abs(opacity - 0.35 - 0.65 * share) for share in shares) < 0.011
    heads = {key for key, _ in shown["arrows"]}
    assert heads == {PAIR, FIRST}


def test_a_cut_changes_the_answers_to_those_without_the_path(visit, learnt):
    seen, data = visit(learnt), data_of(learnt)
    last = len(data["steps"]) - 1
    keys = [path["key"] for path in data["circuit"]["paths"]]
    assert seen.shown()["answers"] == answers(data, last)
    for key in keys:
        shown = seen.cut(key)
        assert shown["cut"] == [key]
        assert shown["answers"] == answers(data, last, 1 + keys.index(key))
        seen.page.keyboard.press("Escape")
        assert seen.shown()["cut"] == []
    assert any(answers(data, last, 1 + i) != answers(data, last) for i in range(len(keys)))
    seen.page.get_by_label("path to cut").select_option(FIRST)
    assert seen.shown()["cut"] == [FIRST]
    seen.page.locator("section", has_text="emerges at step").last.locator("tbody td").first.hover()
    seen.settle()
    assert seen.page.locator(".arrow.pointed").get_attribute("data-path") == PAIR


def test_a_cut_is_told_with_the_numbers_of_the_moment(visit, learnt):
    seen, data = visit(learnt, address=f"#cut={FIRST}"), data_of(learnt)
    (along,) = [curve for curve in data["along"] if curve["key"] == FIRST]
    (without,) = [curve for curve in data["without"] if curve["key"] == FIRST]
    for index in (1, len(data["steps"]) - 1):
        seen.go_to(index)
        found = re.findall(r"(?:attention|loss|it) (\d[\d.]*\d)", seen.words(".says"))
        values = [one["points"][index][1] for one in (along, data["without"][-1], without)]
        assert list(map(float, found)) == pytest.approx(values, rel=0.01)


def test_any_sequence_and_query_can_be_chosen(visit, learnt):
    seen, data = visit(learnt), data_of(learnt)
    last = len(data["steps"]) - 1
    assert len(data["sequences"]) == 8
    for number in range(8):
        assert seen.shown()["answers"] == answers(data, last, sequence=number)
        seen.page.get_by_role("button", name="next sequence").first.click()
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
    seen.page.get_by_role("button", name="next sequence").first.click()
    seen.wait_until("location.hash.includes('sequence=2')")
    shown = visit(learnt, address=seen.page.evaluate("location.hash")).shown()
    assert shown == seen.shown()
    assert (shown["step"], shown["cut"]) == (f"step {steps[3]:,}", [FIRST])
    for nonsense in ("#step=9e9&cut=7.7.s9&sequence=99", "#%&&=&%E0%A4%A", "#asked=77&x"):
        shown = visit(learnt, address=nonsense).shown()
        assert (shown["step"], shown["cut"]) == (f"step {steps[-1]:,}", [])


def test_it_plays_once_by_itself_and_when_it_is_asked_to(visit, learnt):
    seen = visit(learnt, reduced_motion="no-preference")
    last = f"step {data_of(learnt)['steps'][-1]:,}"
    seen.page.get_by_role("button", name="pause").wait_for()
    seen.page.keyboard.press(" ")
    seen.page.clock.install()
    seen.page.reload()
    seen.page.clock.run_for(2000)
    assert seen.shown()["step"] == last
    seen.page.get_by_role("button", name="play").click()
    seen.page.clock.run_for(1000)
    seen.page.keyboard.press(" ")
    paused = seen.words(".step")
    assert paused != last
    seen.page.clock.run_for(8000)
    assert seen.words(".step") == paused
    seen.page.get_by_role("button", name="play").click()
    seen.page.clock.run_for(9000)
    assert seen.words(".step") == last
    assert visit(learnt).page.get_by_role("button", name="play").is_visible()


def test_maps_are_read_cell_by_cell(visit, two_hops):
    seen, data = visit(two_hops), data_of(two_hops)
    attention, size = data["attention"], len(data["sequences"][0]["labels"])
    values, steps = unpacked(attention["packed"], -1).tolist(), len(attention["steps"])
    box = seen.page.locator(".cells").first
    box.scroll_into_view_if_needed()
    place = box.bounding_box()
    for row, column in ((0, 0), (size - 1, 1), (size - 1, size - 1)):
        seen.page.mouse.move(
            place["x"] + (column + 0.5) * place["width"] / size,
            place["y"] + (row + 0.5) * place["height"] / size,
        )
        share = values[(row * size + column) * steps + steps - 1] / 100
        read = seen.words("[aria-labelledby=inside] output")
        assert f"({row}) reads" in read
        assert f"({column}):" in read
        assert float(read.rpartition(":")[2]) == pytest.approx(share)


def test_tables_sort_and_say_how(visit, learnt, tmp_path):
    seen, data = visit(learnt), data_of(learnt)
    table = seen.page.locator("figure.table", has_text="emerges at step").first
    assert "Sorted by layer and head" in table.text_content()
    table.get_by_role("button", name="attention").click()
    assert "Sorted by attention, smallest first" in table.text_content()
    shares = [float(text) for text in table.locator("tbody td:nth-child(3)").all_text_contents()]
    assert shares == sorted(shares)
    with seen.page.expect_download() as download:
        table.get_by_role("button", name="CSV").click()
    download.value.save_as(tmp_path / "paths.csv")
    text = (tmp_path / "paths.csv").read_text(encoding="utf-8")
    found = {float(row["attention"]) for row in csv.DictReader(io.StringIO(text))}
    assert found == {row[2] for row in data["evidence"]["rows"]}


def test_figures_are_kept_and_need_nothing_else(visit, learnt, tmp_path):
    seen = visit(learnt)
    drawn = ElementTree.fromstring(seen.kept("circuit as SVG", tmp_path))
    words = "".join(drawn.itertext())
    for label in ("layer 0", "layer 1", "right"):
        assert label in words
    for element in drawn.iter():
        assert element.tag.rpartition("}")[2] not in ("style", "script", "foreignObject")
        assert "var(" not in "".join(element.attrib.values())
    box = seen.page.locator(".stage svg").bounding_box()
    size = [int.from_bytes(seen.kept_bytes("PNG", tmp_path)[i : i + 4]) for i in (16, 20)]
    assert size == [2 * box["width"], 2 * box["height"]]
    tikz, circuit = seen.kept("TikZ", tmp_path), data_of(learnt)["circuit"]
    assert tikz.count("\\draw") == sum(len(path["cells"][0]) for path in circuit["paths"])
    for part in ("\\begin{tikzpicture}", "{layer 1}", "{headway1}{RGB}{10,96,184}"):
        assert part in tikz
    head, *rows = csv.reader(io.StringIO(seen.kept("CSV", tmp_path)))
    assert head == ["curve", "step", "value"]
    assert {row[0] for row in rows} >= {"training", "x₁"}


def test_two_steps_are_compared(visit, learnt):
    seen, data = visit(learnt), data_of(learnt)
    seen.page.get_by_text("Compare two steps").click()
    seen.page.get_by_label("step to compare with").select_option("1")
    rows = seen.page.locator("details", has_text="Compare two steps").locator("tbody tr")
    shown = {
        cells[0].inner_text(): [cell.get_attribute("title") for cell in cells[1:]]
        for cells in (row.locator("td").all() for row in rows.all())
    }
    for *curves, name in [
        *((*both, both[0]["name"]) for both in zip(data["along"], data["without"], strict=False)),
        (data["without"][-1], "nothing cut"),
    ]:
        values = [str(curve["points"][i][1]) for curve in curves for i in (1, -1)]
        assert [value for value in shown[name] if value is not None] == values
    steps, losses = data["steps"], data["losses"][1]["points"]
    hop = [max(point for point in losses if point[0] <= steps[i])[1] for i in (1, -1)]
    assert [float(one) for one in shown["x₁"][2:]] == hop


def test_the_circuit_stands_alone_where_it_is_embedded(visit, learnt):
    seen = visit(learnt, address="?embed=circuit")
    assert seen.page.locator(".stage svg.circuit").is_visible()
    assert not seen.page.locator("h2").count()


def test_the_page_is_short_and_light(visit, learnt):
    seen = visit(learnt)
    assert seen.page.evaluate("document.documentElement.scrollHeight") <= 3500
    assert seen.page.evaluate(WORDS) <= 700
    assert learnt.file.stat().st_size <= 300_000


def test_idle_layers_of_a_deep_model_fold(visit, tmp_path):
    config = tiny_config(Retrieval(depth=1, n_chains=2))
    deep = replace(config, model=replace(config.transformer, n_layers=12))
    run = train(deep, tmp_path / "run")
    heads = {(layer, 0): Uniform() for layer in range(12)}
    heads |= {(3, 0): Paths(frozenset({"s2←s1"})), (8, 0): Paths(frozenset({"s0←s2"}))}
    discover(run, circuit=Circuit(heads), threshold=ANY_LOSS, sequences=8)
    run.write("circuit.json", run.read("circuit_given.json"))
    page = written(run, tmp_path)
    for width, names in ((1280, "layer 9–11 idle"), (390, "9–11")):
        seen = visit(page, viewport={"width": width, "height": 844})
        rows = seen.page.locator(".hero text.layer")
        texts = [" ".join(text.split()) for text in rows.all_text_contents()]
        assert len(texts) == 5
        assert texts[-1] == names
        boxes = [box for box in (rows.nth(i).bounding_box() for i in range(5)) if box]
        assert all(low["y"] - high["y"] >= 11 for low, high in pairwise(boxes))


def test_it_prints_on_five_pages_with_the_circuit(visit, learnt):
    seen = visit(learnt)
    pages = seen.page.pdf().count(b"/Type /Page\n") or seen.page.pdf().count(b"/Type /Page")
    assert 1 <= pages <= 5
    seen.page.emulate_media(media="print")
    assert seen.page.locator(".stage svg.circuit").is_visible()
    assert seen.page.evaluate(NARROWED) <= 500
    assert not seen.page.get_by_role("button", name="circuit as SVG").is_visible()


@pytest.fixture(scope="module", params=["learnt", "hops", "reassigned", "associations", "recall"])
def any_page(request, tmp_path_factory, learnt):
    if request.param == "learnt":
        return learnt
    folder = tmp_path_factory.mktemp(request.param)
    config = tiny_config(TASKS[request.param](), causal=False)
    return written(taken_apart(folder / request.param, config), folder)


def test_anyone_can_read_and_use_it(visit, any_page):
    seen = visit(any_page)
    seen.page.evaluate("document.querySelectorAll('details').forEach((it) => { it.open = true; })")
    assert not faults(seen)


def test_a_click_leaves_no_focus_box_and_keys_show_one(visit, learnt):
    seen = visit(learnt)
    style = "getComputedStyle(document.activeElement).outlineStyle"
    seen.page.get_by_role("button", name="next sequence").first.click()
    assert seen.page.evaluate(style) == "none"
    seen.page.keyboard.press("Tab")
    assert seen.page.evaluate(style) == "solid"
