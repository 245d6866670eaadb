"""In a browser: the widget in a bare page, with a model that stands for the kernel's."""

import pytest
from markupsafe import escape

from headway.circuits import Path
from headway.report import Findings
from headway.report.page.document import asset
from headway.report.page.embedded import embedded
from headway.report.page.html import path_key

PAGE = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>notebook</title>
<link rel="icon" href="data:,"><body data-jp-theme-light="false"><textarea hidden>{page}</textarea>
<div id="cell"></div><script type="module">
{code}
const _page = document.querySelector("textarea").value;
const state = {{ step: 0, path: null, cut: false }};
const heard = new Map();
const set = (name, value) => {{
  const before = state[name];
  state[name] = value;
  if (before !== value) for (const each of heard.get(`change:${{name}}`) ?? []) each();
}};
const saved = [];
window.model = {{
  state, saved, set, get: (name) => ({{ _page, ...state }})[name],
  on: (name, each) => heard.set(name, [...(heard.get(name) ?? []), each]),
  off: (name, each) => heard.set(name, heard.get(name).filter((other) => other !== each)),
  save_changes: () => saved.push({{ ...state }}),
}};
window.heard = heard;
window.remove = widget.render({{ model: window.model, el: document.querySelector("#cell") }});
</script></body></html>"""


@pytest.fixture
def notebook(visit, two_hops, tmp_path):
    """The widget of the run with two hops, opened at its first checkpoint; and its frame."""
    code = asset("widget.js").replace("export default", "const widget =")
    page = escape(embedded(Findings.of(two_hops.run)))
    file = tmp_path / "notebook.html"
    file.write_text(PAGE.format(page=page, code=code), encoding="utf-8")
    seen = visit(file)
    frame = seen.page.frames[1]
    seen.wait_until("parseFloat(document.querySelector('iframe').style.height) > 400")
    return seen, frame


def test_step_and_path_are_the_same_on_both_sides(notebook, two_hops):
    seen, frame = notebook
    steps = two_hops.run.checkpoint_steps()
    assert frame.locator("#now").text_content() == "step 0"  # as Python had it, not at the end
    assert not seen.page.evaluate("model.saved")
    seen.page.evaluate(f"model.set('step', {steps[3]})")
    frame.get_by_text(f"step {steps[3]:,}", exact=True).wait_for()
    frame.locator("#when").fill("2")
    seen.wait_until(f"model.state.step === {steps[2]}")
    saved = {"step": steps[2], "path": None, "cut": False}
    assert seen.page.evaluate("model.saved.at(-1)") == saved
    key = path_key(Path.parse(two_hops.run.read("emergence.json")["paths"][0]["path"]))
    arrow = frame.locator(f'.arrow[data-path="{key}"]')
    arrow.focus()
    seen.page.keyboard.press("Enter")
    seen.wait_until(f"model.state.path === '{key}' && model.state.cut")
    frame.locator("#switched", has_text="Without L0.H0").wait_for()
    seen.page.evaluate("model.set('path', null)")
    frame.locator("body:not(.cutting)").wait_for()
    count = seen.page.evaluate("model.saved.length")
    seen.settle()
    assert seen.page.evaluate("model.saved.length") == count  # what was told is not told back


def test_the_frame_is_closed_off_fits_and_can_be_taken_away(notebook):
    seen, frame = notebook
    box = seen.page.locator("iframe")
    assert box.get_attribute("sandbox") == "allow-scripts"
    assert not frame.evaluate("document.documentElement.scrollHeight > innerHeight")
    assert not frame.locator("#theme, .keep, footer").filter(visible=True).count()
    seen.page.evaluate("remove()")
    assert seen.page.evaluate("[...heard.values()].flat().length") == 0


def test_the_theme_is_that_of_the_notebook_also_when_it_changes(notebook):
    seen, frame = notebook
    frame.locator("html[data-theme=dark]").wait_for()
    seen.page.evaluate("document.body.dataset.jpThemeLight = true")
    frame.locator("html[data-theme=light]").wait_for()
    seen.page.evaluate("document.body.removeAttribute('data-jp-theme-light')")
    seen.page.evaluate("document.body.classList.add('dark')")  # as marimo says it
    frame.locator("html[data-theme=dark]").wait_for()
    assert not seen.page.evaluate("model.saved")
