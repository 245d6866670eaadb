"""In a browser: a path lights up wherever it is shown, and one at a time can be switched off."""

import pytest
from browser import printed

from headway.circuits import Path
from headway.report.page.html import path_key

PAIR, FIRST = "0.0.s2←s1", "1.0.s0←s2"
"""The paths of the run that learnt."""

NOTHING = {".arrow": [], ".frame": [], ".curve": [], "#marks i": [], "span.path": []}


def only(path):
    return {kind: [path] for kind in NOTHING} | {"picking": True}


def no_path():
    return NOTHING | {"picking": False}


def away(seen):
    seen.page.mouse.move(3, 450)


@pytest.mark.parametrize("path", [PAIR, FIRST])
def test_an_arrow_pointed_at_lights_up_map_curves_and_tables(visit, learnt, path):
    seen = visit(learnt)
    assert seen.lit() == no_path()
    seen.page.mouse.move(*seen.on_arrow(path))
    assert seen.lit() == only(path)
    away(seen)
    assert seen.lit() == no_path()


def test_the_keyboard_reaches_every_arrow(visit, learnt):
    seen = visit(learnt)
    press = seen.page.keyboard.press
    focused = "document.activeElement.closest('.arrow')?.dataset.path ?? null"
    reached = []
    for _ in range(20):
        press("Tab")
        path = seen.page.evaluate(focused)
        if path is None and reached:
            break
        if path is not None:
            reached.append(path)
            assert seen.lit() == only(path)
            outline = "getComputedStyle(document.activeElement).outlineStyle"
            assert seen.page.evaluate(outline) != "none"
    assert sorted(reached) == [PAIR, FIRST]
    assert seen.lit() == no_path()  # the focus is elsewhere
    press("Shift+Tab")
    last = seen.page.evaluate(focused)
    press("Enter")
    press("Tab")
    assert seen.lit() == only(last)
    press("Escape")
    assert seen.lit() == no_path()
    press("Shift+Tab")
    press("Space")
    assert seen.page.locator("#play").get_attribute("aria-label") == "play"
    press("Tab")
    assert seen.lit() == only(last)


def test_a_path_switched_off_tells_what_it_costs(visit, learnt):
    seen, run = visit(learnt), learnt.run
    found, timeline = run.read("circuit.json"), run.read("emergence.json")
    whole = seen.words("#switched")
    assert printed(found["loss"]["replaced"]) in whole
    last = len(timeline["steps"]) - 1
    measured = {path_key(Path.parse(n["path"])): n for n in found["evidence"]["necessity"]}
    for number, path in enumerate((PAIR, FIRST)):
        switch = seen.page.locator(f'.switch[data-path="{path}"]')
        switch.click()
        assert off(seen) == [path]  # the one that was off before is on again
        for at in (last, 2):
            seen.go_to(at)
            words, n = seen.words("#switched"), measured[path]
            without = timeline["paths"][number]["loss_without"][at]
            costs = (n["loss"], found["loss"]["replaced"], n["free"], without, timeline["loss"][at])
            assert all(printed(cost) in words for cost in costs)
            assert "Never reaches the query: x1." in words
            assert seen.words(".circuit .cost") == f"✂ {printed(n['loss'])}"
            assert lost(seen) == [FIRST] * (path == PAIR)
        ghost = seen.page.locator(f'.arrow[data-path="{path}"] .shaft')
        assert ghost.evaluate("it => getComputedStyle(it).strokeDasharray") != "none"
        worse = seen.page.locator("#switched").evaluate("it => it.classList.contains('worse')")
        assert worse == (max(n["loss"], n["free"]) >= found["threshold"])
    switch.click()
    seen.settle()
    assert seen.words("#switched") == whole
    assert off(seen) == []
    assert not seen.page.locator("#switched").evaluate("it => it.classList.contains('worse')")
    assert ghost.evaluate("it => getComputedStyle(it).strokeDasharray") == "none"


def lost(seen):
    """The paths that are grey because they need the one that is cut."""
    return seen.page.locator(".arrow.lost").evaluate_all("them => them.map(it => it.dataset.path)")


def test_an_arrow_that_is_clicked_is_cut(visit, learnt):
    seen = visit(learnt)
    whole = seen.words("#switched")
    seen.page.mouse.click(*seen.on_arrow(PAIR))
    assert off(seen) == [PAIR]
    assert lost(seen) == [FIRST]
    assert seen.words("#switched").startswith("Without L0.H0 s2←s1")
    seen.page.locator(f'.legend .path[data-path="{PAIR}"]').click()  # a name lets it go
    assert (off(seen), lost(seen), seen.words("#switched")) == ([], [], whole)
    seen.page.locator(f'.legend .path[data-path="{PAIR}"]').click()
    away(seen)
    assert (off(seen), seen.lit()) == ([], only(PAIR))
    seen.page.mouse.click(*seen.on_arrow(PAIR))
    assert off(seen) == [PAIR]
    seen.page.keyboard.press("Escape")
    away(seen)
    assert (off(seen), seen.lit()) == ([], no_path())


def off(seen):
    """The paths whose switches are off, which are those whose arrows are ghosts."""
    seen.settle()
    boxes, arrows = seen.page.evaluate(
        """[all('.switch').filter((it) => !it.checked), all('.arrow.off')]
             .map((them) => them.map((it) => it.dataset.path))"""
    )
    assert boxes == arrows
    return boxes
