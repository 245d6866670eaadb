"""In a browser: the circuit of a model of one's own, over tokens, with several
heads.
"""

import re
from itertools import combinations

import pytest
from own_tasks import Homes, TwoPlacesBack
from pages import page_data, unpacked, written
from tiny_runs import with_heads

FOUR_HEADS = {
    **{(0, head): ("2 back",) for head in range(2)},
    (0, 2): ("2 back", "previous token"),
    (0, 3): ("all so far",),
    **{(1, head): ("2 back",) for head in range(4)},
}

CLICKABLE = """() => [...document.querySelectorAll('.hero .arrow')].map((arrow) => {
  const hit = arrow.querySelector('.hit');
  const length = hit.getTotalLength();
  const matrix = hit.getScreenCTM();
  for (let share = 0.02; share < 1; share += 0.02) {
    const {x, y} = hit.getPointAtLength(share * length).matrixTransform(matrix);
    if (document.elementFromPoint(x, y)?.closest('.arrow') === arrow) {
      return [arrow.dataset.path, x, y];
    }
  }
  return [arrow.dataset.path, null, null];
})"""
"""A point of every arrow where nothing lies above it."""


INSIDE = """() => {
  const area = document.querySelector('.hero .arrow.band .area');
  const {x, y, width, height} = area.getBBox();
  for (let across = 0.05; across < 1; across += 0.05) {
    for (let down = 0.05; down < 1; down += 0.05) {
      const point = new DOMPoint(x + across * width, y + down * height);
      const there = point.matrixTransform(area.getScreenCTM());
      const on = area.isPointInFill(point) && !area.isPointInStroke(point);
      if (on && document.elementFromPoint(there.x, there.y) === area) {
        return [area.parentElement.dataset.path, there.x, there.y];
      }
    }
  }
}"""
"""A point within a band where nothing lies above it."""


@pytest.fixture(scope="module")
def heads(tmp_path_factory):
    """The page of two layers of four heads, some of which look at the same token."""
    folder = tmp_path_factory.mktemp("heads")
    return written(with_heads(folder / "heads", TwoPlacesBack(), 4, FOUR_HEADS), folder)


@pytest.fixture(scope="module")
def homes(tmp_path_factory):
    """The page of a task of words."""
    folder = tmp_path_factory.mktemp("homes")
    paths = {
        (0, 0): ("3 back", "previous token"),
        (1, 0): ("after latest same token", "first position"),
    }
    return written(with_heads(folder / "homes", Homes(), 1, paths), folder)


def data_of(page):
    return page_data(page.file.read_text(encoding="utf-8"))


def boxes(seen, selector):
    return [one.bounding_box() for one in seen.page.locator(selector).all()]


def overlap(one, other):
    """True if two boxes have more than a rounding error in common."""
    across = min(one["x"] + one["width"], other["x"] + other["width"])
    down = min(one["y"] + one["height"], other["y"] + other["height"])
    return (
        across - max(one["x"], other["x"]) > 1 and down - max(one["y"], other["y"]) > 1
    )


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_every_path_can_be_clicked(visit, heads, width):
    seen = visit(heads, viewport={"width": width, "height": 900})
    points = {key: (x, y) for key, x, y in seen.page.evaluate(CLICKABLE)}
    assert set(points) == {path["key"] for path in data_of(heads)["circuit"]["paths"]}
    for key, (x, y) in points.items():
        assert x is not None, key
        seen.page.mouse.click(x, y)
        assert set(seen.shown()["cut"]) == {key}
        seen.page.keyboard.press("Escape")
        seen.settle()


@pytest.mark.parametrize("width", [1280, 1920])
def test_every_path_is_named_and_no_name_covers_another(visit, heads, width):
    seen = visit(heads, viewport={"width": width, "height": 900})
    names = [path["name"] for path in data_of(heads)["circuit"]["paths"]]
    assert "H2 · previous token" in names
    told = seen.page.locator(".label text").all_text_contents()
    assert sorted(re.sub(r" · \d\.\d\d$", "", text) for text in told) == sorted(names)
    labels = boxes(seen, ".label rect")
    assert not any(overlap(one, other) for one, other in combinations(labels, 2))


def test_an_average_is_one_band(visit, heads):
    seen = visit(heads)
    of_average = seen.page.locator(".arrow[data-path='0.3.all so far']")
    assert "band" in of_average.last.get_attribute("class")
    assert of_average.count() <= 2  # at the query, and where that looks in layer 1
    assert "band: an average" in seen.words(".says")


def test_a_band_can_be_clicked_inside(visit, heads):
    seen = visit(heads)
    key, x, y = seen.page.evaluate(INSIDE)
    seen.page.mouse.click(x, y)
    assert set(seen.shown()["cut"]) == {key}


def test_evidence_of_what_nobody_knows_to_be_carried_has_no_column_for_it(heads):
    assert data_of(heads)["evidence"]["head"][:2] == ["path", "attention"]


def test_the_legend_names_what_is_drawn_alone(visit, heads):
    told = visit(heads).words(".says")
    assert "Colour: each head's own" in told
    assert not re.search("symbol|vertical|s₀|marks|hollow", told)


def test_a_question_is_told_by_its_position_and_token(visit, heads):
    seen = visit(heads)
    data = data_of(heads)
    (asked,) = re.findall(r"position (\d+), which holds (\d),", seen.words(".asks"))
    assert data["sequences"][0]["labels"][int(asked[0])] == asked[1]
    choices = seen.page.get_by_label("asked at").locator("option").all_text_contents()
    assert choices[0] == f"position 2 ({data['sequences'][0]['labels'][2]})"


def told_in(data, kind, cut, index):
    """Answers and probabilities in the first sequence, of a cut at its last step."""
    shown = data["sequences"][0]
    questions = len(shown["questions"])
    steps = data["answer_steps" if kind == "answers" else "cut_steps"]
    start = ((cut + 1) * len(steps) - 1) * questions
    given = unpacked(shown[kind]["given"], -1).tolist()[start + index]
    chance = unpacked(shown[kind]["chances"], -1).tolist()[start + index]
    return shown["names"][given], f"p {chance / 100:.2f}"


def answer_shown(seen):
    seen.settle()
    given = seen.page.locator(".answer b").first.text_content()
    return given, seen.page.locator(".answer small").first.text_content()


def test_answers_have_probabilities_and_the_colour_of_no_path(visit, heads):
    seen = visit(heads)
    seen.page.get_by_label("asked at").select_option("3")
    assert answer_shown(seen) == told_in(data_of(heads), "answers", 0, 3)
    assert seen.page.locator(".answer").get_attribute("style") == "--c: var(--c0);"


def test_several_paths_are_cut_at_once(visit, heads):
    seen = visit(heads)
    data = data_of(heads)
    paths = data["circuit"]["paths"]
    both = [0, 5]
    for number in both:
        seen.page.get_by_label("path to cut").select_option(paths[number]["key"])
    seen.page.get_by_label("asked at").select_option("3")
    assert set(seen.shown()["cut"]) <= {paths[number]["key"] for number in both}
    number = data["cuts"].index(both)
    assert answer_shown(seen) == told_in(data, "together", number, 3)
    seen.wait_until("location.hash.match(/cut=/g)?.length === 2")
    address = seen.page.evaluate("location.hash")
    assert answer_shown(visit(heads, address=address)) == answer_shown(seen)
    seen.page.keyboard.press("Escape")
    assert answer_shown(seen) == told_in(data, "answers", 0, 3)


def test_answers_without_too_many_paths_are_not_made_up(visit, heads):
    seen = visit(heads)
    data = data_of(heads)
    three = [path["key"] for path in data["circuit"]["paths"][:3]]
    assert [0, 1, 2] not in data["cuts"]
    for key in three:
        seen.page.get_by_label("path to cut").select_option(key)
    assert seen.page.locator(".answer b").all_text_contents() == ["—"]
    assert "are not known" in seen.words(".says")


@pytest.mark.parametrize("width", [1280, 1920])
def test_words_fit_their_columns(visit, homes, width):
    seen = visit(homes, viewport={"width": width, "height": 800})
    words = boxes(seen, ".token text:not(.place)")
    assert len(words) == 21
    assert not any(overlap(one, other) for one, other in combinations(words, 2))
    texts = seen.page.locator(".token.chain text:not(.place)").all_text_contents()
    labels = data_of(homes)["sequences"][0]["labels"]
    assert {text.strip() for text in texts} <= set(labels)  # none is shortened


@pytest.mark.parametrize("width", [320, 390])
def test_where_words_have_no_room_they_are_slanted(visit, homes, width):
    seen = visit(homes, viewport={"width": width, "height": 844})
    assert seen.page.locator(".token.chain .slanted").count() >= 3
    stage = seen.page.locator(".stage").bounding_box()
    for box in boxes(seen, ".token .slanted"):
        assert box["x"] >= stage["x"] - 1
        assert box["y"] + box["height"] <= stage["y"] + stage["height"] + 1


PARTS = ("h1", ".chips", ".answers", ".stage", ".says", ".choices", ".time")
SIZES = [(320, 560), (375, 667), (390, 844), (1280, 720), (1920, 1080)]


@pytest.mark.parametrize("page", ["heads", "homes"])
def test_nothing_lies_under_anything(visit, request, page):
    seen = visit(request.getfixturevalue(page))
    for width, height in SIZES:
        seen.look(width, "light", height)
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        parts = {part: seen.page.locator(part).first.bounding_box() for part in PARTS}
        for (one, box), (other, under) in combinations(parts.items(), 2):
            assert not overlap(box, under), (width, one, other)
        for box in boxes(seen, ".stage svg"):
            assert box["height"] <= parts[".stage"]["height"] + 1, width


PLAYED = """() => new Promise((done) => {
  const looks = new Set();
  const look = (left) => {
    const parts = '.stage, .says, .time, .slot, .label rect';
    const boxes = [...document.querySelectorAll(parts)]
      .map((one) => one.getBoundingClientRect())
      .map(({x, y, width, height}) => [x, y, width, height].map(Math.round));
    looks.add(boxes.join());
    document.querySelector('#when').dispatchEvent(
      new KeyboardEvent('keydown', {key: 'ArrowLeft', bubbles: true}));
    if (left) requestAnimationFrame(() => requestAnimationFrame(() => look(left - 1)));
    else done([...looks]);
  };
  look(4);
})"""
"""The ways in which things lie on the page while time goes by."""


@pytest.mark.parametrize("page", ["heads", "homes"])
def test_nothing_moves_while_time_goes_by(visit, request, page):
    seen = visit(request.getfixturevalue(page))
    for width in (320, 1280):
        seen.look(width, "light")
        seen.go_to(3)
        assert len(seen.page.evaluate(PLAYED)) == 1
        assert seen.words(".step") == "step 0"


FRAME = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>frame</title>
<link rel="icon" href="data:,"><main id="app"><div></div></main>
<iframe src="{address}?embed=circuit" width="320" height="200"></iframe>
<script>
addEventListener("message", ({{data, source}}) => {{
  const frame = document.querySelector("iframe");
  if (source === frame.contentWindow) frame.height = data.headwayHeight;
}});
</script></html>"""


def test_an_embedded_circuit_reports_its_height(browser, heads, tmp_path):
    file = tmp_path / "frame.html"
    file.write_text(FRAME.format(address=heads.file.as_uri()), encoding="utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    page.frame_locator("iframe").locator(".time").wait_for()
    page.wait_for_function("document.querySelector('iframe').height > 400")
    scrolls = "document.documentElement.scrollHeight - innerHeight"
    assert page.frames[1].evaluate(scrolls) <= 0
    page.close()


@pytest.fixture(scope="module")
def tabled(tmp_path_factory):
    """The page of a circuit of a path and a head by table."""
    folder = tmp_path_factory.mktemp("tabled")
    paths = {(0, 0): ("2 back",)}
    run = with_heads(folder / "tabled", TwoPlacesBack(), 2, paths, [(1, 1)])
    return written(run, folder)


def test_a_head_by_table_is_drawn_as_a_grid_with_its_numbers(visit, tabled):
    seen = visit(tabled)
    (grid,) = data_of(tabled)["grids"]
    maps = seen.page.locator("#by-table ~ .maps").first
    told = maps.locator(".value").all_text_contents()
    shown = [value for row in grid["values"] for value in row if value >= 0.005]
    assert told == [f"{value:.2f}" for value in shown]
    assert f"the {grid['by']} that reads" in maps.text_content()


def test_what_a_cell_of_a_grid_says(visit, tabled):
    seen = visit(tabled)
    (grid,) = data_of(tabled)["grids"]
    cells = seen.page.locator("#by-table ~ .maps .cells").first
    cells.scroll_into_view_if_needed()
    box = cells.bounding_box()
    seen.page.mouse.move(box["x"] + 4, box["y"] + box["height"] - 4)
    seen.settle()
    last, first = grid["names"][-1], grid["names"][0]
    told = seen.words("#by-table ~ p output")
    assert told.startswith(f"L1.H1: {grid['by']} {last} reads {grid['by']} {first}: ")


def test_the_first_screen_leads_to_the_grids(visit, tabled):
    seen = visit(tabled)
    assert "L1.H1 attends by table" in seen.words(".says p >> nth=0")
    seen.page.get_by_role("button", name="What they look at").click()
    seen.settle()
    assert seen.page.locator("#by-table").bounding_box()["y"] < 100
