"""In a browser: one position in training, which circuit, curves and lists all show."""

import json
import math

import pytest
from browser import printed, spoken

from headway.circuits import Path
from headway.report.page.html import path_key


def evaluated(run, step):
    """The last evaluation until a step."""
    before = [line for line in run.metrics() if line["step"] <= step]
    return before[-1] if before else None


def expected(run, step):
    """What the page must show at a step, from the run's files."""
    timeline = json.loads((run.folder / "emergence.json").read_text())
    at = timeline["steps"].index(step)
    line = evaluated(run, step)
    paths = {path_key(Path.parse(p["path"])): p for p in timeline["paths"]}
    outputs = {("model", ""): timeline["loss"][at]}
    for key, path in paths.items():
        outputs["attention", key] = path["attention"][at]
        outputs["without", key] = path["loss_without"][at]
    for name in ("val_loss", "train_loss"):
        outputs[name, ""] = line and line[name]
    for hop in run.task.hops:
        outputs["partial", hop] = line and line["partial"][hop]
    losses = line["partial"].items() if line else ()
    return {
        "step": f"step {step:,}",
        "losses": [f"{spoken(hop)} {printed(loss)}" for hop, loss in losses],
        "outputs": {name: printed(value) for name, value in outputs.items()},
        "arrows": {key: path["attention"][at] for key, path in paths.items()},
    }


def check(seen, run, index):
    step = run.checkpoint_steps()[index]
    told = expected(run, step)
    assert (seen["step"], seen["slider"]) == (told["step"], index)
    assert seen["losses"] == told["losses"]
    assert seen["cursor"] == [step]
    kinds = {kind for kind, _, _ in seen["outputs"]}
    assert kinds >= {"val_loss", "train_loss", "attention", "without", "model"}
    for kind, key, text in seen["outputs"]:
        assert text == told["outputs"][kind, key], (kind, key, step)
    assert seen["arrows"] == told["arrows"]


@pytest.mark.parametrize("page", ["learnt", "two_hops"])
def test_at_some_positions_the_page_shows_what_the_files_say(visit, request, page):
    page = request.getfixturevalue(page)
    seen, steps = visit(page), page.run.checkpoint_steps()
    check(seen.shown(), page.run, len(steps) - 1)  # it opens at the end
    for index in range(0, len(steps), 1 + len(steps) // 8):
        check(seen.go_to(index), page.run, index)
    shown = {kind for kind, _, _ in seen.shown()["outputs"]}
    assert ("partial" in shown) == (len(page.run.task.hops) > 1)


def test_births_get_a_third_of_the_slider_and_of_playback(visit, learnt):
    seen, steps = visit(learnt), learnt.run.checkpoint_steps()
    born = [path["born"] for path in learnt.run.read("emergence.json")["paths"]]
    before = max(i for i, step in enumerate(steps) if step < min(born))
    after = min(i for i, step in enumerate(steps) if step > max(born))
    places = seen.page.evaluate("time.places")
    share = (places[after] - places[before]) / places[-1]
    assert (after - before) / len(steps) < 0.2
    assert 0.25 < share < 0.45
    seen.page.locator("#when").focus()
    for key, index in (("Home", 0), ("ArrowUp", 1), ("ArrowRight", 2), ("ArrowDown", 1)):
        seen.page.keyboard.press(key)
        assert seen.shown()["slider"] == index


def test_arrow_keys_and_space(visit, learnt):
    seen, page = visit(learnt), learnt
    last = len(page.run.checkpoint_steps()) - 1
    press = seen.page.keyboard.press
    press("ArrowLeft")
    check(seen.shown(), page.run, last - 1)
    press("ArrowRight")
    press("ArrowRight")
    check(seen.shown(), page.run, last)  # there is nothing beyond
    seen.page.locator("#when").focus()
    press("ArrowLeft")
    check(seen.shown(), page.run, last - 1)  # once, not twice
    press("Home")
    check(seen.shown(), page.run, 0)
    seen.page.evaluate("document.activeElement.blur()")
    press("ArrowLeft")
    check(seen.shown(), page.run, 0)
    press("Space")
    assert seen.page.locator("#play").get_attribute("aria-label") == "pause"
    seen.wait_until("headway.page.at > 1")
    press("Space")
    assert seen.page.locator("#play").get_attribute("aria-label") == "play"
    check(seen.shown(), page.run, seen.page.evaluate("headway.page.at"))
    assert seen.page.evaluate("scrollY") == 0


def test_play_goes_from_the_start_to_the_end_and_stops(visit, two_hops):
    seen = visit(two_hops)
    steps = two_hops.run.checkpoint_steps()
    seen.page.evaluate(
        """() => {
          headway.asked = [];
          const go = goTo;
          window.goTo = (at) => { headway.asked.push(at); go(at); };
        }"""
    )
    play = seen.page.locator("#play")
    play.click()
    assert play.get_attribute("aria-label") == "pause"
    seen.wait_until("document.querySelector('#play').ariaLabel === 'play'")
    check(seen.shown(), two_hops.run, len(steps) - 1)
    assert seen.page.evaluate("headway.asked") == list(range(len(steps)))


def test_a_click_or_a_drag_on_any_curves_goes_there(visit, learnt):
    seen, steps = visit(learnt), learnt.run.checkpoint_steps()
    plots = seen.page.locator(".plot")
    assert plots.count() == 3
    whole = float(
        seen.page.locator(".chart").evaluate("it => it.style.getPropertyValue('--shown')")
    )

    def nearest(share):
        return min(range(len(steps)), key=lambda i: abs(steps[i] - share * whole))

    for number in range(3):
        plots.nth(number).scroll_into_view_if_needed()
        box = plots.nth(number).bounding_box()
        middle = box["y"] + 0.9 * box["height"]
        seen.page.mouse.click(box["x"] + 0.3 * box["width"], middle)
        check(seen.shown(), learnt.run, nearest(0.3))
        seen.page.mouse.down()
        for share in (0.45, 0.7, 0.97):
            seen.page.mouse.move(box["x"] + share * box["width"], middle)
            check(seen.shown(), learnt.run, nearest(share))
        seen.page.mouse.move(box["x"] - 50, middle - 150)  # beyond, still dragging
        check(seen.shown(), learnt.run, 0)
        seen.page.mouse.up()
        seen.page.mouse.move(box["x"] + 0.5 * box["width"], middle)
        check(seen.shown(), learnt.run, 0)
        assert seen.page.evaluate("getSelection().toString()") == ""


def test_steps_can_be_logarithmic(visit, learnt):
    seen, steps = visit(learnt), learnt.run.checkpoint_steps()
    log, chart = seen.page.locator("button.log"), seen.page.locator(".chart")
    shown, first = (float(chart.evaluate(VALUE, name)) for name in ("--shown", "--first"))
    assert first == steps[1]
    before = seen.page.locator(".curve").first.get_attribute("points")
    log.click()
    assert log.get_attribute("aria-pressed") == "true"
    at = max(i for i, step in enumerate(steps) if step <= shown)
    for index in (at, at // 2, 1):
        check(seen.go_to(index), learnt.run, index)
    plot = seen.page.locator(".plot").nth(1)
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    seen.page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 0.9 * box["height"])
    middle = math.sqrt(first * shown)
    nearest = min(range(len(steps)), key=lambda i: abs(steps[i] - middle))
    check(seen.shown(), learnt.run, nearest)
    log.click()
    assert seen.page.locator(".curve").first.get_attribute("points") == before


VALUE = "(it, name) => it.style.getPropertyValue(name)"


def test_who_asks_for_less_motion_sees_none(visit, learnt):
    seen = visit(learnt, reduced_motion="reduce")
    assert seen.page.locator("#play").is_disabled()
    seen.page.keyboard.press("Space")
    seen.page.evaluate("time.play()")
    assert seen.page.evaluate("[time.timer, headway.page.at]") == [
        None,
        len(learnt.run.checkpoint_steps()) - 1,
    ]
    seen.page.emulate_media(reduced_motion="no-preference")
    seen.wait_until("!document.querySelector('#play').disabled")
