"""In a browser: several runs on a page, the list of runs, and that served pages follow
them.
"""

import pytest
from browser import Visit, faults
from serving import SIDE_BY_SIDE, add_line

from headway.training import Run


@pytest.fixture
def page(browser, site):
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.goto(site.server.url)
    page.locator("#filter").wait_for()
    yield page
    context.close()


def test_the_list_is_sorted_and_sifted_and_leads_to_comparisons(page, site):
    compare = page.locator("#compare")
    assert compare.is_disabled()
    for name in ("alone", "seed=2"):
        page.get_by_label(f"compare {name}").check()
    assert compare.text_content() == "compare 2"
    table = page.locator("figure.table", has_text="seed=10")
    names = table.locator("tbody a")
    table.get_by_role("button", name="run").click()
    table.get_by_role("button", name="run").click()
    assert names.all_text_contents() == ["seed=10", "seed=2"]
    assert "Sorted by run, largest first" in table.text_content()
    add_line(Run.open(site.folder / "sweep" / "seed=10"), 0.1234567)
    page.get_by_text("0.123").first.wait_for()
    assert names.all_text_contents() == ["seed=10", "seed=2"]
    assert compare.text_content() == "compare 2"
    page.locator("#filter").fill("seed=10")
    assert names.all_text_contents() == ["seed=10"]
    page.locator("#filter").fill("")
    compare.click()
    page.wait_for_url(f"**{SIDE_BY_SIDE}")
    assert page.locator("svg.circuit").count() == 2
    page.go_back()
    page.get_by_role("link", name="sweep", exact=True).click()
    page.wait_for_url("**/sweep/sweep/")
    page.get_by_role("link", name="seed=10").first.wait_for()


@pytest.mark.parametrize("address", ["/run/alone/", "/sweep/sweep/", SIDE_BY_SIDE])
def test_a_page_follows_what_happens_and_keeps_what_was_chosen(page, site, address):
    page.goto(site.server.url.rstrip("/") + address)
    page.get_by_role("heading", level=1).wait_for()
    page.evaluate("window.mine = 'kept'")
    name = "alone" if address.startswith("/run") else "sweep/seed=2"
    add_line(Run.open(site.folder / name), 0.0234567, step=3000)
    page.get_by_text("3,000").first.wait_for()
    assert page.locator(".connection").text_content() == "live"
    assert page.evaluate("mine") == "kept"  # nothing was loaded anew


def test_a_server_that_stops_is_told(page, site):
    site.server.shutdown()
    site.server.socket.close()
    page.get_by_text("server stopped").wait_for()


SLOWLY = [pytest.param(one, marks=pytest.mark.slow) for one in ("/", SIDE_BY_SIDE)]


@pytest.mark.parametrize("address", ["/sweep/sweep/", *SLOWLY])
def test_anyone_can_read_and_use_it(browser, site, tmp_path, address):
    file = tmp_path / "page.html"
    file.write_text(site.page(address))
    seen = Visit(browser, file)
    assert not faults(seen)
    seen.context.close()
