"""In a browser: pages of tasks whose paths are no chain's, or whose flow nobody knows."""

import pytest
from browser import faults
from every_task import TASKS, taken_apart
from pages import written
from test_browser import use_everything


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
