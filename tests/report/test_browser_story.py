"""In a browser: what is seen can be sent and printed, and the circuit stays in sight."""

import re
from itertools import pairwise
from pathlib import Path

from headway.report.page import render

PAIR, FIRST = "0.0.s2←s1", "1.0.s0←s2"
"""The paths of the run that learnt."""

STATE = """() => ({
  parts: location.hash.slice(1).split('&'),
  step: headway.page.data.steps[headway.page.at],
  path: headway.page.pinned,
  cut: all('.arrow.off').map((arrow) => arrow.dataset.path),
})"""


def test_the_address_keeps_section_step_and_path(visit, learnt):
    seen, steps = visit(learnt), learnt.run.checkpoint_steps()
    assert seen.page.evaluate("location.hash") == ""
    seen.go_to(3)
    seen.wait_until(f"location.hash.endsWith('step={steps[3]}')")
    seen.page.mouse.click(*seen.on_arrow(FIRST))
    seen.wait_until("location.hash.endsWith('&cut')")
    seen.page.get_by_role("navigation").get_by_role("link", name="Birth").click()
    seen.wait_until("location.hash.startsWith('#births&')")
    whole = ["births", f"step={steps[3]}", "path=1.0.s0-s2", "cut"]
    seen.page.reload()  # as somebody who opens the link
    seen.wait_until("Math.abs(document.querySelector('#births').getBoundingClientRect().top) < 40")
    seen.wait_until("location.hash.startsWith('#births&')")
    opened = {"parts": whole, "step": steps[3], "path": FIRST, "cut": [FIRST]}
    seen.wait_for(lambda: state(seen), opened)
    seen.page.locator(f'.legend .path[data-path="{PAIR}"]').click()
    seen.wait_until("location.hash.endsWith('path=0.0.s2-s1')")
    seen.page.go_back()
    seen.wait_for(lambda: (state(seen)["path"], state(seen)["cut"]), (FIRST, [FIRST]))
    seen.page.go_forward()
    seen.wait_for(lambda: (state(seen)["path"], state(seen)["cut"]), (PAIR, []))
    for nonsense in ("step=9e9&path=%E0%A4%A&nowhere&cut=1", "path=7.7.s9-s9&cut", "%&&=&time"):
        seen.page.evaluate("(hash) => { location.hash = hash; }", nonsense)
        seen.wait_for(lambda: (state(seen)["step"], state(seen)["path"]), (steps[-1], None))
    seen.page.evaluate("(hash) => { location.hash = hash; }", f"step={steps[4] + 1}")
    seen.wait_for(lambda: state(seen)["step"], steps[4])  # the checkpoint that is nearest


def state(seen):
    seen.settle()
    return seen.page.evaluate(STATE)


def test_columns_unfold_and_the_table_sorts(visit, learnt):
    seen = visit(learnt)
    names = seen.page.locator(".paths th:visible")
    few = names.all_text_contents()
    assert {"on", "path", "carries", "born", "circuit without it", "felt from"} <= {*few}
    seen.page.get_by_role("button", name="birth").click()
    assert {*few} - {*names.all_text_contents()} >= {"felt from", "knocked out now"}
    seen.page.locator("#evidence a[data-unfold]").click()
    assert "above free" in names.all_text_contents()
    rows = seen.page.locator(".paths .path")
    by_loss = names.filter(has_text="circuit without it").get_by_role("button")
    order = [rows.evaluate_all("them => them.map(it => it.dataset.path)")]
    for _ in range(2):
        by_loss.click()
        order.append(rows.evaluate_all("them => them.map(it => it.dataset.path)"))
    losses = {n["path"][1:]: n["loss"] for n in necessity(learnt)}
    assert order[1] == order[2][::-1]
    assert order[1] == sorted(order[0], key=lambda key: losses[key.replace(".0.", ".H0 ")])


def necessity(page):
    return page.run.read("circuit.json")["evidence"]["necessity"]


def test_all_that_can_be_read_is_printed(visit, learnt):
    seen = visit(learnt)
    folded = seen.page.locator("details:not([open]) pre")
    assert folded.count()
    seen.page.set_viewport_size({"width": 686, "height": 1000})  # as wide as the paper's text
    seen.page.emulate_media(media="print")
    seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert not folded.count()
    words = seen.page.locator("body").inner_text().lower()
    for column in ("felt from", "above free", "can be found by"):
        assert column in words
    too_wide = "all('body *').filter((it) => it.checkVisibility()"
    too_wide += " && !it.closest('svg') && it.getBoundingClientRect().right > 687).length"
    assert seen.page.evaluate(too_wide) == 0
    seen.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert folded.count()


def test_colours_tell_apart_in_grey():
    sheet = (Path(render.__file__).parent / "web" / "page.css").read_text(encoding="utf-8")
    found = re.findall(r"--c(\d): light-dark\((#\w{6}), (#\w{6})\)", sheet)
    assert [number for number, *_ in found] == [*"0123456"]
    for grey in zip(*([lightness(colour) for colour in pair] for _, *pair in found), strict=True):
        apart = sorted(grey)
        assert min(b - a for a, b in pairwise(apart)) > 5
        assert min(abs(a - b) for a, b in pairwise(grey)) > 11


def lightness(colour):
    """CIE L* of a colour, from 0 to 100."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    y = sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return 116 * y ** (1 / 3) - 16
