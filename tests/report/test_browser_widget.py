"""In a browser: the widget in a bare page, with a model that stands for the
kernel's.
"""

import json

import pytest
from pages import page_data
from playwright.sync_api import expect

from headway.report.page import app

PAGE = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>notebook</title>
<link rel="icon" href="data:,"><body data-jp-theme-light="false">
<main id="app"><div></div></main><textarea hidden>{data}</textarea><div id="cell"></div>
<script type="module">
{code}
const _data = document.querySelector("textarea").value;
const state = {{ step: 0, path: null, cut: false }};
const heard = new Map();
const set = (name, value) => {{
  const before = state[name];
  state[name] = value;
  if (before !== value) for (const each of heard.get(`change:${{name}}`) ?? []) each();
}};
const saved = [];
window.model = {{
  state, saved, set, get: (name) => ({{ _data, ...state }})[name],
  on: (name, each) => heard.set(name, [...(heard.get(name) ?? []), each]),
  off: (name, each) =>
    heard.set(name, heard.get(name).filter((other) => other !== each)),
  save_changes: () => saved.push({{ ...state }}),
}};
window.heard = heard;
window.remove = await render(
  {{ model: window.model, el: document.querySelector("#cell") }});
</script></body></html>"""


@pytest.fixture
def notebook(visit, two_hops, tmp_path):
    """The widget of the run with two hops, opened at its first checkpoint."""
    data = page_data(two_hops.file.read_text(encoding="utf-8")) | {"kind": "widget"}
    code, _, names = app().rpartition("export{")
    own = dict(reversed(name.split(" as ")) for name in names.split("}")[0].split(","))[
        "render"
    ]
    text = json.dumps(data).replace("&", "&amp;").replace("<", "&lt;")
    file = tmp_path / "notebook.html"
    file.write_text(
        PAGE.format(data=text, code=f"{code}const render = {own};"), encoding="utf-8"
    )
    seen = visit(file)
    seen.wait_until(
        "!!document.querySelector('#cell').shadowRoot?.querySelector('.time')"
    )
    return seen, data


def test_step_and_path_are_the_same_on_both_sides(notebook):
    seen, data = notebook
    steps, keys = data["steps"], [path["key"] for path in data["circuit"]["paths"]]
    step = seen.page.locator(".step")
    assert step.text_content() == "step 0"  # as Python had it, not at the end
    assert not seen.page.evaluate("model.saved")
    seen.page.evaluate(f"model.set('step', {steps[3]})")
    expect(step).to_have_text(f"step {steps[3]:,}")
    seen.page.get_by_label("path to cut").select_option(keys[0])
    seen.wait_until(f"model.state.path === {json.dumps(keys[0])} && model.state.cut")
    assert seen.page.evaluate("model.saved.at(-1).step") == steps[3]
    seen.page.evaluate("model.set('path', null); model.set('cut', false)")
    expect(seen.page.locator(".arrow.cut")).to_have_count(0)
    count = seen.page.evaluate("model.saved.length")
    seen.settle()
    # What was told is not told back.
    assert seen.page.evaluate("model.saved.length") == count


def test_it_is_closed_off_follows_the_theme_and_can_be_taken_away(notebook):
    seen, _ = notebook
    scheme = "getComputedStyle(document.querySelector('#cell')).colorScheme"
    assert seen.page.evaluate(scheme) == "dark"
    ink = "getComputedStyle(document.querySelector('#cell')).color"
    assert seen.page.evaluate(ink) == "rgb(228, 231, 234)"
    seen.page.evaluate("document.body.dataset.jpThemeLight = 'true'")
    seen.wait_until(f"{scheme} === 'light'")
    assert seen.page.evaluate(ink) == "rgb(27, 31, 36)"
    assert not seen.page.locator(".plainlist, #take").count()
    assert seen.page.evaluate("!document.querySelector('head style')")
    seen.page.evaluate("remove()")
    assert seen.page.evaluate("[...heard.values()].flat().length") == 0
