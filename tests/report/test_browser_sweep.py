"""In a browser: the page of a sweep, and pages where no script runs."""

import shutil

import pytest
from many_runs import LOSSES, a_sweep

from headway.report import write_report
from headway.report.runs import write_runs
from headway.text import rounded
from headway.training import Run

N_RUNS = sum(map(len, LOSSES.values()))

LOOKS = """(count) => [...document.querySelectorAll('.chart .curve')]
  .slice(0, count)
  .map((curve) => [curve.style.stroke, curve.getAttribute('stroke-dasharray')])"""


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """The page of eight runs by depth, layers and seed."""
    return write_runs(a_sweep(tmp_path_factory.mktemp("sweep") / "both"))


def test_every_field_can_be_told_apart_in_curves(visit, sweep):
    seen = visit(sweep)
    looks = seen.page.evaluate(LOOKS, N_RUNS)
    assert len({tuple(look) for look in looks}) == len(LOSSES)
    legend = seen.page.locator(".chart svg g").all_text_contents()
    fields = ["depth = 1", "depth = 2", "n_layers = 1", "n_layers = 2"]
    assert [text.strip() for text in legend] == fields
    seen.page.get_by_label("dashes").select_option(label="seed")
    seen.settle()
    by_seed = seen.page.evaluate(LOOKS, N_RUNS)
    first, second = [{dashes for _, dashes in by_seed[start::2]} for start in range(2)]
    assert len(first) == len(second) == 1
    assert first != second


def test_a_curve_that_is_pointed_at_says_which_run_it_is(visit, sweep):
    seen = visit(sweep)
    curve = seen.page.locator(".chart .curve").first
    curve.scroll_into_view_if_needed()
    x, y = curve.evaluate("""(path) => {
      const at = path.getPointAtLength(0.97 * path.getTotalLength());
      const {x, y} = at.matrixTransform(path.getScreenCTM());
      return [x, y];
    }""")
    seen.page.mouse.move(x, y)
    seen.settle()
    told = seen.words(".chart text.read")
    assert told == "depth=1,n_layers=1,seed=0: 0.900 at step 30"


def test_status_and_loss_are_seen_on_a_phone(visit, sweep):
    seen = visit(sweep, viewport={"width": 390, "height": 844})
    row = seen.page.locator("#runs ~ figure tbody tr").first
    cells = row.locator("td")
    assert cells.nth(1).text_content().strip() == "done"
    assert cells.nth(2).text_content().strip() == rounded(0.9)
    box = cells.nth(2).bounding_box()
    assert box["x"] + box["width"] <= 390


def still(browser, file):
    """The words and the pictures of a page where no script runs."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    words = page.locator("main").inner_text()
    pictures = page.locator("img")
    widths = [picture.bounding_box()["width"] for picture in pictures.all()]
    context.close()
    return words, widths


def test_a_sweep_without_scripts_has_a_picture_and_states(browser, sweep):
    words, widths = still(browser, sweep)
    assert [width > 200 for width in widths] == [True]
    for names, losses in LOSSES.items():
        for loss in losses:
            depth, layers = names
            assert f"depth={depth},n_layers={layers}" in words
            assert rounded(loss) in words


def test_a_run_without_scripts_has_a_picture_and_verdicts(browser, finished, tmp_path):
    run = Run.open(shutil.copytree(finished.folder, tmp_path / "run"))
    words, widths = still(browser, write_report(run))
    assert [width > 200 for width in widths] == [True]
    assert "nothing spare: " in words
