"""In a browser: pages of tasks whose paths are no chain's, or whose flow nobody knows."""

import pytest
from browser import faults, printed
from every_task import TASKS, taken_apart
from pages import written
from test_browser import use_everything

from headway.circuits import saved_timeline
from headway.report.page.html import path_key


@pytest.fixture(scope="module", params=["hops", "reassigned", "associations"])
def page(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    return written(taken_apart(TASKS[request.param](), folder / request.param), folder)


def test_it_can_be_read_and_used(visit, page):
    seen = visit(page)
    seen.page.evaluate("all('details').forEach((it) => { it.open = true; })")
    for width, scheme in ((1280, "light"), (390, "dark")):
        seen.look(width, scheme)
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        assert not faults(seen)
        use_everything(seen)


def test_the_circuit_follows_the_slider(visit, page):
    seen, run = visit(page), page.run
    assert seen.page.locator("#time").is_visible()
    if run.task.length == 1:
        assert not seen.page.locator(".circuit, #maps").count()
        return
    timeline = saved_timeline(run)
    for at in (0, len(timeline.steps) - 1):
        shown = seen.go_to(at)
        attention = {path_key(h.path): h.attention[at] for h in timeline.paths}
        assert shown["arrows"] == pytest.approx(attention)
        strengths = seen.page.locator(".strength").all_text_contents()
        expected = [f"{value:.2f}" for value in attention.values()]
        assert sorted(strengths) == ([] if run.task.roles else sorted(expected))
        now = [text for kind, _, text in shown["outputs"] if kind == "attention"]
        assert set(now) == set(map(printed, attention.values()))
